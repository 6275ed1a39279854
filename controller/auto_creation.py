"""Creates topics on demand, when a client asks for a missing one (Kafka's AutoTopicCreationManager)."""

import logging
from collections.abc import Iterable
from typing import Protocol

from ..base.quiet_lines import QUIET
from ..config.config import Config
from ..protocol.errors import ErrorCode, KafkaError
from .internal_topics import auto_created_topic
from .topic_admin import NewTopic
from .topic_names import is_legal_topic_name

__all__ = ["AutoTopicCreation"]

logger = logging.getLogger(__name__)


class TopicCreator(Protocol):
    """`TopicAdmin`, or a client of the controller that does the same."""

    async def create(self, topic: NewTopic) -> object: ...


class AutoTopicCreation:
    """Has the controller write missing topics into the tree; the client retries until they exist."""

    def __init__(self, admin: TopicCreator, config: Config) -> None:
        self._admin = admin
        self._config = config
        self._in_flight: set[str] = set()

    async def create(self, names: Iterable[str]) -> dict[str, ErrorCode]:
        """The error for the client by topic name: LEADER_NOT_AVAILABLE when the topic will exist soon,
        UNKNOWN_TOPIC_OR_PARTITION when it is already being created, or why it cannot be created."""
        answers: dict[str, ErrorCode] = {}
        for name in dict.fromkeys(names):
            if not is_legal_topic_name(name):
                answers[name] = ErrorCode.INVALID_TOPIC_EXCEPTION
            elif name in self._in_flight:
                answers[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                self._in_flight.add(name)
                try:
                    answers[name] = await self._create(name)
                finally:
                    self._in_flight.discard(name)
        return answers

    async def _create(self, name: str) -> ErrorCode:
        try:
            await self._admin.create(auto_created_topic(name, self._config))
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                logger.info("topic %s could not be created on demand: %s", name, error, extra=QUIET)
                return error.code
        return ErrorCode.LEADER_NOT_AVAILABLE
