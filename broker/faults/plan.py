"""Decides which faults fire on a request, and what is left of the request to carry out. No I/O.

For each item the first fault that matches wins, in the order in which the faults were set.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...protocol.apis import ApiKey
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.metadata import MetadataRequest
from .effects import Break, Corrupt, Delay, Fail, Hang, RefuseConnections, Throttle
from .error_answers import error_answer, has_code, is_itemised, merged
from .fault import Fault
from .request_items import TopicName, Wanted, split

__all__ = ["Plan", "needs_full_fetches", "plan_of"]

_CONSUMER = -1
_FIRST_WITH_REPLICA_STATE = 15
_FIRST_WITHOUT_ALL_BY_EMPTY = 1


@dataclass(slots=True)
class Plan:
    """``rest``: what is carried out; None: nothing. ``failed``: the response to the items that get an error.

    ``whole``: the effect on the rest. ``in_response``: faults that are looked for when the response is known.
    ``is_unanswerable``: the error cannot be told, because the client expects no response.
    """

    rest: Any
    failed: Any = None
    whole: Delay | Hang | Break | Throttle | None = None
    by: Fault | None = None
    """The fault with the effect ``whole``."""
    in_response: list[Fault] = field(default_factory=list)
    is_unanswerable: bool = False


def plan_of(faults: Sequence[Fault], key: ApiKey, version: int, request: Any, topic_name: TopicName) -> Plan:
    """``faults``: those that may match the API and the client, in their order. Each that fires is counted here, except
    those ``in_response``.
    """
    plan = Plan(request)
    is_of_follower = key is ApiKey.FETCH and _replica_of(request, version) > _CONSUMER
    for fault in faults:
        if is_of_follower and fault.target.client is None:
            continue  # a test of clients must not take followers out of the ISR
        if _is_for_response(fault, key, version, request):
            plan.in_response.append(fault)
            continue
        hit, rest = split(plan.rest, version, _wanted(fault, topic_name))
        if hit is None:
            continue
        match fault.effect:
            case Fail(code):
                _fail(plan, fault, code, key, version, hit, rest)
            case Delay() | Hang() | Break() | Throttle() as effect if plan.failed is None and fault.take():
                plan.whole, plan.by = effect, fault
                return plan
            case Corrupt() | RefuseConnections() | _:
                continue
        if plan.rest is None:
            return plan
    return plan


def needs_full_fetches(faults: Sequence[Fault]) -> bool:
    """Whether Fetch requests must name all their partitions: those of a session name only what has changed."""
    return any(isinstance(fault.effect, Fail) or fault.target.topic is not None for fault in faults)


def _fail(plan: Plan, fault: Fault, code: ErrorCode, key: ApiKey, version: int, hit: Any, rest: Any) -> None:
    error, of_topic = error_for(code), fault.target.topic is not None
    if key is ApiKey.PRODUCE and not hit.acks:
        if fault.take():
            plan.rest, plan.is_unanswerable = None, True
        return
    failed = error_answer(key, version, hit, error, of_topic=of_topic)
    if rest is not None and not is_itemised(failed, version):
        failed, rest = error_answer(key, version, plan.rest, error, of_topic=of_topic), None
    if not has_code(failed, version) or not fault.take():
        return
    plan.failed = failed if plan.failed is None else merged(plan.failed, failed, version)
    if rest is None and of_topic and key is ApiKey.METADATA and version >= _FIRST_WITHOUT_ALL_BY_EMPTY:
        rest = copy.copy(hit)
        rest.topics = []  # a response without brokers would end the connections of clients to all brokers
    plan.rest = rest


def _is_for_response(fault: Fault, key: ApiKey, version: int, request: Any) -> bool:
    """Whether only the response shows if the fault fires."""
    if isinstance(fault.effect, Corrupt):
        return True
    if key is not ApiKey.METADATA or not isinstance(fault.effect, Fail):
        return False
    return _is_of_all_topics(request, version)


def _is_of_all_topics(request: MetadataRequest, version: int) -> bool:
    return request.topics is None or (version < _FIRST_WITHOUT_ALL_BY_EMPTY and not request.topics)


def _wanted(fault: Fault, topic_name: TopicName) -> Wanted:
    target = fault.target
    return Wanted(target.topic, target.partition, target.group, target.transactional_id, topic_name)


def _replica_of(request: Any, version: int) -> int:
    replica: int = request.replica_state.replica_id if version >= _FIRST_WITH_REPLICA_STATE else request.replica_id
    return replica
