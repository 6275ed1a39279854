"""Why a listener could not be opened."""

__all__ = ["AddressInUseError", "BindError"]


class BindError(OSError):
    """A listener's address cannot be bound. The message is one plain line that names the listener and the address."""

    def __init__(self, listener_name: str, host: str, port: int, reason: str) -> None:
        super().__init__(f"Listener {listener_name} cannot listen on {host or '*'}:{port}: {reason}")
        self.listener_name = listener_name
        self.host = host
        self.port = port


class AddressInUseError(BindError):
    """Another process (or another listener of this one) listens there."""

    def __init__(self, listener_name: str, host: str, port: int) -> None:
        super().__init__(listener_name, host, port, "the address is in use, by another process or another listener")
