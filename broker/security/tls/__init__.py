"""TLS: key stores, contexts, names of peers, and a transport that encrypts."""
