"""Files as the log uses them: reads, writes, syncs, checkpoints, small property files."""
