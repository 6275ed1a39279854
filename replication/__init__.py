"""Replication: partition roles, ISRs, followers, parked fetches. Imports only `storage/`, `protocol/`, `base/`."""
