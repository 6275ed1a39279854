"""A ZooKeeper with TLS that requires client certificates."""

from pathlib import Path

from kazoo.client import KazooClient
from support.processes.certificates import Authority
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.ports import free_port

__all__ = ["LONGER_THAN_ANY_TEST_MS", "SecuredZooKeeper"]

LONGER_THAN_ANY_TEST_MS = 3_600_000


class SecuredZooKeeper:
    """A ZooKeeper with TLS on `port`, and the certificates of its clients."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.authority = Authority(directory)
        self.broker = self.authority.issue("broker", "DNS:broker")
        self.stranger = self.authority.issue("stranger", "DNS:stranger")
        server = self.authority.issue("server", "IP:127.0.0.1")
        self.port = free_port()
        self.process = ZooKeeperProcess(
            directory / "zookeeper",
            {
                "maxSessionTimeout": str(LONGER_THAN_ANY_TEST_MS),
                "secureClientPort": str(self.port),
                "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
                "authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
                "ssl.keyStore.location": str(server),
                "ssl.trustStore.location": str(self.authority.certificate),
            },
        )

    def properties(self, root: str, **tls: str) -> dict[str, str]:
        """Returns a broker's properties; `tls` replaces `zookeeper.ssl.…` settings."""
        values = {
            "keystore_location": str(self.broker),
            "truststore_location": str(self.authority.certificate),
            **tls,
        }
        return {
            "zookeeper.connect": f"127.0.0.1:{self.port}{root}",
            "zookeeper.connection.timeout.ms": "30000",
            "zookeeper.session.timeout.ms": str(LONGER_THAN_ANY_TEST_MS),
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.set.acl": "true",
            **{f"zookeeper.ssl.{name.replace('_', '.')}": value for name, value in values.items()},
        }

    def client(self, root: str) -> KazooClient:
        """Returns an unstarted client with the brokers' permissions."""
        return KazooClient(
            f"127.0.0.1:{self.port}{root}",
            use_ssl=True,
            certfile=str(self.broker),
            keyfile=str(self.broker),
            ca=str(self.authority.certificate),
        )
