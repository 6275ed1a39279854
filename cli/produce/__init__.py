"""``pybroker produce``: writes records to a topic."""
