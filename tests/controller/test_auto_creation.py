"""Topics that clients ask for are created in the background: no request waits long for the controller."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from pybroker.base.shared_work import PATIENCE_MS
from pybroker.config.load import load_config
from pybroker.controller.topics import auto_creation
from pybroker.controller.topics.auto_creation import AutoTopicCreation, CreationResult
from pybroker.controller.topics.topic_admin import NewTopic
from pybroker.controller.tree.metadata_store import ConnectionLossError
from pybroker.protocol.errors import ErrorCode, InvalidReplicationFactorError, KafkaError, LeaderNotAvailableError
from simulation.machines.virtual_loop import VirtualLoop

SOON = CreationResult(ErrorCode.LEADER_NOT_AVAILABLE, is_expected=True)
"""The topic was created, or is being created: the client asks again."""
FAILED = CreationResult(ErrorCode.LEADER_NOT_AVAILABLE, is_expected=False)
"""The client asks again, but the topic does not appear before."""


class Controller:
    """Answers each request when `answers` is set."""

    def __init__(self, patience_ms: int = PATIENCE_MS) -> None:
        self.asked: list[list[str]] = []
        self.answers = asyncio.Event()
        self.refusal: Exception | None = None
        self.errors: dict[str, KafkaError] = {}
        self.creation = AutoTopicCreation(self, load_config(""), patience_ms)

    async def create_all(self, topics: Sequence[NewTopic]) -> Mapping[str, KafkaError | None]:
        self.asked.append([topic.name for topic in topics])
        await self.answers.wait()
        if self.refusal is not None:
            raise self.refusal
        return {topic.name: self.errors.get(topic.name) for topic in topics}


async def settled(task: "asyncio.Task[dict[str, CreationResult]]") -> bool:
    """Whether the request is answered without any wait."""
    for _ in range(5):
        await asyncio.sleep(0)
    return task.done()


async def test_controller_is_asked_once_for_all_topics_of_a_request() -> None:
    controller = Controller()
    controller.errors["b"] = InvalidReplicationFactorError("too few brokers")
    controller.answers.set()
    assert await controller.creation.create(["a", "b", "x y", "c", "a"]) == {
        "a": SOON,
        "b": CreationResult(ErrorCode.INVALID_REPLICATION_FACTOR),
        "x y": CreationResult(ErrorCode.INVALID_TOPIC_EXCEPTION),
        "c": SOON,
    }
    assert controller.asked == [["a", "b", "c"]]


async def test_request_is_answered_although_the_controller_does_not_answer() -> None:
    controller = Controller()
    assert await controller.creation.create(["a", "b"]) == {"a": SOON, "b": SOON}
    assert not controller.answers.is_set()
    await controller.creation.stop()


def test_request_waits_a_tenth_of_a_second_for_a_controller_that_does_not_answer() -> None:
    async def waited() -> float:
        controller, loop = Controller(), asyncio.get_running_loop()
        await controller.creation.create(["a", "b"])
        await controller.creation.create(["c"])
        waited_s = loop.time()
        await controller.creation.stop()
        return waited_s

    loop = VirtualLoop()
    assert loop.run_until_complete(waited()) == pytest.approx(0.1)
    loop.close()


async def test_patient_request_waits_until_its_topic_is_created() -> None:
    """As on a single broker."""
    controller = Controller(patience_ms=3_600_000)
    request = asyncio.create_task(controller.creation.create(["a"]))
    assert not await settled(request)
    controller.answers.set()
    assert await request == {"a": SOON}


async def test_topic_that_is_being_created_is_not_created_again_and_not_waited_for() -> None:
    controller = Controller()
    await controller.creation.create(["a"])
    again = asyncio.create_task(controller.creation.create(["a"]))
    assert await settled(again)
    assert again.result() == {"a": SOON}
    assert controller.asked == [["a"]]
    await controller.creation.stop()


async def test_request_for_another_topic_does_not_wait_while_a_creation_takes_long() -> None:
    controller = Controller()
    await controller.creation.create(["a"])
    other = asyncio.create_task(controller.creation.create(["b"]))
    assert await settled(other)
    assert other.result() == {"b": SOON}
    assert controller.asked == [["a"], ["b"]]
    await controller.creation.stop()


async def test_topic_can_be_requested_again_after_its_creation_failed() -> None:
    controller = Controller()
    controller.answers.set()
    for refusal in (LeaderNotAvailableError("no controller"), ConnectionLossError("/a")):
        controller.refusal = refusal
        assert await controller.creation.create(["a"]) == {"a": FAILED}
    assert controller.asked == [["a"], ["a"]]


async def test_all_requests_for_a_topic_learn_that_its_creation_failed() -> None:
    controller = Controller(patience_ms=3_600_000)
    controller.refusal = ConnectionLossError("/a")
    requests = [asyncio.create_task(controller.creation.create(["a"])) for _ in range(2)]
    assert not await settled(requests[1])
    controller.answers.set()
    assert await asyncio.gather(*requests) == [{"a": FAILED}] * 2
    assert controller.asked == [["a"]]


async def test_topic_beyond_the_most_creations_at_once_is_not_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_creation, "_MAX_IN_FLIGHT", 1)
    controller = Controller()
    assert await controller.creation.create(["a", "b"]) == {"a": SOON, "b": FAILED}
    assert controller.asked == [["a"]]
    await controller.creation.stop()


async def test_creation_goes_on_when_its_client_has_gone() -> None:
    controller = Controller()
    request = asyncio.create_task(controller.creation.create(["a"]))
    assert not await settled(request)
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    assert await controller.creation.create(["a"]) == {"a": SOON}
    controller.answers.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert await controller.creation.create(["a"]) == {"a": SOON}
    assert controller.asked == [["a"], ["a"]]


async def test_stop_ends_creations_under_way() -> None:
    controller = Controller()
    request = asyncio.create_task(controller.creation.create(["a"]))
    assert not await settled(request)
    await controller.creation.stop()
    assert await request == {"a": FAILED}
