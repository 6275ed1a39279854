"""Rows of logins for programs in tests/interop/clients, whose README describes them, and the facts about each."""

import json
import logging
import sys
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["PARTITIONS", "RECORDS", "Row", "use_each"]

RECORDS = [f"value-{number}" for number in range(10)]
PARTITIONS = 2


class Row(NamedTuple):
    """A login. Texts are "" where there is no certificate or no mechanism.

    Attributes:
        authority: the file of the authority that the client trusts.
        certificate: the file with the client's key and certificate.
        secret: the password or the token.
        refused: "refused" if the login is expected to fail, so that the client gives up soon.
    """

    name: str
    servers: str
    protocol: str
    authority: str
    certificate: str
    mechanism: str
    user: str
    secret: str
    topic: str
    refused: str

    @property
    def uses_tls(self) -> bool:
        return self.protocol.endswith("SSL")


class _LogLines(logging.Handler):
    """Keeps log lines, because some clients report a failed login nowhere else."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def use_each(use: Callable[[Row], dict[str, object]]) -> None:
    """Calls `use` with each row of standard input. It returns the facts of a login, or raises if the login fails."""
    log = _LogLines()
    logging.getLogger().addHandler(log)
    for line in sys.stdin:
        row = Row(*line.rstrip("\n").split("\t"))
        log.lines.clear()
        try:
            facts = use(row)
        except Exception as error:
            facts = {"error": f"{type(error).__name__}: {error}", "log": log.lines}
        print(json.dumps({"login": row.name, **facts}), flush=True)
