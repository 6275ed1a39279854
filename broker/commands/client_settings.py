"""The settings that a client of a cluster needs, in a file for Java's clients and Kafka's tools."""

import json
import os
from pathlib import Path

from ...protocol.client import Credentials
from ..library.user_settings import login_module

__all__ = ["client_settings", "write_client_settings"]


def client_settings(ca_file: Path | None, login: Credentials | None) -> dict[str, str]:
    """``ca_file``: what the client must trust; None without TLS. ``login``: None when clients do not log in."""
    protocol = "PLAINTEXT" if ca_file is None else "SSL"
    settings = {"security.protocol": protocol if login is None else f"SASL_{protocol}"}
    if ca_file is not None:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(ca_file)}
    if login is not None:
        settings |= {"sasl.mechanism": login.mechanism, "sasl.jaas.config": login_module(login)}
    return settings


def write_client_settings(file: Path, settings: dict[str, str]) -> None:
    """Write a properties file that only this user may read, because it may contain a password. Raises OSError."""
    text = "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as written:
        written.write(text)


def _escaped(value: str) -> str:
    """JSON's escapes of a text have the same meaning in a properties file."""
    return json.dumps(value)[1:-1]
