"""What a log remembers of its producers: sequence numbers, open transactions, snapshots."""
