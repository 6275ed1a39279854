"""The settings of a session with ZooKeeper."""

from ...base.frozen import frozen
from ...config.config import Config
from .zookeeper_tls import TlsSettings

__all__ = ["ZooKeeperSettings"]

_SENSITIVE = ("/config/users", "/config/brokers", "/delegation_token/tokens")
_OPEN_TO_ALL = "/consumers"


@frozen
class ZooKeeperSettings:
    """``servers``: ``host:port`` pairs, separated by commas. ``root``: the path where the tree begins, without a final
    slash; "" for the root."""

    servers: str
    root: str
    session_timeout_ms: int
    connection_timeout_ms: int
    max_in_flight: int = 10
    set_acl: bool = False
    credentials: str | None = None
    """``user:password`` for ZooKeeper's digest authentication."""
    tls: TlsSettings | None = None
    is_guarded: bool = False
    """Whether a second process ends the session when this process dies (`session_guard.py`)."""

    @classmethod
    def from_config(cls, config: Config) -> "ZooKeeperSettings":
        servers, slash, path = config.string("zookeeper.connect").partition("/")
        session_timeout_ms = config.int("zookeeper.session.timeout.ms")
        connection_timeout_ms = config.optional_int("zookeeper.connection.timeout.ms")
        return cls(
            servers=",".join(server.strip() for server in servers.split(",") if server.strip()),
            root=(slash + path).rstrip("/"),
            session_timeout_ms=session_timeout_ms,
            connection_timeout_ms=session_timeout_ms if connection_timeout_ms is None else connection_timeout_ms,
            max_in_flight=config.int("zookeeper.max.in.flight.requests"),
            set_acl=config.boolean("zookeeper.set.acl"),
            credentials=config.optional_string("pybroker.zookeeper.digest"),
            tls=TlsSettings.from_config(config),
            is_guarded=config.boolean("pybroker.zookeeper.guard"),
        )

    def may_be_read_by_all(self, path: str) -> bool:
        """With ``set_acl``: whether everyone may read a node (Kafka's ZkData)."""
        return not path.startswith(_SENSITIVE)

    def may_be_changed_by_all(self, path: str) -> bool:
        """Whether everyone may write a node: old consumers write below /consumers."""
        return not self.set_acl or path == _OPEN_TO_ALL
