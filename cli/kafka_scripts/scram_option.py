"""The value of ``kafka-storage format --add-scram``: ``SCRAM-SHA-256=[name=alice,password=secret,iterations=8192]``."""

import re
from typing import NamedTuple

__all__ = ["ScramOptionError", "ScramUser", "scram_user"]

_VALUE = re.compile(r"(SCRAM-SHA-(?:256|512))=\[(.*)\]")
_KNOWN = ("name", "password", "iterations")


class ScramOptionError(Exception):
    """The value names no user that can be made. One line, without the password."""


class ScramUser(NamedTuple):
    """``iterations``: None: the default of pybroker."""

    mechanism: str
    name: str
    password: str
    iterations: str | None


def scram_user(text: str) -> ScramUser:
    """The user in a value of the option. Raises ScramOptionError."""
    found = _VALUE.fullmatch(text)
    if found is None:
        raise ScramOptionError("--add-scram: must be like SCRAM-SHA-256=[name=alice,password=alice-secret]")
    fields = dict(part.partition("=")[::2] for part in found[2].split(","))
    for name in fields:
        if name not in _KNOWN:
            raise ScramOptionError(f"--add-scram: {name!r} cannot be given, only {', '.join(_KNOWN)}")
    for name in ("name", "password"):
        if not fields.get(name):
            raise ScramOptionError(f"--add-scram: {name} is missing")
    return ScramUser(found[1], fields["name"], fields["password"], fields.get("iterations"))
