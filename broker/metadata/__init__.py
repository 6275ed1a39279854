"""What this broker knows of the cluster, and what clients are told of it."""
