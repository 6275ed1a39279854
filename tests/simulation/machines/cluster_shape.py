"""The settings of the brokers of a simulated cluster that differ between production clusters."""

from dataclasses import dataclass
from random import Random

__all__ = ["CONTROL_PORT", "DISK", "PORT", "ClusterShape", "rack_of"]

PORT = 9092
CONTROL_PORT = 9093
DISK = "/disk"
"""The directory that holds all log directories of a broker."""


@dataclass(frozen=True)
class ClusterShape:
    """Settings of a cluster. `protocol_version` is inter.broker.protocol.version."""

    log_directories: int = 1
    has_control_plane: bool = False
    """The controller reaches brokers on a separate listener."""
    has_racks: bool = False
    """The brokers are in two racks, and consumers read from the nearest replica."""
    fetchers: int = 1
    """num.replica.fetchers."""
    protocol_version: str = "3.9"

    @classmethod
    def by_chance(cls, random: Random) -> "ClusterShape":
        return cls(
            log_directories=random.choice((1, 1, 2)),
            has_control_plane=random.random() < 0.25,
            has_racks=random.random() < 0.35,
            fetchers=random.choice((1, 1, 2)),
            protocol_version=random.choice(("3.0", "3.2", "3.3", "3.5", "3.7", "3.9", "3.9", "3.9", "3.9")),
        )

    def settings_of(self, broker_id: int, name: str) -> dict[str, str]:
        several = [f"{DISK}/{number}" for number in range(self.log_directories)]
        settings = {
            "broker.id": str(broker_id),
            "inter.broker.protocol.version": self.protocol_version,
            "listeners": f"PLAINTEXT://{name}:{PORT}",
            "num.replica.fetchers": str(self.fetchers),
            "log.dirs": DISK if self.log_directories == 1 else ",".join(several),
        }
        if self.has_control_plane:
            settings["listeners"] += f",CONTROL://{name}:{CONTROL_PORT}"
            settings["listener.security.protocol.map"] = "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT"
            settings["control.plane.listener.name"] = "CONTROL"
        if self.has_racks:
            settings["broker.rack"] = rack_of(broker_id)
            settings["replica.selector.class"] = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
        return settings


def rack_of(number: int) -> str:
    return f"rack{number % 2}"
