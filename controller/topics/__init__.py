"""Creates topics, and adds partitions to them, for clients: the rules, the limits, and the writes to the tree."""
