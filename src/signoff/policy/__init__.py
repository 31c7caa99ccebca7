"""May this happen, and why? Pure: no clock, no files, no environment; everything comes in as an argument."""
