"""``pybroker user``: SCRAM users of a cluster, written straight to its metadata tree."""
