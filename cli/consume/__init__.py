"""``pybroker consume``: prints the records of topics."""
