"""Tests of reading schemas from a registry over HTTP."""

from collections.abc import Iterator

import pytest
from pybroker.pipeline.values import registry as registry_module
from pybroker.pipeline.values.registry import RegistryError, SchemaRegistry, UnknownSchemaError
from pybroker.pipeline.values.schema_text import SchemaError
from support.spark.fake_registry import FakeRegistry, fake_registry


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "_PAUSE_S", 0)


@pytest.fixture
def served() -> Iterator[FakeRegistry]:
    with fake_registry() as served:
        yield served


def test_each_schema_id_is_asked_for_once(served: FakeRegistry) -> None:
    schema_id = served.register("a", '"string"')
    registry = SchemaRegistry(served.url)
    for _ in range(3):
        assert registry.schema(schema_id, "AVRO").text == '"string"'
        with pytest.raises(UnknownSchemaError, match=r"does not have schema 99$"):
            registry.schema(99, "AVRO")
        with pytest.raises(SchemaError, match=r"of type AVRO, not PROTOBUF"):
            registry.schema(schema_id, "PROTOBUF")
    assert sorted(served.asked) == ["/schemas/ids/1", "/schemas/ids/1", "/schemas/ids/99"]


def test_references_come_before_the_schemas_that_need_them(served: FakeRegistry) -> None:
    served.register("low", "low", "PROTOBUF")
    low = {"name": "low.proto", "subject": "low", "version": 1}
    served.register("mid/1", "mid", "PROTOBUF", [low])
    mid = {"name": "mid.proto", "subject": "mid/1", "version": 1}
    served.register("top", "top", "PROTOBUF", [mid, low])
    found = SchemaRegistry(f"{served.url}/").newest("top", "PROTOBUF")
    assert (found.text, found.references) == ("top", (("low.proto", "low"), ("mid.proto", "mid")))
    with pytest.raises(UnknownSchemaError, match=r"subject other"):
        SchemaRegistry(served.url).newest("other", "PROTOBUF")


def test_failing_registry_is_asked_again_and_then_named(served: FakeRegistry) -> None:
    served.register("a", '"string"')
    served.broken = 2
    assert SchemaRegistry(served.url).newest("a", "AVRO").text == '"string"'
    served.broken = 100
    with pytest.raises(RegistryError, match=rf"{served.url} did not give subject a: it answered with status 503"):
        SchemaRegistry(served.url).newest("a", "AVRO")
    with pytest.raises(RegistryError, match=r"http://127.0.0.1:1 did not give schema 1: "):
        SchemaRegistry("http://127.0.0.1:1").schema(1, "AVRO")


def test_user_is_sent_and_never_shown(served: FakeRegistry) -> None:
    served.register("a", '"string"')
    served.user_info = "alice:canary"
    right = SchemaRegistry(served.url, "alice:canary")
    assert right.newest("a", "AVRO").text == '"string"'
    wrong = SchemaRegistry(served.url, "alice:canary-2")
    with pytest.raises(RegistryError, match=r"status 401 for subject a: are its user and password right") as error:
        wrong.newest("a", "AVRO")
    assert "canary" not in f"{error.value!r} {right!r} {wrong}"


@pytest.mark.parametrize(
    "url", ["registry:8081", "ftp://registry", "http://", "http://a:canary@registry", "http://a?b"]
)
def test_unusable_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SchemaError, match=r"^the URL of the schema registry must ") as error:
        SchemaRegistry(url)
    assert "canary" not in str(error.value)
