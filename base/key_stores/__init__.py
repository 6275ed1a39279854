"""Key stores and trust stores: PEM, PKCS12 and Java's JKS."""
