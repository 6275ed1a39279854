"""Parts of a broker are killed as in a crash: queued work is dropped, durable data stays, no client is answered."""

import asyncio
import threading
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import SessionEvent
from pybroker.protocol.codec import Message
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.storage.workers.worker_pool import WorkerPool
from support.clients.wire_client import WireClient


async def test_killed_worker_pool_ends_after_its_current_step() -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 1)
    done: list[str] = []
    begun = threading.Event()

    def until_killed() -> None:
        begun.set()
        while not pool._killed:
            pass
        done.append("the step under way")
        pool.post(done.append, "its result")
        pool.submit(lambda: done.append("a step behind it"))

    pool.submit(until_killed)
    pool.submit(lambda: done.append("a queued step"))
    begun.wait()
    pool.kill()
    await asyncio.sleep(0)
    assert done == ["the step under way"]
    pool.submit(lambda: done.append("a late step"))
    assert done == ["the step under way"]


async def test_a_killed_pool_drops_results_that_wait_for_the_loop() -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 1)
    done: list[str] = []
    pool.post(done.append, "a result")
    pool.kill()
    await asyncio.sleep(0)
    assert done == []


async def test_killed_metadata_store_frees_its_file_and_keeps_answered_changes(tmp_path: Path) -> None:
    path = tmp_path / "metadata"
    first = await EmbeddedStore.open(path, lambda: 0)
    events: list[SessionEvent] = []
    first.on_session_event(events.append)
    await first.create("/kept", b"answered")
    await first.create("/mine", ephemeral=True)
    unanswered = first.create("/unanswered")
    first.kill()
    second = await EmbeddedStore.open(path, lambda: 0)
    assert (await second.get("/kept"))[0] == b"answered"
    assert await second.exists("/mine") is None
    assert not unanswered.done()
    assert events == []
    await second.close()


def test_waiting_requests_are_dropped_without_a_log_line_by_a_kill(caplog: pytest.LogCaptureFixture) -> None:
    """A member waits for others to join, and a fetch waits for records."""
    join = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    fetch = FetchRequest(
        max_wait_ms=60_000, min_bytes=1, topics=[FetchTopic(topic="events", partitions=[FetchPartition(partition=0)])]
    )
    with Broker({"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "60000"}) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="events")]), 4)
            while client.ask(FindCoordinatorRequest(key="readers"), 1).error_code:
                pass
            waiting = [ask_in_vain(broker.bootstrap_servers, fetch, 4), ask_in_vain(broker.bootstrap_servers, join, 2)]
            while not client.ask(DescribeGroupsRequest(groups=["readers"]), 0).groups[0].members:
                pass
            broker.kill()
        for thread in waiting:
            thread.join()
    ours = [record for record in caplog.records if record.name.startswith("pybroker")]
    assert [record.getMessage() for record in ours if record.levelname == "ERROR"] == []


def ask_in_vain(bootstrap_servers: str, request: Message, version: int) -> threading.Thread:
    """Send a request in a thread, which ends when the connection is reset."""
    client = WireClient(bootstrap_servers)

    def ask() -> None:
        with client, pytest.raises(ConnectionResetError):
            client.ask(request, version)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread
