"""Tests of starts of a broker whose data directory lacks a file."""

from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.start_error import StartError
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from support.clients.wire_client import WireClient


async def run_once(directory: Path, **settings: str) -> None:
    async with Broker({"log.dirs": str(directory), **settings}):
        pass


def store_files(directory: Path) -> list[Path]:
    return sorted(directory.glob("__pybroker_metadata.db*"))


async def refusal_of(directory: Path) -> str:
    with pytest.raises(StartError) as caught:
        await run_once(directory)
    return str(caught.value)


async def test_broker_whose_metadata_store_is_missing_refuses_to_start_and_creates_none(tmp_path: Path) -> None:
    await run_once(tmp_path)
    for file in store_files(tmp_path):
        file.unlink()
    said = await refusal_of(tmp_path)
    assert said.startswith(f"{tmp_path}/__pybroker_metadata.db is missing, ")
    assert said.endswith(f"restore it, or remove {tmp_path} to start a new cluster")
    assert "\n" not in said
    assert store_files(tmp_path) == []


async def test_empty_metadata_store_is_treated_as_missing(tmp_path: Path) -> None:
    await run_once(tmp_path)
    for file in store_files(tmp_path):
        file.write_bytes(b"")
    assert "__pybroker_metadata.db is empty, " in await refusal_of(tmp_path)
    assert "__pybroker_metadata.db is empty, " in await refusal_of(tmp_path), "the attempt left it as it was"


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
    assert await refusal_of(tmp_path) == f"{path}: not JSON: b'no json'"


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
