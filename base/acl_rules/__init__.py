"""Decides by ACLs who may do what: the rules of Kafka's AclAuthorizer, without the broker."""
