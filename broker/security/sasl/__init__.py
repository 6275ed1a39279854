"""The broker's side of SASL: one file for each mechanism, and the credentials that they check."""
