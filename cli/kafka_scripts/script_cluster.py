"""The cluster that a script's options name."""

import argparse

from ...client.admin_cluster import AdminCluster
from ..connecting.connection_options import client_settings

__all__ = ["script_cluster"]

_TIMEOUT_S = 60.0
"""Kafka: default.api.timeout.ms."""


def script_cluster(options: argparse.Namespace) -> AdminCluster:
    """A client of the cluster. Raises CommandError."""
    given = argparse.Namespace(
        bootstrap_server=options.bootstrap_server,
        command_config=options.command_config,
        client_settings=[],
        profile=None,
        timeout=_TIMEOUT_S,
    )
    return AdminCluster(client_settings(given, {}), round(_TIMEOUT_S * 1000))
