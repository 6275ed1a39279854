"""Decides by ACLs what a client may do (Kafka's AclAuthorizer)."""
