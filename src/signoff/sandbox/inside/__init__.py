"""What runs in the zygote, on the far side of the wall.

These modules load in a bare interpreter (no site-packages, standard library soon out of sight), so they import nothing
but each other and built-in modules that load in well under a millisecond.
"""
