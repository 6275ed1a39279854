"""Tests of starts of a broker whose data directory lacks a file."""

import shutil
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.start_error import StartError
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.storage.files.meta_properties import MetaPropertiesError
from support.clients.wire_client import WireClient

OLD_KAFKA = Path(__file__).resolve().parents[1] / "reference" / "old-logdirs" / "kafka-2.3" / "data"


async def run_once(directory: Path | str, **settings: str) -> None:
    async with Broker({"log.dirs": str(directory), **settings}):
        pass


def store_files(directory: Path) -> list[Path]:
    return sorted(directory.glob("__pybroker_metadata.db*"))


async def refusal_of(*directories: Path, **settings: str) -> str:
    with pytest.raises((StartError, MetaPropertiesError)) as caught:
        await run_once(",".join(map(str, directories)), **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def test_broker_whose_metadata_store_is_missing_refuses_to_start_and_creates_none(tmp_path: Path) -> None:
    await run_once(tmp_path)
    for file in store_files(tmp_path):
        file.unlink()
    said = await refusal_of(tmp_path)
    assert said.startswith(f"{tmp_path}/__pybroker_metadata.db is missing, but should hold the metadata of cluster ")
    assert ": is its disk mounted? Restore the file from a backup." in said
    assert said.endswith("To start a new cluster, set log.dirs (given to Broker) to new directories")
    assert "remove" not in said
    assert store_files(tmp_path) == []


@pytest.mark.parametrize("has_meta_properties", [True, False])
async def test_new_directory_before_the_one_with_the_store_is_refused_with_both_ways_out(
    tmp_path: Path, has_meta_properties: bool
) -> None:
    new, data = tmp_path / "new", tmp_path / "data"
    await run_once(data)
    if not has_meta_properties:
        (data / "meta.properties").unlink()
    said = await refusal_of(new, data)
    store = data / "__pybroker_metadata.db"
    assert f"{new}/__pybroker_metadata.db is missing" in said
    assert said.endswith(
        f"; found {store}: put {data} first in log.dirs (given to Broker), or set metadata.store.path={store}"
    )
    assert store_files(new) == []
    await run_once(f"{data},{new}")
    await run_once(f"{new},{data}", **{"metadata.store.path": str(store)})


async def test_store_in_a_log_directory_is_named_when_the_store_of_metadata_store_path_is_missing(
    tmp_path: Path,
) -> None:
    await run_once(tmp_path)
    said = await refusal_of(tmp_path, **{"metadata.store.path": str(tmp_path / "other.db")})
    assert said.startswith(f"{tmp_path}/other.db is missing")
    store = tmp_path / "__pybroker_metadata.db"
    assert said.endswith(
        f": is its disk mounted? Found {store}, which may be an old copy: only if it is the current store, set "
        "metadata.store.path (given to Broker) to it"
    )


async def test_all_stores_are_named_when_several_directories_have_one(tmp_path: Path) -> None:
    new, one, two = tmp_path / "new", tmp_path / "one", tmp_path / "two"
    await run_once(one)
    shutil.copytree(one, two)
    said = await refusal_of(new, one, two)
    assert f"found {one}/__pybroker_metadata.db and {two}/__pybroker_metadata.db: " in said
    assert said.endswith("or set metadata.store.path to the current store")
    said = await refusal_of(one, two, **{"metadata.store.path": str(new / "store.db")})
    assert ": is its disk mounted? Found " in said
    assert said.endswith(
        "which may be old copies: only if one is the current store, set metadata.store.path (given to Broker) to it"
    )


async def test_store_that_was_copied_to_zookeeper_is_not_asked_to_be_restored(tmp_path: Path) -> None:
    await run_once(tmp_path)
    store = tmp_path / "__pybroker_metadata.db"
    store.rename(f"{store}.copied")
    said = await refusal_of(tmp_path)
    assert "estore" not in said
    assert said.endswith(
        f"{store}.copied is the old state: set zookeeper.connect or log.dirs (given to Broker) to the new place"
    )


async def test_store_of_another_cluster_than_the_log_directory_is_named_with_metadata_store_path(
    tmp_path: Path,
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    await run_once(one)
    await run_once(two)
    store = two / "__pybroker_metadata.db"
    said = await refusal_of(one, **{"metadata.store.path": str(store)})
    assert said.startswith(f"{one}/meta.properties is of cluster ")
    assert f"but the metadata store {store} is of cluster " in said
    assert "set metadata.store.path (given to Broker) to the store of cluster " in said
    assert "zookeeper" not in said


async def test_empty_metadata_store_is_treated_as_missing(tmp_path: Path) -> None:
    await run_once(tmp_path)
    for file in store_files(tmp_path):
        file.write_bytes(b"")
    assert "__pybroker_metadata.db is empty, " in await refusal_of(tmp_path)
    assert "__pybroker_metadata.db is empty, " in await refusal_of(tmp_path), "the attempt left it as it was"


def remove_partitions(directory: Path) -> None:
    for partition in directory.glob("*-0"):
        shutil.rmtree(partition)


def contents(directory: Path) -> dict[str, bytes]:
    """The files that Kafka wrote."""
    own = {".lock", *(file.name for file in store_files(directory))}
    return {str(file): file.read_bytes() for file in directory.rglob("*") if file.is_file() and file.name not in own}


@pytest.mark.parametrize(("has_meta_properties", "has_partitions"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("store", ["missing", "empty"])
async def test_directory_without_cluster_id_is_not_taken_over_without_its_metadata(
    tmp_path: Path, has_meta_properties: bool, has_partitions: bool, store: str
) -> None:
    """Kafka before 2.4 wrote no cluster id into `meta.properties`."""
    data = Path(shutil.copytree(OLD_KAFKA, tmp_path / "data"))
    if not has_meta_properties:
        (data / "meta.properties").unlink()
    if not has_partitions:
        remove_partitions(data)
    if store == "empty":
        (data / "__pybroker_metadata.db").touch()
    before = contents(data)
    said = await refusal_of(data)
    owner = "the cluster of broker 0" if has_meta_properties else f"the partitions in {data}"
    assert said.startswith(f"{data}/__pybroker_metadata.db is {store}, but should hold the metadata of {owner}: ")
    assert "set zookeeper.connect, or fetch the metadata by pybroker metadata copy" in said
    assert contents(data) == before


async def test_partitions_in_the_second_directory_need_their_metadata_too(tmp_path: Path) -> None:
    new, used = tmp_path / "new", tmp_path / "used"
    (used / "topic-0").mkdir(parents=True)
    assert f"should hold the metadata of the partitions in {used}: " in await refusal_of(new, used)


@pytest.mark.parametrize("path", ["/cluster/id", "/config/brokers/<default>"])
async def test_unreadable_metadata_is_named_when_the_start_fails(tmp_path: Path, path: str) -> None:
    await run_once(tmp_path)
    store = await EmbeddedStore.open(tmp_path / "__pybroker_metadata.db", lambda: 1)
    try:
        if await store.exists(path) is None:
            await store.create(path, b"no json")
        else:
            await store.set(path, b"no json")
    finally:
        await store.close()
    assert await refusal_of(tmp_path) == (
        f"{path}: not JSON: b'no json'; this node of the metadata in {tmp_path}/__pybroker_metadata.db is damaged: "
        "correct it, or restore a backup"
    )


@pytest.mark.parametrize(("given", "has_topic"), [({}, True), ({}, False), ({"broker.id": "7"}, True)])
def test_broker_without_meta_properties_keeps_its_id_and_topics(
    tmp_path: Path, given: dict[str, str], has_topic: bool
) -> None:
    """Topics are assigned to the broker id, and the broker's own settings are stored under it."""
    settings = {"log.dirs": str(tmp_path)}
    with Broker(settings | given) as broker:
        if has_topic:
            new = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
            with WireClient(broker.bootstrap_servers) as client:
                assert client.ask(CreateTopicsRequest(topics=[new]), 7).topics[0].error_code == 0
    before = (tmp_path / "meta.properties").read_text()
    (tmp_path / "meta.properties").unlink()
    with Broker(settings):
        pass
    assert (tmp_path / "meta.properties").read_text() == before
