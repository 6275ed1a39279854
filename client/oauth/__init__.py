"""Tokens of OAuth for logins by OAUTHBEARER, from an identity provider or a file. Brokers and clients use it."""
