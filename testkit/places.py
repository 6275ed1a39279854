"""The values of ``--kafka``: pybroker, the address of a running cluster, or Apache Kafka from its jars."""

import pytest

__all__ = ["APACHE", "PYBROKER", "check_place"]

PYBROKER = "pybroker"
APACHE = "apache"


def check_place(place: str) -> None:
    """Raises pytest.UsageError when it is none of the three, or Apache Kafka cannot be started here."""
    if place == PYBROKER:
        return
    if place == APACHE:
        from .apache_kafka import find_kafka

        find_kafka()
        return
    for server in place.split(","):
        host, _, port = server.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise pytest.UsageError(f"--kafka={place}: must be pybroker, apache, or HOST:PORT of a running cluster")
