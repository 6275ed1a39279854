"""The APIs of share groups by which members get and acknowledge records (KIP-932)."""
