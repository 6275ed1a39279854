"""`pybroker container`: a broker in a container, configured by KAFKA_* variables."""
