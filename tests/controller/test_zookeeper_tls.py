"""TLS between the store and a real ZooKeeper that wants to know its clients."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.controller.metadata_store import NotAuthorizedError, StoreUnreachableError, WatchEvent
from pybroker.controller.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.zookeeper_store import ZooKeeperStore
from support.certificates import Authority
from support.kafka_process import ZooKeeperProcess, free_port

ROOTS = count()
LONGER_THAN_ANY_TEST_MS = 3_600_000


class Secured:
    """A ZooKeeper that speaks TLS on ``port``, and who may speak to it."""

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

    def settings(self, root: str, **tls: str) -> ZooKeeperSettings:
        """Those of a broker, with others in place of ``zookeeper.ssl.…`` as ``tls`` names them."""
        values = {
            "keystore_location": str(self.broker),
            "truststore_location": str(self.authority.certificate),
            **tls,
        }
        config = Config.load(
            "",
            {
                "zookeeper.connect": f"127.0.0.1:{self.port}{root}",
                "zookeeper.connection.timeout.ms": "30000",
                "zookeeper.session.timeout.ms": str(LONGER_THAN_ANY_TEST_MS),
                "zookeeper.ssl.client.enable": "true",
                "zookeeper.set.acl": "true",
                **{f"zookeeper.ssl.{name.replace('_', '.')}": value for name, value in values.items()},
            },
        )
        return ZooKeeperSettings.from_config(config)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    secured = Secured(tmp_path_factory.mktemp("secured") / "zookeeper")
    secured.process.start()
    yield secured
    secured.process.stop()


@pytest.fixture
def root() -> str:
    return f"/tls/{next(ROOTS)}"


async def test_certificate_says_whose_the_nodes_are(secured: Secured, root: str) -> None:
    store = await ZooKeeperStore.open(secured.settings(root))
    await store.create("/topic", b"x")
    await store.set("/topic", b"y")
    stranger = await ZooKeeperStore.open(secured.settings(root, keystore_location=str(secured.stranger)))
    assert (await stranger.get("/topic"))[0] == b"y"
    with pytest.raises(NotAuthorizedError):
        await stranger.set("/topic", b"z")
    await stranger.close()
    await store.close()


async def test_guard_ends_a_session_over_tls(secured: Secured, root: str) -> None:
    store, other = [await ZooKeeperStore.open(secured.settings(root)) for _ in range(2)]
    await store.create("/here", ephemeral=True)
    gone: asyncio.Future[WatchEvent] = asyncio.get_running_loop().create_future()
    await other.exists("/here", gone.set_result)
    store.kill()
    await gone
    await other.close()


async def test_large_answers_come_through(secured: Secured, root: str) -> None:
    store = await ZooKeeperStore.open(secured.settings(root))
    data = bytes(range(256)) * 2000
    await store.create("/large", data)
    assert (await store.get("/large"))[0] == data
    await store.close()


async def test_server_of_another_authority_is_not_spoken_to(secured: Secured, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    settings = secured.settings("", truststore_location=str(other.certificate))
    with pytest.raises(StoreUnreachableError, match="certificate verify failed"):
        await ZooKeeperStore.open(settings)


async def test_server_of_another_name_is_spoken_to_only_when_names_are_not_checked(secured: Secured, root: str) -> None:
    with pytest.raises(StoreUnreachableError, match="certificate is not valid for 'localhost'"):
        await ZooKeeperStore.open(by_name(secured.settings(root)))
    unchecked = secured.settings(root, endpoint_identification_algorithm="")
    store = await ZooKeeperStore.open(by_name(unchecked))
    await store.close()


def by_name(settings: ZooKeeperSettings) -> ZooKeeperSettings:
    return replace(settings, servers=settings.servers.replace("127.0.0.1", "localhost"))


def test_stores_that_are_not_pem_are_refused_with_the_way_out(secured: Secured) -> None:
    with pytest.raises(ConfigError, match=r"keystore.location=/k.jks: only stores in PEM.*keystore.type=PEM"):
        secured.settings("", keystore_location="/k.jks")
    with pytest.raises(ConfigError, match=r"truststore.location=/t.pem: only stores in PEM"):
        secured.settings("", truststore_location="/t.pem", truststore_type="JKS")


async def test_files_that_cannot_be_read_are_named_by_their_setting(secured: Secured, tmp_path: Path) -> None:
    settings = secured.settings("", keystore_location=str(tmp_path / "missing.pem"))
    with pytest.raises(ConfigError, match=r"zookeeper.ssl.keystore.location: .*No such file"):
        await ZooKeeperStore.open(settings)
