"""What do these bytes say? Pure parsing and writing of every protocol signoff speaks."""
