"""Editors and other clients, over the Agent Client Protocol."""
