"""A principal: the name under which a client is known after its authentication (``KafkaPrincipal``)."""

from typing import NamedTuple

__all__ = ["ANONYMOUS", "THIS_BROKER", "USER", "Principal"]

USER = "User"
"""The type of every principal that an authentication gives; ACLs may name other types."""


class Principal(NamedTuple):
    """Type and name, as in ``User:alice``. Both are compared as they are, by case.

    ``is_token``: authenticated by a delegation token. As in Kafka, ACLs do not see the difference.
    """

    type: str
    name: str
    is_token: bool = False

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal(USER, "ANONYMOUS")
"""Every client of a listener that authenticates nobody."""
THIS_BROKER = Principal("Broker", "this")
"""This broker, when it calls one of its own handlers directly. No client can be it: an authentication gives `USER`."""
