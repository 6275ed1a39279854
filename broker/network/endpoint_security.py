"""The protection of one listener, as its connections use it. Each part is there if the listener's protocol needs it."""

from collections.abc import Callable

from ...base.frozen import frozen
from ...base.invariant import invariant
from ...config.listeners import has_login, is_encrypted
from .frame_gate import FrameGate
from .request import ConnectionInfo
from .transport import ConnectionLayer

__all__ = ["UNPROTECTED", "EndpointSecurity"]


@frozen
class EndpointSecurity:
    """``add_layer`` puts TLS below each connection; its certificates may change while the listener is open.
    ``new_gate`` makes the gate of each connection, at which its client logs in by SASL.
    """

    add_layer: ConnectionLayer | None = None
    new_gate: Callable[[ConnectionInfo], FrameGate] | None = None

    def check(self, security_protocol: str) -> None:
        """Raises InvariantError if a part is missing: the listener would be open where it must be closed."""
        has_layer, has_gate = self.add_layer is not None, self.new_gate is not None
        invariant(has_layer == is_encrypted(security_protocol), f"{security_protocol} with a TLS layer: {has_layer}")
        invariant(has_gate == has_login(security_protocol), f"{security_protocol} with a login: {has_gate}")


UNPROTECTED = EndpointSecurity()
