"""A metadata tree in memory, for clusters that need no ZooKeeper: its sessions, and a door for other processes."""
