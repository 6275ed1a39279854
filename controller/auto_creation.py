"""Creates topics on demand, when a client asks for a missing one (Kafka's AutoTopicCreationManager).

**How.** The creation runs in a task. A request waits for it only briefly, because everything behind the request on
its connection waits too; then the client is told to ask again. While a creation takes longer, no other request waits.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol

from ..base.quiet_lines import QUIET
from ..base.shared_work import PATIENCE_MS
from ..config.config import Config
from ..protocol.errors import ErrorCode, KafkaError, LeaderNotAvailableError
from .internal_topics import auto_created_topic
from .topic_admin import NewTopic
from .topic_names import is_legal_topic_name
from .tree.metadata_store import MetadataStoreError

__all__ = ["AutoTopicCreation", "TopicCreator"]

logger = logging.getLogger(__name__)

_MAX_IN_FLIGHT = 10_000


class TopicCreator(Protocol):
    """`TopicAdmin`, or a client of the controller that does the same."""

    async def create_all(self, topics: Sequence[NewTopic]) -> Mapping[str, KafkaError | None]:
        """Create ``topics``; returns by topic why it was not created, or None. Raises KafkaError for all of them."""
        ...


class AutoTopicCreation:
    """Has the controller write missing topics into the tree; the client asks again until they exist.

    ``patience_ms``: how long a request waits for the creation of its topics.
    """

    def __init__(self, creator: TopicCreator, config: Config, patience_ms: int = PATIENCE_MS) -> None:
        self._creator = creator
        self._config = config
        self._patience_s = patience_ms / 1000
        self._in_flight: dict[str, float] = {}
        """Topics that are being created, oldest first: until when requests wait for it, in the loop's time."""
        self._tasks: set[asyncio.Task[dict[str, ErrorCode]]] = set()

    @property
    def deadline(self) -> float:
        """Until when a request that comes now waits for a creation, in the loop's time."""
        return next(iter(self._in_flight.values()), asyncio.get_running_loop().time() + self._patience_s)

    async def create(self, names: Iterable[str]) -> dict[str, ErrorCode]:
        """The error for the client by topic name: LEADER_NOT_AVAILABLE when the topic was created or is being created,
        or why it cannot be created."""
        answers = {
            name: ErrorCode.LEADER_NOT_AVAILABLE if is_legal_topic_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
            for name in names
        }
        missing = (
            name
            for name, code in answers.items()
            if code is ErrorCode.LEADER_NOT_AVAILABLE and name not in self._in_flight
        )
        begun = list(islice(missing, _MAX_IN_FLIGHT - len(self._in_flight)))
        if begun:
            deadline, loop = self.deadline, asyncio.get_running_loop()
            self._in_flight |= dict.fromkeys(begun, deadline)
            creation = loop.create_task(self._create(begun), name="topic-creation")
            self._tasks.add(creation)
            creation.add_done_callback(self._ended)
            await asyncio.wait([creation], timeout=max(deadline - loop.time(), 0))
            if creation.done() and not creation.cancelled():
                answers |= creation.result()
        return answers

    def kill(self) -> None:
        """Cancel the creations under way."""
        for creation in self._tasks:
            creation.cancel()

    async def stop(self) -> None:
        """`kill`, then wait until the creations have ended."""
        self.kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _create(self, names: Sequence[str]) -> dict[str, ErrorCode]:
        try:
            results = await self._creator.create_all([auto_created_topic(name, self._config) for name in names])
        except KafkaError as error:
            results = dict.fromkeys(names, error)
        except MetadataStoreError as error:
            results = dict.fromkeys(names, LeaderNotAvailableError(f"the metadata store is out of reach: {error}"))
        finally:
            for name in names:
                del self._in_flight[name]
        return {name: _code(name, results.get(name)) for name in names}

    def _ended(self, creation: asyncio.Task[dict[str, ErrorCode]]) -> None:
        self._tasks.discard(creation)


def _code(name: str, error: KafkaError | None) -> ErrorCode:
    if error is None or error.code is ErrorCode.TOPIC_ALREADY_EXISTS:
        return ErrorCode.LEADER_NOT_AVAILABLE
    logger.info("topic %s could not be created on demand: %s", name, error, extra=QUIET)
    return ErrorCode(error.code)
