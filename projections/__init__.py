"""What the events mean: views of the log that can be dropped and rebuilt."""
