"""A follower asks a leader again that refused it, or whose response came too late."""

from pathlib import Path
from typing import Any

from pybroker.protocol.codec import Message
from support.in_process.replica_cluster import ReplicaCluster
from support.in_process.replicas import TP, batch_of


async def test_leader_that_does_not_know_of_its_election_yet_is_asked_again_soon(tmp_path: Path) -> None:
    cluster = ReplicaCluster(tmp_path, backoff_ms=1000)
    await cluster.order(1, 0)
    await cluster.order(1, 1, to=(2,))
    fetcher, delays_ms = cluster[2].fetcher(1), []
    now_ms = fetcher._partitions.monotonic_ms()
    fetcher._partitions.monotonic_ms = lambda: now_ms  # type: ignore[method-assign]
    for _ in range(9):
        await fetcher.step()
        due_ms = fetcher.states.next_due_ms(now_ms)
        assert due_ms is not None
        delays_ms.append(due_ms - now_ms)
        now_ms = due_ms
    assert delays_ms == [10, 20, 40, 80, 160, 320, 640, 1000, 1000]
    cluster[1].produce(batch_of(b"a"))
    await cluster.order(1, 1, to=(1,))
    await fetcher.step()
    assert cluster[2].records() == [(0, b"a")]
    assert fetcher.states.get(TP).retry_ms == 0  # type: ignore[union-attr]
    cluster.close()


async def test_high_watermark_of_a_response_that_a_new_leader_epoch_overtook_is_told_again(tmp_path: Path) -> None:
    cluster = ReplicaCluster(tmp_path)
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"a"))
    await cluster[2].fetch_from(1, times=2)
    assert (cluster[1].offsets, cluster[2].offsets) == ((0, 1, 1), (0, 0, 1))
    fetcher = cluster[2].fetcher(1)
    ask = fetcher.link.ask

    async def overtaken(request: Message, version: int, timeout_ms: int) -> Any:
        answer = await ask(request, version, timeout_ms)
        await cluster.order(1, 1)
        return answer

    fetcher.link.ask = overtaken  # type: ignore[method-assign]
    await fetcher.step()
    assert cluster[2].offsets == (0, 0, 1)
    fetcher.link.ask = ask  # type: ignore[method-assign]
    await fetcher.step()
    assert cluster[2].offsets == (0, 1, 1)
    cluster.close()
