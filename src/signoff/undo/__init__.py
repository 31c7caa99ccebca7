"""How do we get it back? What a call may touch is saved before it runs, and can be put back afterwards."""
