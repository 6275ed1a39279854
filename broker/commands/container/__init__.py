"""`pybroker container`: runs a broker in a container, with settings from KAFKA_* variables."""
