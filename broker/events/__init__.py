"""Events: the stable id of each log line, its meaning and remedy, JSON lines, and the last events in memory."""
