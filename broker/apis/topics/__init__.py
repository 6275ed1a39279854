"""APIs that create, delete and describe topics."""
