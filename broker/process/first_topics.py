"""Topics that a broker creates when it starts, unless they exist: those of the variable ``KAFKA_CREATE_TOPICS``.

The broker's own handler of CreateTopics does it before the broker says that it is ready. The controller creates topics,
so in a cluster each broker gets the same topics, and all but the controller leave them to it.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from ...protocol.apis import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from ..network.listener import Listeners
from ..network.request import ConnectionInfo
from ..requests.context import RequestContext
from ..requests.dispatch import Dispatcher
from ..server import BrokerServer

__all__ = ["FirstTopics"]

logger = logging.getLogger(__name__)

_VERSION = 7
_TIMEOUT_MS = 30_000
_MS_PER_S = 1000
_CLIENT_ID = "pybroker-first-topics"
_LEFT_ALONE = frozenset({ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.NOT_CONTROLLER})


class FirstTopics:
    """For one start of ``broker``; made before it starts."""

    def __init__(self, broker: BrokerServer, topics: Sequence[CreatableTopic]) -> None:
        self._topics = list(topics)
        self._listeners: Listeners | None = None
        self._next = broker.listeners_made
        broker.listeners_made = self._note

    def _note(self, listeners: Listeners, topic_name: Callable[[UUID], str | None]) -> None:
        self._listeners = listeners
        self._next(listeners, topic_name)

    async def create(self) -> None:
        """Returns when the topics have leaders. Logs why a topic was not created."""
        assert self._listeners is not None, "the broker has not started"
        dispatcher = self._listeners.handler
        assert isinstance(dispatcher, Dispatcher)
        address = ConnectionInfo.of_this_broker(next(iter(self._listeners.counters)))
        context = RequestContext(_VERSION, 0, _CLIENT_ID, address, int(time.time() * _MS_PER_S))
        request = CreateTopicsRequest(topics=self._topics, timeout_ms=_TIMEOUT_MS)
        answered = dispatcher.handlers[ApiKey.CREATE_TOPICS](context, request)
        response = await answered if isinstance(answered, Awaitable) else answered
        assert isinstance(response, CreateTopicsResponse)
        for result in response.topics:
            code = ErrorCode(result.error_code)
            if code not in _LEFT_ALONE:
                why = result.error_message or code.name
                logger.warning("topic %s of KAFKA_CREATE_TOPICS not created: %s", result.name, why)
