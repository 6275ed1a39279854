"""Groups whose members use both protocols, and the change of a group from one protocol to the other (KIP-848)."""
