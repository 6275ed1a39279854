"""Creates topics on demand, when a client asks for a missing one (Kafka's AutoTopicCreationManager).

**How.** The creation runs in a task. A request waits for it only briefly, because everything behind the request on
its connection waits too; then the client is told to ask again. While a creation takes longer, no other request waits.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol

from ...base.frozen import frozen
from ...base.quiet_lines import QUIET
from ...base.shared_work import PATIENCE_MS
from ...config.config import Config
from ...protocol.errors import ErrorCode, KafkaError, LeaderNotAvailableError
from ..tree.metadata_store import MetadataStoreError
from .internal_topics import auto_created_topic
from .permit import Permit, permit_all
from .topic_admin import USE_DEFAULT, NewTopic
from .topic_names import is_legal_topic_name

__all__ = ["AutoTopicCreation", "CreationResult", "TopicCreator"]

logger = logging.getLogger(__name__)

_MAX_IN_FLIGHT = 10_000


class TopicCreator(Protocol):
    """`TopicAdmin`, or a client of the controller that does the same."""

    async def create_all(self, topics: Sequence[NewTopic]) -> Mapping[str, KafkaError | None]:
        """Create ``topics``; returns by topic why it was not created, or None. Raises KafkaError for all of them."""
        ...


@frozen
class CreationResult:
    """The result of a request's attempt to create a topic.

    Attributes:
        code: the error for the client, never NONE. LEADER_NOT_AVAILABLE: the client asks again.
        is_expected: the topic was created, or is being created. False: nothing happens until a client asks again.
    """

    code: ErrorCode
    is_expected: bool = False


_EXPECTED = CreationResult(ErrorCode.LEADER_NOT_AVAILABLE, is_expected=True)
_LATER = CreationResult(ErrorCode.LEADER_NOT_AVAILABLE)
"""The creation has not begun, or was cancelled."""


class AutoTopicCreation:
    """Has the controller write missing topics into the tree; the client asks again until they exist.

    ``patience_ms``: how long a request waits for the creation of its topics.
    """

    def __init__(self, creator: TopicCreator, config: Config, patience_ms: int = PATIENCE_MS) -> None:
        self._creator = creator
        self._config = config
        self._patience_s = patience_ms / 1000
        self._in_flight: dict[str, _Creation] = {}
        """The creations under way by topic, oldest first."""

    @property
    def deadline(self) -> float:
        """Until when a request that comes now waits for a creation, in the loop's time."""
        oldest = next(iter(self._in_flight.values()), None)
        return asyncio.get_running_loop().time() + self._patience_s if oldest is None else oldest.deadline

    async def create(self, names: Iterable[str], permit: Permit = permit_all) -> dict[str, CreationResult]:
        """Create the topics unless they are being created; returns the results by topic name.

        ``permit`` counts the partitions that were created; an error of it is an error of the creation.
        """
        names = list(dict.fromkeys(names))
        self._begin([name for name in names if is_legal_topic_name(name) and name not in self._in_flight], permit)
        creations = {name: self._in_flight[name] for name in names if name in self._in_flight}
        tasks = {creation.task for creation in creations.values()}
        if tasks:
            await asyncio.wait(tasks, timeout=max(self.deadline - asyncio.get_running_loop().time(), 0))
        return {name: creations[name].result(name) if name in creations else _not_begun(name) for name in names}

    def _begin(self, names: Sequence[str], permit: Permit) -> None:
        begun = list(islice(names, _MAX_IN_FLIGHT - len(self._in_flight)))
        if begun:
            task = asyncio.get_running_loop().create_task(self._create(begun, permit), name="topic-creation")
            self._in_flight |= dict.fromkeys(begun, _Creation(task, self.deadline))

    def kill(self) -> None:
        """Cancel the creations under way."""
        for task in self._tasks():
            task.cancel()

    async def stop(self) -> None:
        """`kill`, then wait until the creations have ended."""
        self.kill()
        await asyncio.gather(*self._tasks(), return_exceptions=True)

    def _tasks(self) -> "set[_CreationTask]":
        return {creation.task for creation in self._in_flight.values()}

    async def _create(self, names: Sequence[str], permit: Permit) -> dict[str, CreationResult]:
        topics = [auto_created_topic(name, self._config) for name in names]
        try:
            results = await self._creator.create_all(topics)
            permit(sum(self._partitions(topic) for topic in topics if results.get(topic.name) is None))
        except KafkaError as error:
            results = dict.fromkeys(names, error)
        except MetadataStoreError as error:
            results = dict.fromkeys(names, LeaderNotAvailableError(f"the metadata store is out of reach: {error}"))
        finally:
            for name in names:
                del self._in_flight[name]
        return {name: _result(name, results.get(name)) for name in names}

    def _partitions(self, topic: NewTopic) -> int:
        count = topic.partition_count
        return self._config.int("num.partitions") if count == USE_DEFAULT else count


_CreationTask = asyncio.Task[dict[str, CreationResult]]


@frozen
class _Creation:
    """``deadline``: until when requests wait for it, in the loop's time."""

    task: _CreationTask
    deadline: float

    def result(self, name: str) -> CreationResult:
        if not self.task.done():
            return _EXPECTED
        return _LATER if self.task.cancelled() else self.task.result()[name]


def _not_begun(name: str) -> CreationResult:
    return _LATER if is_legal_topic_name(name) else CreationResult(ErrorCode.INVALID_TOPIC_EXCEPTION)


def _result(name: str, error: KafkaError | None) -> CreationResult:
    if error is None or error.code is ErrorCode.TOPIC_ALREADY_EXISTS:
        return _EXPECTED
    logger.info("topic %s could not be created on demand: %s", name, error, extra=QUIET)
    return CreationResult(ErrorCode(error.code))
