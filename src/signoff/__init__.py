"""signoff: one door in front of everything a coding agent does."""

__version__ = "0.1.0"
