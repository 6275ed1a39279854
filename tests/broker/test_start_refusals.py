"""Every error that ends a start gets a way out that names a setting as the user gave it, or a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.broker.metadata.lost_store import missing_store
from pybroker.broker.network.bound_sockets import BindError
from pybroker.broker.start_refusals import START_ERRORS, start_refusal
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from pybroker.controller.level_check import UnsupportedLevelError
from pybroker.controller.tree.metadata_store import MetadataStoreError, NoResourcesError, StoreUnreachableError
from pybroker.controller.tree.znodes import ZnodeDecodeError
from pybroker.storage.files.files import Files
from pybroker.storage.files.meta_properties import MetaPropertiesError, OtherClusterError
from pybroker.storage.store.log_directories import LogDirectoriesError

NAMED_IN_THE_TEXT = (ConfigError, MetaPropertiesError, LogDirectoriesError)
"""Errors whose text names the file or setting and the way out; most of their subclasses leave the way out to others."""


def kinds(*roots: type[Exception]) -> Iterator[type[Exception]]:
    for root in roots:
        if root.__module__.startswith("pybroker."):
            yield root
        yield from kinds(*root.__subclasses__())


def made(kind: type[Exception]) -> Exception:
    if issubclass(kind, BindError):
        return kind("PLAINTEXT", "host", 9092, "reason")
    if issubclass(kind, UnsupportedLevelError):
        return kind("new.version", 2, 1)
    needs_two = issubclass(kind, OtherClusterError | MetadataStoreError | ZnodeDecodeError)
    return kind("text", "other") if needs_two else kind("text")


def settings_of_user(*, with_zookeeper: bool) -> Config:
    values = {
        "listeners": "PLAINTEXT://:9092",
        "broker.id": "1",
        "log.dirs": "/nowhere/a,/nowhere/b",
        "zookeeper.ssl.truststore.location": "/nowhere/trust",
        "pybroker.zookeeper.digest": "a:b",
    }
    values |= {"zookeeper.connect": "zk"} if with_zookeeper else {"metadata.store.path": "/nowhere/store"}
    return load_config("", values, place="in the test")


@pytest.mark.parametrize("with_zookeeper", [False, True])
@pytest.mark.parametrize("kind", sorted(set(kinds(*START_ERRORS)), key=str))
def test_every_error_of_a_start_has_a_way_out_that_names_the_setting_and_its_place(
    kind: type[Exception], with_zookeeper: bool
) -> None:
    error = made(kind)
    text = str(start_refusal(error, settings_of_user(with_zookeeper=with_zookeeper), Files()))
    assert text.startswith(str(error))
    if kind in NAMED_IN_THE_TEXT:
        assert text == str(error)
        return
    assert len(text) > len(str(error)) + 10
    names_only_the_file = isinstance(error, MetadataStoreError) and not with_zookeeper
    concerns_no_setting = isinstance(error, NoResourcesError | UnsupportedLevelError | ZnodeDecodeError)
    assert "(in the test)" in text or names_only_the_file or concerns_no_setting


@pytest.mark.parametrize(
    ("feature", "way"),
    [
        ("group.version", "add consumer to group.coordinator.rebalance.protocols (in the test), or lower the level: "),
        ("share.version", "add share to group.coordinator.rebalance.protocols (in the test), or lower the level: "),
        ("new.version", "start a newer pybroker, or lower the level: "),
    ],
)
def test_level_that_the_broker_does_not_support_is_refused_with_the_setting_or_release_that_it_needs(
    feature: str, way: str
) -> None:
    settings = {"zookeeper.connect": "zk", "group.coordinator.rebalance.protocols": "classic"}
    config = load_config("advertised.listeners=PLAINTEXT://h:1", settings, place="in the test")
    said = str(start_refusal(UnsupportedLevelError(feature, 1, 0), config, Files()))
    assert said.startswith(f"{feature} is 1 in this cluster, but this broker supports levels up to 0; {way}")


@pytest.mark.parametrize("was_reached", [False, True])
def test_unreachable_zookeeper_gets_other_advice_when_a_server_was_reached(was_reached: bool) -> None:
    error = StoreUnreachableError(None, "no session", was_reached=was_reached)
    text = str(start_refusal(error, settings_of_user(with_zookeeper=True), Files()))
    assert ("start ZooKeeper there" in text) is not was_reached
    assert ("with a quorum" in text) is was_reached
    assert "zookeeper.connect (in the test)" in text


@pytest.mark.parametrize("setting", ["log.dir", "log.dirs"])
def test_lost_store_is_refused_with_the_place_of_the_settings(setting: str, tmp_path: Path) -> None:
    config = load_config("", {setting: str(tmp_path)}, place="KAFKA_LOG_DIRS")
    said = str(missing_store(config, "missing", "cluster x"))
    assert said.endswith(f"To start a new cluster, set {setting} (KAFKA_LOG_DIRS) to new directories")
