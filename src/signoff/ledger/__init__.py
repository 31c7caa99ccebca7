"""What can be known afterwards? One hash-chained file per run, redacted before it is written, and the same story as spans."""
