"""Which faults fire on a request, against a plain model; and how requests are split."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.faults.fault import Fault
from pybroker.broker.faults.faults import Faults
from pybroker.broker.faults.plan import plan_of
from pybroker.broker.faults.request_items import Wanted, names_in, split
from pybroker.broker.faults.target import Where
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.errors import ErrorCode
from support.examples import examples
from support.in_process.served_apis import served_apis, with_one_of_each
from support.load.request_of_each_api import plain_request

CODES = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.INVALID_RECORD)
Item = tuple[str, int]

topics = st.sampled_from(["a", "b"])
partitions = st.integers(0, 2)
requests = st.lists(st.tuples(topics, partitions), min_size=1, max_size=6, unique=True)
faults = st.tuples(
    st.sampled_from(CODES),
    st.one_of(st.tuples(st.none(), st.none()), st.tuples(topics, st.one_of(st.none(), partitions))),
    st.one_of(st.none(), st.integers(1, 3)),
    st.integers(0, 2),
)


def produce(items: list[Item]) -> Any:
    data = [
        {"name": topic, "partition_data": [{"index": index} for each, index in items if each == topic]}
        for topic in dict.fromkeys(topic for topic, _ in items)
    ]
    return plain_request(ApiKey.PRODUCE, acks=1, topic_data=data)


def items_of(request: Any) -> set[Item]:
    return (
        set()
        if request is None
        else {(topic.name, data.index) for topic in request.topic_data for data in topic.partition_data}
    )


def codes_of(response: Any) -> dict[Item, int]:
    return (
        {}
        if response is None
        else {
            (topic.name, each.index): each.error_code
            for topic in response.responses
            for each in topic.partition_responses
        }
    )


class Model:
    """A fault as a test reads about it: it passes ``after`` matching requests, then fires ``times`` times."""

    def __init__(self, code: ErrorCode, names: tuple[str | None, int | None], times: int | None, after: int) -> None:
        self.code, (self.topic, self.partition), self.times, self.after = code, names, times, after
        self.matched = self.fired = 0

    def fires_on(self, items: set[Item]) -> set[Item]:
        hit = {each for each in items if self.topic in (None, each[0]) and self.partition in (None, each[1])}
        if not hit or (self.times is not None and self.fired == self.times):
            return set()
        self.matched += 1
        if self.matched <= self.after:
            return set()
        self.fired += 1
        return hit


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(faults, max_size=4), st.lists(requests, max_size=6))
def test_faults_fire_on_the_items_on_which_the_model_says(rows: list[Any], asked: list[list[Item]]) -> None:
    set_faults = Faults()
    models = [Model(*row) for row in rows]
    for code, (topic, partition), times, after in rows:
        set_faults.error("Produce", code.name, topic=topic, partition=partition, times=times, after=after)
    ours = set_faults.all()
    for items in asked:
        left = set(items)
        expected: dict[Item, int] = {}
        for model in models:
            hit = model.fires_on(left)
            expected |= dict.fromkeys(hit, int(model.code))
            left -= hit
        plan = plan_of(ours, ApiKey.PRODUCE, 7, produce(items), lambda _id: None)
        assert items_of(plan.rest) == left
        assert codes_of(plan.failed) == expected
    assert [fault.fired for fault in ours] == [model.fired for model in models]


@pytest.mark.parametrize("key", [key for key in served_apis() if names_in(key)], ids=lambda key: key.name)
def test_request_of_each_api_is_split_by_the_names_that_it_can_have(key: ApiKey) -> None:
    """A request with the wanted name is hit in at least one version; a request with another name never is."""
    spec = API_SPECS[key]
    for name in names_in(key) - {"partition"}:
        hits = 0
        for version in range(spec.min_version, spec.max_version + 1):
            request = named(with_one_of_each(spec.request_type(), version), "name")
            if key is ApiKey.FIND_COORDINATOR:
                request.key_type = int(name == "transactional_id")
            hit, rest = split(request, version, wanted(name, "name"))
            assert (hit is None) != (rest is None), f"{key.name} v{version}: one item is on one side"
            hits += hit is not None
            other, all_of_it = split(request, version, wanted(name, "other"))
            assert other is None
            assert all_of_it == request
        assert hits, f"no version of {key.name} names a {name}"


def wanted(name: str, value: str) -> Wanted:
    fields: dict[str, Any] = {name: value, "topic_name": lambda _id: "name"}
    return Wanted(**fields)


def named(request: Any, name: str) -> Any:
    """The request with the name in each field that names something, at every depth."""
    for field in request.SCHEMA.fields:
        value = getattr(request, field.name)
        if isinstance(value, list):
            for each in value:
                if hasattr(each, "SCHEMA"):
                    named(each, name)
        elif isinstance(value, str) or field.name in ("name", "transactional_id", "group_id"):
            setattr(request, field.name, name)
        elif field.name == "topic_id":
            request.topic_id = UUID(int=1)
        elif field.name == "resource_type":
            request.resource_type = 2
    if request.SCHEMA.name == "FindCoordinatorRequest":
        request.coordinator_keys = [name]
    return request


@pytest.mark.parametrize(
    ("api", "code", "where", "line"),
    [
        ("Fech", "NOT_COORDINATOR", {}, "there is no API 'Fech'; did you mean Fetch"),
        ("Fetch", "NOT_COORDINATR", {}, "did you mean NOT_COORDINATOR"),
        ("Fetch", "NONE", {}, "NONE is no error"),
        ("Vote", "NOT_COORDINATOR", {}, "there is no API 'Vote'"),
        ("*", "NOT_COORDINATOR", {}, "error needs one API"),
        ("Heartbeat", "NOT_COORDINATOR", {"topic": "t"}, "Heartbeat requests name no topic"),
        ("Fetch", "NOT_COORDINATOR", {"partition": 1}, "partition needs a topic"),
        ("Fetch", "NOT_COORDINATOR", {"topic": "t", "partition": -1}, "partition is a whole number from 0"),
        ("Fetch", "NOT_COORDINATOR", {"times": 0}, "times is a whole number from 1"),
        ("Fetch", "NOT_COORDINATOR", {"after": True}, "after is a whole number from 0"),
        ("Fetch", "NOT_COORDINATOR", {"topic": 1}, "topic is a text"),
        ("Fetch", "NOT_COORDINATOR", {"topc": "t"}, "there is no word 'topc'; did you mean topic"),
    ],
)
def test_words_without_meaning_are_refused_with_a_plain_line(api: str, code: str, where: Where, line: str) -> None:
    faults = Faults()
    with pytest.raises(ValueError, match=line.replace("*", r"\*")):
        faults.error(api, code, **where)
    assert faults.all() == []


def test_number_of_faults_is_bounded() -> None:
    faults = Faults()
    for _ in range(1000):
        faults.hang("*")
    with pytest.raises(ValueError, match="1000 faults are set"):
        faults.hang("*")
    faults.clear()
    assert isinstance(faults.hang("*"), Fault)
