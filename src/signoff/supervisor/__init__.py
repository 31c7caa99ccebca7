"""Somebody else's agent: its output passed through, its requests judged, its end tidy."""
