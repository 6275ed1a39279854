"""Tests that the fuzzer keeps frames that reach new branches, and mutates them from then on."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvloop
from pybroker.broker.network.request import LaterReply
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.fuzzing.branch_map import BranchMap
from support.fuzzing.frames import ReadFrame, build_frame
from support.fuzzing.fuzzer import Fuzzer, Lane
from support.fuzzing.mutation import Mutant
from support.fuzzing.traced_broker import steer
from support.processes.broker_process import BrokerProcess

GOLDEN = Path(__file__).resolve().parents[1] / "reference" / "golden"
NEW, KNOWN = b"reached something new", b"reached nothing new"
KEPT = 500
DRAWN = 10_000
"""Enough draws that each of the ``KEPT`` seeds is drawn about fifty times."""


def mutant_named(name: bytes, correlation_id: int) -> Mutant:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name.decode())], allow_auto_topic_creation=False)
    data = build_frame(request, 9, correlation_id)
    return Mutant(ReadFrame.read(data), "", len(data))


def drawn_of(fuzzer: Fuzzer, name: bytes) -> int:
    """The drawn frames that were mutated from the frame with this name."""
    return sum(name in mutant.frame.data for mutant in fuzzer.draw(DRAWN))


@contextmanager
def fuzzer_at_rest(directory: Path) -> Iterator[tuple[Fuzzer, BranchMap]]:
    """A fuzzer whose broker reports nothing by itself; the test reports reached branches."""
    path = directory / "branches"
    reached = BranchMap.create(path)
    with BrokerProcess(directory / "broker") as broker:
        fuzzer = Fuzzer(broker, reached, GOLDEN, 1, directory / "failures")
        yield fuzzer, BranchMap(path)
        fuzzer.close()
    reached.close()


async def send(fuzzer: Fuzzer, *mutants: Mutant) -> None:
    lane = Lane(fuzzer.port)
    await fuzzer.round([lane], list(mutants))
    lane.close()


def test_only_mutants_that_reach_new_branches_are_drawn_again(tmp_path: Path) -> None:
    with fuzzer_at_rest(tmp_path) as (fuzzer, broker_side):
        assert drawn_of(fuzzer, NEW) == 0
        for number in range(KEPT):
            broker_side.note(branches=100 + number, correlation_id=2 + number)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            kept = [mutant_named(NEW, 2 + number) for number in range(KEPT)]
            runner.run(send(fuzzer, mutant_named(KNOWN, 1), *kept))
        assert fuzzer.complaints == {}
        assert fuzzer.frames_kept == KEPT
        assert drawn_of(fuzzer, NEW) > 0
        assert drawn_of(fuzzer, KNOWN) == 0
        broker_side.close()


@pytest.mark.parametrize("is_later", [False, True])
def test_request_is_noted_for_branches_that_its_response_reaches_at_once_or_later(
    is_later: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = BranchMap.create(tmp_path / "branches")
    tracer: Any = SimpleNamespace(branches=0)

    def answer() -> Any:
        tracer.branches = 5
        return [b"answer"]

    def dispatch(self: Dispatcher, request: Any) -> Any:
        return LaterReply(request.future, answer) if is_later else answer()

    monkeypatch.setattr(Dispatcher, "__call__", dispatch)
    steer(tracer, reached)
    request: Any = SimpleNamespace(correlation_id=7, future=None)
    reply = Dispatcher({})(request)
    if isinstance(reply, LaterReply):
        assert reached.new_correlation_ids() == set()
        assert reply.settle() == [b"answer"]
    assert reached.new_correlation_ids() == {7}
    reached.close()
