"""TLS between the store and a real ZooKeeper that requires client certificates."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from pybroker.controller.tree.metadata_store import NotAuthorizedError, StoreUnreachableError
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore
from support.in_process.metadata_store_suite import kill_ends_the_session
from support.processes.certificates import Authority
from support.processes.secured_zookeeper import SecuredZooKeeper

ROOTS = count()


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredZooKeeper]:
    secured = SecuredZooKeeper(tmp_path_factory.mktemp("secured") / "zookeeper")
    secured.process.start()
    yield secured
    secured.process.stop()


@pytest.fixture
def root() -> str:
    return f"/tls/{next(ROOTS)}"


def settings_of(secured: SecuredZooKeeper, root: str, **tls: str) -> ZooKeeperSettings:
    return ZooKeeperSettings.from_config(load_config("", secured.properties(root, **tls)))


async def test_client_certificate_decides_the_owner_of_nodes(secured: SecuredZooKeeper, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(secured, root))
    await store.create("/topic", b"x")
    await store.set("/topic", b"y")
    stranger = await ZooKeeperStore.open(settings_of(secured, root, keystore_location=str(secured.stranger)))
    assert (await stranger.get("/topic"))[0] == b"y"
    with pytest.raises(NotAuthorizedError):
        await stranger.set("/topic", b"z")
    await stranger.close()
    await store.close()


async def test_guard_ends_a_session_over_tls(secured: SecuredZooKeeper, root: str) -> None:
    store, other = [await ZooKeeperStore.open(settings_of(secured, root)) for _ in range(2)]
    await kill_ends_the_session(store, other)
    await other.close()


async def test_large_responses_are_received_over_tls(secured: SecuredZooKeeper, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(secured, root))
    data = bytes(range(256)) * 2000
    await store.create("/large", data)
    assert (await store.get("/large"))[0] == data
    await store.close()


async def test_server_certificate_of_another_authority_is_refused(secured: SecuredZooKeeper, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    settings = settings_of(secured, "", truststore_location=str(other.certificate))
    with pytest.raises(StoreUnreachableError, match="certificate verify failed"):
        await ZooKeeperStore.open(settings)


async def test_server_certificate_of_another_host_is_accepted_only_without_hostname_verification(
    secured: SecuredZooKeeper, root: str
) -> None:
    with pytest.raises(StoreUnreachableError, match="certificate is not valid for 'localhost'"):
        await ZooKeeperStore.open(by_name(settings_of(secured, root)))
    unchecked = settings_of(secured, root, endpoint_identification_algorithm="")
    store = await ZooKeeperStore.open(by_name(unchecked))
    await store.close()


def by_name(settings: ZooKeeperSettings) -> ZooKeeperSettings:
    return replace(settings, servers=settings.servers.replace("127.0.0.1", "localhost"))


def test_keystores_that_are_not_pem_are_refused_with_a_solution(secured: SecuredZooKeeper) -> None:
    with pytest.raises(
        ConfigError, match=r"keystore.location=/k.jks \(override\): only stores in PEM.*keystore.type=PEM"
    ):
        settings_of(secured, "", keystore_location="/k.jks")
    with pytest.raises(ConfigError, match=r"truststore.location=/t.pem \(override\): only stores in PEM"):
        settings_of(secured, "", truststore_location="/t.pem", truststore_type="JKS")


async def test_files_that_cannot_be_read_are_named_by_their_setting(secured: SecuredZooKeeper, tmp_path: Path) -> None:
    settings = settings_of(secured, "", keystore_location=str(tmp_path / "missing.pem"))
    text = (
        r"zookeeper.ssl.keystore.location=.*/missing.pem \(override\): .*No such file.*; name a PEM file with a private"
    )
    with pytest.raises(ConfigError, match=text):
        await ZooKeeperStore.open(settings)


def open_tls(config: Config) -> None:
    made = ZooKeeperSettings.from_config(config)
    assert made.tls is not None
    made.tls.context()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("enabled.protocols", "TLSv1.2,SSLv3", "must be of TLSv1, "),
        ("protocol", "TLSv9", "must be of TLSv1, "),
        ("cipher.suites", "none-of-these", "name one of OpenSSL's"),
        ("truststore.location", "no.pem", "name a PEM file with certificates of authorities"),
        ("keystore.location", "no.pem", "name a PEM file with a private key and its certificates"),
    ],
)
def test_bad_tls_setting_is_named_with_its_value_and_place(
    tmp_path: Path, name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("no.pem").write_text("no certificate")
    settings = {"zookeeper.connect": "zk", "zookeeper.ssl.client.enable": "true", f"zookeeper.ssl.{name}": value}
    config = load_config("", settings, place="KAFKA_ZOOKEEPER_SSL")
    with pytest.raises(ConfigError) as caught:
        open_tls(config)
    assert str(caught.value).startswith(f"zookeeper.ssl.{name}={value} (KAFKA_ZOOKEEPER_SSL): ")
    assert words in str(caught.value)
