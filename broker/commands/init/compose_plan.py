"""The plan of a cluster that a compose file describes."""

from collections.abc import Mapping
from dataclasses import field

from ....base.frozen import frozen

__all__ = ["ADMIN", "BROKER", "ComposePlan"]

BROKER, ADMIN = "broker", "admin"
"""The users of a cluster with logins that may do everything: the brokers log in as the first."""

_FIRST_PORT = 9092


@frozen
class ComposePlan:
    """A cluster.

    Attributes:
        passwords: the password of each user, with those of BROKER and ADMIN; empty: nobody logs in.
    """

    brokers: int
    has_tls: bool = False
    has_monitoring: bool = False
    passwords: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_zookeeper(self) -> bool:
        """Whether the metadata is in ZooKeeper. A single broker needs it only for users, who are set while it runs."""
        return self.brokers > 1 or bool(self.passwords)

    @property
    def names(self) -> list[str]:
        """The services of the brokers."""
        return [f"broker-{number}" for number in range(1, self.brokers + 1)]

    @property
    def ports(self) -> list[int]:
        """The port of each broker on the host."""
        return [_FIRST_PORT + index for index in range(self.brokers)]

    @property
    def protocol(self) -> str:
        """The security protocol of all listeners."""
        if self.passwords:
            return "SASL_SSL" if self.has_tls else "SASL_PLAINTEXT"
        return "SSL" if self.has_tls else "PLAINTEXT"

    @property
    def variables(self) -> dict[str, str]:
        """The variable that holds the password of each user."""
        others = [user for user in self.passwords if user not in (BROKER, ADMIN)]
        named = {user: f"{user.upper()}_PASSWORD" for user in (BROKER, ADMIN) if user in self.passwords}
        return named | {user: f"USER_{number}_PASSWORD" for number, user in enumerate(others, 1)}
