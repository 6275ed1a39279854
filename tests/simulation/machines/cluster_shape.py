"""The settings of the brokers of a simulated cluster that differ between production clusters."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

__all__ = ["CONTROL_PORT", "DISK", "KEY_STORE", "PORT", "TRUST_STORE", "ClusterShape", "rack_of"]

PORT = 9092
CONTROL_PORT = 9093
DISK = "/disk"
"""The directory that holds all log directories of a broker."""
_STORES = Path(__file__).parents[2] / "reference" / "tls"
KEY_STORE, TRUST_STORE = _STORES / "simulated.pem", _STORES / "simulated-trust.pem"
"""An RSA key and its certificate for the brokers and the clients of a cluster with TLS. RSA signatures have one length,
ECDSA signatures have several."""


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
    tls_versions: str = ""
    """ssl.enabled.protocols of all listeners. Without TLS it is empty."""

    @classmethod
    def by_chance(cls, random: Random) -> "ClusterShape":
        return cls(
            log_directories=random.choice((1, 1, 2)),
            has_control_plane=random.random() < 0.25,
            has_racks=random.random() < 0.35,
            fetchers=random.choice((1, 1, 2)),
            protocol_version=random.choice(("3.0", "3.2", "3.3", "3.5", "3.7", "3.9", "3.9", "3.9", "3.9")),
        )

    @property
    def has_tls(self) -> bool:
        return bool(self.tls_versions)

    def settings_of(self, broker_id: int, name: str) -> dict[str, str]:
        several = [f"{DISK}/{number}" for number in range(self.log_directories)]
        protocol = "SSL" if self.has_tls else "PLAINTEXT"
        settings = {
            "broker.id": str(broker_id),
            "inter.broker.protocol.version": self.protocol_version,
            "listeners": f"{protocol}://{name}:{PORT}",
            "num.replica.fetchers": str(self.fetchers),
            "log.dirs": DISK if self.log_directories == 1 else ",".join(several),
        }
        if self.has_control_plane:
            settings["listeners"] += f",CONTROL://{name}:{CONTROL_PORT}"
            settings["listener.security.protocol.map"] = f"{protocol}:{protocol},CONTROL:{protocol}"
            settings["control.plane.listener.name"] = "CONTROL"
        if self.has_racks:
            settings["broker.rack"] = rack_of(broker_id)
            settings["replica.selector.class"] = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
        return settings | (self._tls_settings() if self.has_tls else {})

    def _tls_settings(self) -> dict[str, str]:
        return {
            "security.inter.broker.protocol": "SSL",
            "ssl.client.auth": "required",
            "ssl.enabled.protocols": self.tls_versions,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(KEY_STORE),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(TRUST_STORE),
        }


def rack_of(number: int) -> str:
    return f"rack{number % 2}"
