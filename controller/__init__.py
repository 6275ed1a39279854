"""The controller and the metadata tree: elections, topics, ISRs. Imports only `protocol/`, `config/`, `base/`."""
