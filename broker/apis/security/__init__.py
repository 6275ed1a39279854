"""APIs of ACLs, SASL, SCRAM credentials and delegation tokens."""
