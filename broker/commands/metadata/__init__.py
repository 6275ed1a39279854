"""`pybroker metadata`: copies a cluster's metadata between the embedded store and ZooKeeper."""
