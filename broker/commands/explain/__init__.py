"""`pybroker explain`: says which rule decides what a user may do."""
