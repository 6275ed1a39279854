"""Authentication and authorisation: who a client is, and what it may do."""
