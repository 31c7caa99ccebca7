"""What was configured, and where? Layers of settings, trust in projects, rule files."""
