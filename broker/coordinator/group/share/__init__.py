"""Share groups (KIP-932), whose members share partitions instead of owning them."""
