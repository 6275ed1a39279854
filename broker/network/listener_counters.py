"""Counters of one listener, which its connections increment."""

__all__ = ["ListenerCounters"]


class ListenerCounters:
    """``connections``: open now, with those that wait because of a limit. ``accepted``: since the start."""

    __slots__ = ("accepted", "connections", "expired_sessions", "logins_failed", "logins_succeeded")

    def __init__(self) -> None:
        self.connections = 0
        self.accepted = 0
        self.logins_succeeded = 0
        """Logins by SASL, or by the certificate of TLS where SASL is not used; not those that only renew a session."""
        self.logins_failed = 0
        self.expired_sessions = 0
        """Connections that were closed because their client did not log in again in time."""
