"""Topics that clients ask for are requested from the controller."""

from typing import Any

import pytest
from pybroker.broker.inter_broker.controller_client import TopicCreationClient
from pybroker.config.load import load_config
from pybroker.controller.topics.topic_admin import NewTopic, TopicAdmin
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode, LeaderNotAvailableError
from pybroker.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse


class Controller:
    """Answers with `codes` by topic, or with `failure`."""

    def __init__(self) -> None:
        self.asked: list[CreateTopicsRequest] = []
        self.codes: dict[str, ErrorCode] = {}
        self.failure: Exception | None = None

    async def ask(self, request: Message, version: int, *, give_up_after_ms: int | None = None) -> Any:
        assert isinstance(request, CreateTopicsRequest)
        self.asked.append(request)
        if self.failure is not None:
            raise self.failure
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(name=topic.name, error_code=self.codes.get(topic.name, ErrorCode.NONE))
                for topic in request.topics
            ]
        )


def client(controller: Controller) -> TopicCreationClient:
    config = load_config("num.partitions=3\ndefault.replication.factor=2")
    nobody: Any = None
    admin: TopicAdmin = nobody
    return TopicCreationClient(controller, 7, admin, lambda: False, lambda: config)


def codes(results: Any) -> dict[str, ErrorCode | None]:
    return {name: None if error is None else error.code for name, error in results.items()}


async def test_controller_is_asked_for_several_topics_in_one_request_that_does_not_wait_for_leaders() -> None:
    controller = Controller()
    controller.codes = {
        "a": ErrorCode.REQUEST_TIMED_OUT,  # it exists, but has no leaders yet
        "b": ErrorCode.INVALID_REPLICATION_FACTOR,
        "c": ErrorCode.NOT_CONTROLLER,
    }
    results = await client(controller).create_all([NewTopic(name) for name in "abcd"])
    assert codes(results) == {
        "a": None,
        "b": ErrorCode.INVALID_REPLICATION_FACTOR,
        "c": ErrorCode.LEADER_NOT_AVAILABLE,
        "d": None,
    }
    (request,) = controller.asked
    assert request.timeout_ms == 0
    assert [(topic.num_partitions, topic.replication_factor) for topic in request.topics] == [(3, 2)] * 4


async def test_very_many_topics_are_requested_in_parts() -> None:
    controller = Controller()
    names = [f"t{number}" for number in range(250)]
    results = await client(controller).create_all([NewTopic(name) for name in names])
    assert codes(results) == dict.fromkeys(names)
    assert [topic.name for request in controller.asked for topic in request.topics] == names
    assert len(controller.asked) > 1


@pytest.mark.parametrize("failure", [ConnectionError("refused"), TimeoutError("late")])
async def test_missing_controller_is_an_error_on_which_clients_ask_again(failure: Exception) -> None:
    controller = Controller()
    controller.failure = failure
    with pytest.raises(LeaderNotAvailableError):
        await client(controller).create_all([NewTopic("a")])
