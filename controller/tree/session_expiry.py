"""Ends a ZooKeeper session from outside, as its expiry does: its owner learns of it when it connects again."""

import socket
from collections.abc import Iterable

from ...config.config_error import ConfigError
from .metadata_store import StoreUnreachableError
from .session_guard_process import close_session
from .zookeeper_tls import TlsSettings

__all__ = ["expire_session"]

_TIMEOUT_S = 5.0


def expire_session(servers: Iterable[tuple[str, int]], credentials: tuple[int, bytes], tls: TlsSettings | None) -> None:
    """Resume the session on another connection, and close it. Blocks. Raises StoreUnreachableError."""
    problem: Exception | None = None
    for host, port in servers:
        try:
            with socket.create_connection((host, int(port)), _TIMEOUT_S) as connection:
                if tls is None:
                    close_session(connection, *credentials)
                    return
                with tls.context().wrap_socket(connection, server_hostname=host) as encrypted:
                    close_session(encrypted, *credentials)
                    return
        except (OSError, EOFError, ConfigError) as error:
            problem = error
    raise StoreUnreachableError(None, f"the session is not ended, because no ZooKeeper answers: {problem}")
