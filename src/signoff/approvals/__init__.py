"""What does the person say? Questions, who answers them, and what is remembered of the answer."""
