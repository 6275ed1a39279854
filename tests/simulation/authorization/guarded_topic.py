"""A client that denies writing to a topic and allows it again, and checks that each broker obeys what it has said."""

import asyncio
from enum import Enum
from itertools import cycle, product

from pybroker.base.acls import EVERY_HOST, EVERY_PRINCIPAL, AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pybroker.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient

__all__ = ["GUARDED", "GuardedTopic"]

GUARDED = "guarded"
_PRINCIPAL = "User:ANONYMOUS"
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
WRITE, ALL = AclOperation.WRITE, AclOperation.ALL
_NAMES = {LITERAL: GUARDED, PREFIXED: GUARDED[:5]}
Denial = tuple[PatternType, str, AclOperation]
_VERSION = 3
_TIMEOUT_S = 5.0
_MOST_TRIES = 200


class Rule(Enum):
    DENIED = "denied"
    ALLOWED = "allowed"


class GuardedTopic:
    """Everyone may write to the topic unless a denial is there. A broker that has answered a change of the ACLs knows
    it, also after a restart; other brokers follow.

    A request without a response may take effect at any later time. Therefore successive denials are different ACLs,
    and a permission deletes exactly the denials before it: no earlier request ends a denial that a broker knows.
    """

    def __init__(self, client: ClusterClient, brokers: list[int]) -> None:
        self._client = client
        self._brokers = brokers
        self._knowing: set[int] = set()
        self._rule = Rule.ALLOWED
        self._denials = cycle(product((LITERAL, PREFIXED), (EVERY_PRINCIPAL, _PRINCIPAL), (ALL, WRITE)))
        self._denial = next(self._denials)
        self._earlier: set[Denial] = set()
        self._may_be_denied_again = False
        self._is_over = False

    def stop(self) -> None:
        self._is_over = True

    async def run(self) -> None:
        random = self._client.random
        while not self._is_over:
            await self._change(Rule.DENIED if self._rule is Rule.ALLOWED else Rule.ALLOWED)
            for _ in range(random.randint(2, 12)):
                await self._probe(random.choice([*self._brokers, *self._knowing]))
                await asyncio.sleep(random.uniform(0, 0.3))

    async def every_broker_obeys(self) -> None:
        """Once all faults are over: each broker obeys a last denial and a last permission."""
        self._is_over = False
        for rule in (Rule.DENIED, Rule.ALLOWED):
            await self._change(rule)
            for broker_id in self._brokers:
                await self._until_it_obeys(broker_id)

    async def _until_it_obeys(self, broker_id: int) -> None:
        for _ in range(_MOST_TRIES):
            code = await self._produce(broker_id)
            if code is not None and self._is_obeyed_by(code):
                return
            await self._client.refresh(GUARDED)
            await self._client.back_off()
        self._violated(f"broker {broker_id} never obeys: {self._rule.value}")

    def _is_obeyed_by(self, code: int) -> bool:
        return (code == ErrorCode.TOPIC_AUTHORIZATION_FAILED) is (self._rule is Rule.DENIED)

    async def _change(self, rule: Rule) -> None:
        """Change the ACLs at one broker after another until one has done it."""
        self._knowing.clear()  # from here on any broker may obey either rule
        self._rule = rule
        if rule is Rule.DENIED:
            self._denial = next(self._denials)
            self._earlier.add(self._denial)
        while not self._is_over:
            broker_id = self._client.random.choice(self._brokers)
            try:
                code = await (self._deny(broker_id) if rule is Rule.DENIED else self._allow(broker_id))
            except UnansweredError:
                code = None
                self._may_be_denied_again |= rule is Rule.DENIED
            self._client.note(f"{rule.value} at {broker_id}: {None if code is None else ErrorCode(code).name}")
            if code == ErrorCode.NONE:
                self._knowing.add(broker_id)
                return
            await self._client.refresh(GUARDED)
            await self._client.back_off()

    async def _deny(self, broker_id: int) -> int:
        pattern_type, principal, operation = self._denial
        denial = AclCreation(
            resource_type=AclResourceType.TOPIC,
            resource_name=_NAMES[pattern_type],
            resource_pattern_type=pattern_type,
            principal=principal,
            host=EVERY_HOST,
            operation=operation,
            permission_type=AclPermission.DENY,
        )
        answer = await self._client.ask(broker_id, CreateAclsRequest(creations=[denial]), _VERSION, _TIMEOUT_S)
        return int(answer.results[0].error_code)

    async def _allow(self, broker_id: int) -> int:
        filters = [
            DeleteAclsFilter(
                resource_type_filter=AclResourceType.TOPIC,
                resource_name_filter=_NAMES[pattern_type],
                pattern_type_filter=pattern_type,
                principal_filter=principal,
                host_filter=EVERY_HOST,
                operation=operation,
                permission_type=AclPermission.DENY,
            )
            for pattern_type, principal, operation in sorted(self._earlier)
        ]
        answer = await self._client.ask(broker_id, DeleteAclsRequest(filters=filters), _VERSION, _TIMEOUT_S)
        codes = [
            code
            for result in answer.filter_results
            for code in (result.error_code, *(acl.error_code for acl in result.matching_acls))
        ]
        return int(next(filter(None, codes), 0))

    async def _probe(self, broker_id: int) -> None:
        is_known = broker_id in self._knowing
        code = await self._produce(broker_id)
        if code is None:
            return
        self._client.history.counts[f"guarded: {self._rule.value}, {'known' if is_known else 'perhaps known'}"] += 1
        is_certain = is_known and (self._rule is Rule.DENIED or not self._may_be_denied_again)
        if is_certain and not self._is_obeyed_by(code):
            self._violated(f"broker {broker_id} knows: {self._rule.value}, and answers {ErrorCode(code).name}")

    async def _produce(self, broker_id: int) -> int | None:
        """The error code of one record sent to the broker; None without a response."""
        batch = build_batch([Record(0, 1_700_000_000_000, b"key", b"guarded")])
        partition = PartitionProduceData(index=0, records=batch)
        request = ProduceRequest(
            acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(name=GUARDED, partition_data=[partition])]
        )
        try:
            answer = await self._client.ask(broker_id, request, 9, _TIMEOUT_S)
        except UnansweredError:
            return None
        return int(answer.responses[0].partition_responses[0].error_code)

    def _violated(self, what: str) -> None:
        self._client.note(what)
        self._client.history.violations.append(what)
