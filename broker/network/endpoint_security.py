"""The protection of one listener, as its connections use it. Each part is there if the listener's protocol needs it."""

from dataclasses import dataclass

from ...base.invariant import invariant
from .transport import ConnectionLayer

__all__ = ["UNPROTECTED", "EndpointSecurity", "is_encrypted"]


def is_encrypted(security_protocol: str) -> bool:
    """Whether connections with this protocol use TLS."""
    return security_protocol not in ("PLAINTEXT", "SASL_PLAINTEXT")


@dataclass(frozen=True, slots=True)
class EndpointSecurity:
    """``add_layer`` puts TLS below each connection; what it uses for that may change while the listener is open."""

    add_layer: ConnectionLayer | None = None

    def check(self, security_protocol: str) -> None:
        """Raises InvariantError if a part is missing: the listener would be open where it must be closed."""
        has_layer = self.add_layer is not None
        invariant(has_layer == is_encrypted(security_protocol), f"{security_protocol} with a TLS layer: {has_layer}")


UNPROTECTED = EndpointSecurity()
