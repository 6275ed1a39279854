"""A real broker does what its OpenAPI document says, for right and wrong requests and hostile names."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata
from pybroker.broker.library.broker import Broker
from pybroker.views.openapi import openapi
from schemathesis.generation import GenerationMode

SCHEMA = schemathesis.openapi.from_dict(openapi())
OPERATIONS: dict[str, Any] = {
    each.ok().path: each.ok()  # type: ignore[union-attr]
    for each in SCHEMA.get_all_operations()
}
HOSTILE = [
    "a/b",
    "../../etc/passwd",
    "..",
    "%2F",
    "<img src=x onerror=alert(1)>",
    "say \"x\" \\ and 'y'",
    "line\r\nSet-Cookie: x=y",
    "\x00\x7f",
    "gr\u00fc\u00dfe \U0001f600 \u202e",
    "?limit=x#y",
    "x" * 500,
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a broker with topics, producers, and groups with hostile names."""
    with Broker({"pybroker.http.listeners": "HTTP://127.0.0.1:0"}) as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, enable_idempotence=True)
        for topic in ("orders", "a.b_c-d", "x" * 249):
            producer.send(topic, b"value")
        producer.flush()
        producer.close()
        for group in HOSTILE:
            consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=group, client_id="<b>")
            partition = TopicPartition("orders", 0)
            consumer.assign([partition])
            consumer.commit({partition: OffsetAndMetadata(1, "<script>\u2028", -1)})
            consumer.close()
        assert broker.http_url is not None
        yield broker.http_url


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("path", OPERATIONS)
def test_generated_requests_are_answered_as_documented(url: str, path: str, mode: GenerationMode) -> None:
    operation = OPERATIONS[path]
    if mode is GenerationMode.NEGATIVE and not (operation.query or path == "/v1/brokers/{id}"):
        pytest.skip("no request for this path is wrong")

    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        case.call_and_validate(base_url=url)

    check()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("path", [path for path in OPERATIONS if "{" in path])
def test_hostile_names_are_answered_as_documented(url: str, path: str, name: str) -> None:
    (parameter,) = [each for each in ("id", "topic", "group") if f"{{{each}}}" in path]
    case = OPERATIONS[path].Case(path_parameters={parameter: quote(name, safe="")})
    response = case.call_and_validate(base_url=url)
    assert response.status_code in (
        (200, 404) if parameter == "group" and name == ".." else (200,) if parameter == "group" else (404,)
    )


@pytest.mark.parametrize("topic", ["orders", "a.b_c-d", "x" * 249, "__consumer_offsets"])
def test_existing_topics_are_shown_as_documented(url: str, topic: str) -> None:
    response = OPERATIONS["/v1/topics/{topic}"].Case(path_parameters={"topic": topic}).call_and_validate(base_url=url)
    assert response.status_code == 200
