"""How do we touch files safely? Atomic replacement, bounded locks, and access that cannot leave a directory."""
