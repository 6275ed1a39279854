"""Tests of reading schemas from a registry over HTTP."""

import math
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from pybroker.client.oauth.http_exchange import HttpLimits
from pybroker.pipeline.values import registry as registry_module
from pybroker.pipeline.values.registry import RegistryError, SchemaRegistry, UnknownSchemaError
from pybroker.pipeline.values.schema_text import SchemaError, SchemaText
from support.in_process.tls_ends import STORES
from support.security.http_server import Answer, endless, http_server, send
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


def test_schema_that_was_missing_is_asked_for_again_after_a_while(
    served: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr("pybroker.pipeline.values.registry.time.monotonic", lambda: now_s)
    registry = SchemaRegistry(served.url)
    for _ in range(2):
        with pytest.raises(UnknownSchemaError):
            registry.schema(1, "AVRO")
    served.register("a", '"string"')
    now_s += 4.9
    with pytest.raises(UnknownSchemaError):
        registry.schema(1, "AVRO")
    now_s += 0.2
    assert registry.schema(1, "AVRO").text == '"string"'
    assert served.asked == ["/schemas/ids/1", "/schemas/ids/1"]


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


def test_registry_over_tls_is_asked_with_the_user_only_if_its_certificate_is_trusted(tmp_path: Path) -> None:
    with http_server(STORES / "server.pem") as server:
        server.answer = lambda request: send(request, b'{"schema": "s"}')
        url = server.url.removesuffix("/keys")
        trusted = SchemaRegistry(url, "alice:canary", str(STORES / "authority.pem"))
        assert trusted.newest("a", "AVRO").text == "s"
        assert server.received[-1].headers["authorization"] == "Basic " + b64encode(b"alice:canary").decode()
        asked = len(server.received)
        for ca_file in (None, str(STORES / "other-authority.pem")):
            with pytest.raises(RegistryError, match=rf"^schema registry {url} did not give subject a: .*certificate"):
                SchemaRegistry(url, "alice:canary", ca_file).newest("a", "AVRO")
        assert len(server.received) == asked
        (tmp_path / "empty").touch()
        for name, why in (("nowhere", "No such file"), ("empty", "")):
            with pytest.raises(RegistryError, match=rf"^the certificates for .* in {tmp_path / name}: {why}"):
                SchemaRegistry(url, None, str(tmp_path / name)).newest("a", "AVRO")


def send_endlessly(request: BaseHTTPRequestHandler) -> None:
    endless(request)


def test_response_that_is_no_schema_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "_LIMITS", HttpLimits(connect_s=10, reply_s=0.05, most_bytes=1000))
    with http_server() as server:
        url = server.url.removesuffix("/keys")
        not_one = f"schema registry {url} gave no schema for subject a: is this the URL of a registry?"
        cases: list[tuple[Answer, str]] = [
            (lambda request: send(request, b"<html>"), not_one),
            (lambda request: send(request, b'{"schema": 7}'), not_one),
            (lambda request: send(request, b"{}", 302), "answered with status 302 for subject a: is this the URL of"),
            (server.drip, "did not give subject a: timed out: the response did not arrive within 0.05 s"),
            (send_endlessly, "did not give subject a: the response has more than 1000 bytes"),
            (lambda request: send(request, b"[" * 999), not_one),
            (
                lambda request: send(request, b'{"error_code": 40401}', 404),
                "the schema registry does not have subject a",
            ),
            (
                lambda request: send(request, b'{"error_code": 404}', 404),
                "status 404 for subject a: is this the URL of",
            ),
            (lambda request: send(request, b"<html>", 404), "status 404 for subject a: is this the URL of a registry?"),
        ]
        for answer, says in cases:
            server.answer = answer
            with pytest.raises((RegistryError, UnknownSchemaError)) as error:
                SchemaRegistry(url).newest("a", "AVRO")
            assert says in str(error.value)
            assert len(str(error.value).splitlines()) == 1


def test_wrong_path_in_the_url_stops_a_decoder_instead_of_refusing_each_value(served: FakeRegistry) -> None:
    from pybroker.pipeline.values.avro_decoder import AvroDecoder

    reader = SchemaText('{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}')
    value = b"\0" + served.register("t-value", reader.text).to_bytes(4, "big") + b"\2"
    assert AvroDecoder(reader, SchemaRegistry(served.url)).decode(value) == {"a": 1}
    wrong = AvroDecoder(reader, SchemaRegistry(f"{served.url}/typo"))
    with pytest.raises(RegistryError, match=rf"^schema registry {served.url}/typo answered with status 404 .* the URL"):
        wrong.decode(value)


NOT_ONE = "has a reference without a name, a subject or a version number"


@pytest.mark.parametrize(
    ("references", "says"),
    [
        ([{"name": "a", "subject": "circle", "version": 1}], "references form a circle through a"),
        ([{"name": "n"}], NOT_ONE),
        ([{"name": ["n"], "subject": "low", "version": 1}], NOT_ONE),
        ([{"name": "n", "subject": "\ud800", "version": 1}], NOT_ONE),
        ([{"name": "n", "subject": "low", "version": "latest"}], NOT_ONE),
        ([{"name": "n", "subject": "low", "version": math.inf}], NOT_ONE),
        (["n"], NOT_ONE),
        ("n", NOT_ONE),
        (7, NOT_ONE),
        ([{"name": "101", "subject": "deep", "version": 101}], "references are nested more than 100 deep"),
    ],
)
def test_malformed_references_are_refused_in_one_line(served: FakeRegistry, references: Any, says: str) -> None:
    served.register("circle", "c", "AVRO", [{"name": "a", "subject": "circle", "version": 1}])
    served.register("low", '"string"')
    served.register("deep", "d")
    for version in range(1, 101):
        served.register("deep", "d", "AVRO", [{"name": str(version), "subject": "deep", "version": version}])
    with pytest.raises(SchemaError, match=rf"^the schema.* {says}$"):
        SchemaRegistry(served.url).schema(served.register("top", "t", "AVRO", references), "AVRO")


@pytest.mark.parametrize(
    "url", ["registry:8081", "ftp://registry", "http://", "http://a:canary@registry", "http://a?b"]
)
def test_unusable_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SchemaError, match=r"^the URL of the schema registry must ") as error:
        SchemaRegistry(url)
    assert "canary" not in str(error.value)
