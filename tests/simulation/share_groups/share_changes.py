"""Changes by administrators of a share group: its settings while it runs, and its offsets while nobody is a member."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import alter_share_group_offsets as altering
from pybroker.protocol.messages import delete_share_group_offsets as deleting
from simulation.checkers.history import Place
from simulation.clients.admin import Admin
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.share_groups.delivery_history import DeliveryHistory
from simulation.share_groups.share_life import ShareLife
from simulation.transactions.coordinator_link import GROUP, CoordinatorLink

__all__ = ["HEARTBEAT", "LOCK", "OffsetChanges", "SettingChanges"]

LOCK, HEARTBEAT = "share.record.lock.duration.ms", "share.heartbeat.interval.ms"
_VALUES = (
    (LOCK, ("1000", "1500", "2000")),
    (HEARTBEAT, ("500", "700")),
    ("share.session.timeout.ms", ("3000", "4000")),
)
_PAUSES_S = (0.5, 1.0, 2.0)
_BETWEEN_S = (1.0, 3.0)
_RETRY_S = 0.5
_ATTEMPTS = 40


class SettingChanges:
    """Sets one setting of the group after another."""

    def __init__(self, admin: Admin, group_id: str, random: Random) -> None:
        self.client = admin.client
        self._admin = admin
        self._group_id = group_id
        self._random = random
        self._is_over = False
        self.known: dict[str, str] = {}
        """The values that were set."""

    def stop(self) -> None:
        """Begin no more changes."""
        self._is_over = True

    async def run(self) -> None:
        """Change settings until stopped, each until the change is accepted."""
        while not self._is_over:
            name, values = self._random.choice(_VALUES)
            value = self._random.choice(values)
            while not await self._admin.set_group_config(self._group_id, name, value):
                await self._admin.client.back_off()
            self.known[name] = value
            await asyncio.sleep(self._random.choice(_PAUSES_S))


class OffsetChanges:
    """Sends all members away, then alters or deletes offsets, and lets the members come back.

    ``end_of``: the offset up to which a partition is committed.
    """

    def __init__(
        self,
        client: ClusterClient,
        group_id: str,
        lives: Sequence[ShareLife],
        topics: Mapping[str, int],
        end_of: Callable[[Place], int],
        history: DeliveryHistory,
    ) -> None:
        self.client = self._client = client
        self._group_id = group_id
        self._lives = lives
        self._topics = topics
        self._end_of = end_of
        self._history = history
        self._link = CoordinatorLink(client, group_id, GROUP, lambda: False)
        self._is_over = False

    def stop(self) -> None:
        """Begin no more changes."""
        self._is_over = True

    async def run(self) -> None:
        """Change offsets until stopped."""
        random = self._client.random
        while await self._is_due():
            for life in self._lives:
                life.send_away()
            await asyncio.gather(*(life.gone.wait() for life in self._lives))
            topic = random.choice(list(self._topics))
            await (self._alter(topic) if random.random() < 0.5 else self._delete(topic))
            for life in self._lives:
                life.let_back()

    async def _is_due(self) -> bool:
        """Whether another change is to be made, after some time."""
        await asyncio.sleep(self._client.random.uniform(*_BETWEEN_S))
        return not self._is_over

    async def _alter(self, topic: str) -> None:
        places = [(topic, number) for number in range(self._topics[topic])]
        offsets = {place: self._client.random.randint(0, self._end_of(place)) for place in places}
        partitions = [
            altering.AlterShareGroupOffsetsRequestPartition(partition_index=place[1], start_offset=offset)
            for place, offset in offsets.items()
        ]
        asked = altering.AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=partitions)

        def take(answer: Any) -> bool:
            results = {(topic, each.partition_index): each.error_code for each in answer.responses[0].partitions}
            for place, code in results.items():
                if code:
                    self._history.in_doubt.add(place)
                else:
                    self._history.begin_anew(place, offsets[place])
            return not any(results.values())

        request = altering.AlterShareGroupOffsetsRequest(group_id=self._group_id, topics=[asked])
        await self._ask(f"alter {offsets}", request, places, take)

    async def _delete(self, topic: str) -> None:
        places = [(topic, number) for number in range(self._topics[topic])]

        def take(answer: Any) -> bool:
            code = ErrorCode(answer.responses[0].error_code)
            is_done = code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)  # then there is no state
            for place in places:
                if is_done:
                    self._history.begin_anew(place, None)
                else:
                    self._history.in_doubt.add(place)
            return is_done

        asked = deleting.DeleteShareGroupOffsetsRequestTopic(topic_name=topic)
        request = deleting.DeleteShareGroupOffsetsRequest(group_id=self._group_id, topics=[asked])
        await self._ask(f"delete {topic}", request, places, take)

    async def _ask(self, what: str, request: Message, places: Sequence[Place], take: Callable[[Any], bool]) -> None:
        """Ask until all is done: ``take`` returns that. A request that is refused as a whole has no effect."""
        for _ in range(_ATTEMPTS):
            try:
                answer = await self._link.ask_once(request, 0)
                code = ErrorCode(answer.error_code)
                self._count(what, code.name)
                if code is ErrorCode.NONE and take(answer):
                    return
                if code is ErrorCode.GROUP_ID_NOT_FOUND:  # it has not begun
                    return
                self._link.forget()
            except UnansweredError:
                self._count(what, "no answer")
                self._history.in_doubt.update(places)
            await asyncio.sleep(_RETRY_S)

    def _count(self, what: str, result: str) -> None:
        self._client.note(f"{what}: {result}")
        self._client.history.counts[f"share group: offsets: {what.split()[0]}: {result}"] += 1
