"""The cluster that a script's options name, and the errors that end a script."""

import argparse
import sys
from collections.abc import Iterable
from typing import Any

from ...base.command_parser import CommandError
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ...client.connection import TlsError
from ...protocol.codec import Message
from ...protocol.errors import KafkaError
from ..connecting.connection_options import checked_settings, file_settings, unknown_settings

__all__ = ["CLUSTER_ERRORS", "script_cluster", "warn_of_unknown"]

CLUSTER_ERRORS = (KafkaError, CommandError, ConnectionError, TimeoutError, TlsError)
_TIMEOUT_S = 60.0
"""Kafka: default.api.timeout.ms."""


class ScriptCluster(AdminCluster):
    """A client that waits for a controller, as the client of Kafka's scripts does."""

    def ask_controller(self, request: Message) -> Any:
        ask = super().ask_controller
        return self.retried(lambda: ask(request))


def script_cluster(options: argparse.Namespace, timeout_s: float = _TIMEOUT_S) -> AdminCluster:
    """A client of the cluster. Raises CommandError."""
    given = {} if options.command_config is None else file_settings(options.command_config)
    warn_of_unknown(given)
    return ScriptCluster(checked_settings(given, options.bootstrap_server, timeout_s), round(timeout_s * 1000))


def warn_of_unknown(given: Iterable[str]) -> None:
    """Name the settings that no client of Kafka has, as Kafka's scripts do in their log on standard error."""
    if unknown := unknown_settings(given):
        names = printable(", ".join(unknown))
        sys.stderr.write(f"WARN These configurations '[{names}]' were supplied but are not used yet.\n")
