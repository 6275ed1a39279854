"""The share session of a member with one broker: fetches records, and says what became of them (KIP-932)."""

from collections.abc import Sequence

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import share_fetch
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.share_requests import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    Habits,
    Held,
    Said,
    SharedPartition,
    acknowledge_request,
    add_forgotten,
    fetch_request,
    offsets_in,
)
from simulation.share_groups.delivery_history import Delivery, DeliveryHistory, Heard

__all__ = ["ShareSession"]

_FINAL_EPOCH = -1
_OWN_REQUEST_SHARE = 0.3
"""The share of acknowledgements that do not ride on a fetch."""


class ShareSession:
    """``node_id``: of the broker. ``habits`` may change."""

    def __init__(
        self, client: ClusterClient, node_id: int, member_id: str, habits: Habits, history: DeliveryHistory
    ) -> None:
        self.habits = habits
        self._client = client
        self._node_id = node_id
        self._member_id = member_id
        self._history = history
        self.told_lock_ms = -1
        self._begin()

    def _begin(self) -> None:
        self._epoch = 0
        self._told: dict[SharedPartition, None] = {}
        self._held: Said = {}
        self._heard = Heard(f"broker-{self._node_id}")

    def begin_anew(self) -> None:
        """The next request opens a new session, in place of the old one if there is one."""
        self._begin()

    async def turn(self, wanted: Sequence[SharedPartition]) -> bool:
        """One request. Returns False when the client should look for the leaders again."""
        said = self._due() if self._epoch else {}
        renews = any(each.type_ == RENEW for held in said.values() for each in held.values())
        try:
            if said and (renews or self._client.random.random() < _OWN_REQUEST_SHARE):
                return await self._acknowledge(said, self._epoch, renews=renews)
            return await self._fetch(wanted, said)
        except UnansweredError:
            self._count("session", "no answer")
            self._begin()
            return False

    async def close(self) -> None:
        """End the session, with what is due."""
        if self._epoch:
            said = self._due(may_renew=False)
            try:
                await self._acknowledge(said, _FINAL_EPOCH, renews=False)
            except UnansweredError:
                self._count("session", "no answer to the last request")
        self._begin()

    def _due(self, *, may_renew: bool = True) -> Said:
        """The acknowledgements that are due; each is sent once."""
        now_s, said = self._client.loop.time(), Said()
        for partition, held in self._held.items():
            due = {offset: each for offset, each in held.items() if each.type_ is not None and each.due_s <= now_s}
            if due:
                said[partition] = dict(sorted(due.items()))
                for offset, each in due.items():
                    del held[offset]
                    each.delivery.spoken_s = now_s
                    each.type_ = ACCEPT if each.type_ == RENEW and not may_renew else each.type_
                    if each.type_ in (ACCEPT, REJECT):
                        self._history.finished[partition.place].add(offset)
        return said

    # -- requests

    async def _fetch(self, wanted: Sequence[SharedPartition], said: Said) -> bool:
        forgotten = [each for each in self._told if each not in wanted]
        named = [each for each in wanted if each not in self._told]
        request = fetch_request(self.habits, self._member_id, self._epoch, dict.fromkeys([*named, *said]), said)
        add_forgotten(request, forgotten)
        asked_s = self._client.loop.time()
        answer = await self._client.ask(self._node_id, request, self.habits.version)
        if not self._accepted("fetch", answer.error_code, asked_s):
            return False
        self.told_lock_ms = answer.acquisition_lock_timeout_ms
        self._told = dict.fromkeys([*wanted, *(each for each in said if each not in forgotten)])
        known = {(each.topic_id, each.place[1]): each for each in (*wanted, *said)}
        is_current = True
        for topic in answer.responses:
            for data in topic.partitions:
                partition = known[topic.topic_id, data.partition_index]
                if partition in said:
                    self._answered(partition, said[partition], ErrorCode(data.acknowledge_error_code))
                is_current = self._take(partition, data, asked_s) and is_current
        return is_current

    async def _acknowledge(self, said: Said, epoch: int, *, renews: bool) -> bool:
        request = acknowledge_request(self.habits, self._member_id, epoch, said, renews=renews)
        asked_s = self._client.loop.time()
        answer = await self._client.ask(self._node_id, request, self.habits.version)
        if not self._accepted("acknowledge", answer.error_code, asked_s):
            return False
        known = {(each.topic_id, each.place[1]): each for each in said}
        for topic in answer.responses:
            for data in topic.partitions:
                partition = known[topic.topic_id, data.partition_index]
                self._answered(partition, said[partition], ErrorCode(data.error_code))
        return True

    # -- responses

    def _accepted(self, what: str, error_code: int, asked_s: float) -> bool:
        self._count(what, ErrorCode(error_code).name)
        if error_code:
            self._begin()
            return False
        self._heard.proven_s = asked_s
        self._epoch += 1
        return True

    def _answered(self, partition: SharedPartition, said: dict[int, Held], code: ErrorCode) -> None:
        """The response to the acknowledgements of a partition has come."""
        self._count("acknowledged", code.name)
        now_s, place, history = self._client.loop.time(), partition.place, self._history
        if code in (ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST):
            history.refused(place, [held.delivery for held in said.values()], now_s)
        if code is not ErrorCode.NONE:
            return
        for offset, held in said.items():
            if held.type_ == RENEW:
                history.renewed(held.delivery, now_s)
                held.type_, held.due_s = ACCEPT, now_s + self._client.random.choice(self.habits.work_s)
                self._held.setdefault(partition, {})[offset] = held
            elif held.type_ == RELEASE:
                history.released(place, offset, now_s, held.delivery.count)
            else:
                history.done(place, offset, now_s)

    def _take(self, partition: SharedPartition, data: share_fetch.PartitionData, asked_s: float) -> bool:
        """Take the records of a partition. Returns False when the leader has to be found again."""
        if data.error_code:
            self._count("records", ErrorCode(data.error_code).name)
            self._held.pop(partition, None)
            return False
        found = set(offsets_in(data.records)) if data.acquired_records else set()
        now_s, random = self._client.loop.time(), self._client.random
        held = self._held.setdefault(partition, {})
        for acquired in data.acquired_records:
            due_s = now_s + random.choice(self.habits.work_s)
            type_ = self.habits.choice(random)
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                if offset not in found:
                    what = f"{partition.place}: {self._member_id} holds record {offset}, which it did not get"
                    self._client.history.violations.append(what)
                delivery = Delivery(self._member_id, self._heard, acquired.delivery_count, asked_s, now_s, asked_s)
                self._history.delivered(partition.place, offset, delivery)
                held[offset] = Held(delivery, type_, due_s)
        return True

    def _count(self, what: str, result: str) -> None:
        self._client.history.counts[f"share group: {what}: {result}"] += 1
