"""What can be done? One file per tool: its arguments, what it will touch, and how it is done."""
