"""One segment of a log: its records, its indexes, and how a position in it is found."""
