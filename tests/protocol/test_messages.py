"""The message declarations agree with Kafka's message definitions, field by field."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from pybroker.protocol.apis import API_SPECS, ApiKey, Listener
from pybroker.protocol.codec import NULL_UUID, Message, Struct
from pybroker.protocol.codec.schema import Array, FieldSchema, Nested, VersionRange
from support.golden import all_message_types

FOLDER = Path(__file__).parent.parent / "reference"
REFERENCE = json.loads((FOLDER / "messages.json").read_text())
LATER = json.loads((FOLDER / "messages-of-kafka-4.json").read_text())
"""Declarations of Kafka 4: last versions of APIs, fields that these add or lack, new APIs, records."""
APIS = REFERENCE["apis"] + LATER["apis"]
Definition = dict[str, Any]


def _definitions() -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    for api in APIS:
        for kind in ("request", "response"):
            found[api[kind]["name"]] = {**api[kind], "apiKey": api["apiKey"]}
    for section in ("headers", "consumerOffsetsRecords", "transactionStateRecords", "embeddedData", "controlRecords"):
        found.update({definition["name"]: definition for definition in REFERENCE[section]})
    return found


def _add_later_versions(definitions: dict[str, Definition]) -> None:
    for section in ("consumerOffsetsRecords", "shareGroupStateRecords"):
        definitions.update({definition["name"]: definition for definition in LATER[section]})
    for api, version in LATER["lastVersions"].items():
        for name in (f"{api}Request", f"{api}Response"):
            definitions[name]["validVersions"] = f"0-{version}"
    for path, fields in LATER["fields"].items():
        name, *inner = path.split(".")
        siblings = definitions[name]["fields"]
        for each in inner:
            (siblings,) = [field["fields"] for field in siblings if field["name"] == each]
        for field in fields:
            _add_or_change(siblings, field)


def _add_or_change(siblings: list[Definition], field: Definition) -> None:
    """A field with ``after`` is new behind that one (null: the first); others change the field of their name."""
    if "after" in field:
        names = [each["name"] for each in siblings]
        siblings.insert(names.index(field["after"]) + 1 if field["after"] is not None else 0, field)
        return
    (changed,) = [each for each in siblings if each["name"] == field["name"]]
    changed.update(field)


DEFINITIONS = _definitions()
_add_later_versions(DEFINITIONS)
MESSAGES = {message_type.__name__: message_type for message_type in all_message_types()}


def test_exactly_kafkas_messages_are_declared() -> None:
    assert set(MESSAGES) == set(DEFINITIONS)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_declaration_equals_kafkas_definition(name: str) -> None:
    definition, message_type = DEFINITIONS[name], MESSAGES[name]
    assert message_type.MESSAGE.api_key == definition.get("apiKey")
    assert message_type.MESSAGE.versions == VersionRange.parse(definition["validVersions"])
    assert message_type.MESSAGE.flexible == VersionRange.parse(definition["flexibleVersions"])
    common = {struct["name"]: struct for struct in definition.get("commonStructs", [])}
    assert _described(message_type, set()) == _expected(definition["fields"], common)


def _described(struct_type: type[Struct], inside: set[type]) -> list[Definition]:
    assert struct_type not in inside
    return [_describe_field(field, inside | {struct_type}) for field in struct_type.SCHEMA.fields]


def _describe_field(field: FieldSchema, inside: set[type]) -> Definition:
    element = field.type.element if isinstance(field.type, Array) else field.type
    return {
        "name": field.kafka_name,
        "type": field.type.name,
        "versions": str(field.versions),
        "nullable": str(field.nullable),
        "tag": field.tag,
        "ignorable": field.ignorable,
        "flexible": None if field.flexible is None else str(field.flexible),
        "default": field.default_factory(),
        "fields": _described(element.struct, inside) if isinstance(element, Nested) else None,
    }


def _expected(fields: list[Definition], common: dict[str, Definition]) -> list[Definition]:
    return [_expect_field(field, common) for field in fields]


def _expect_field(field: Definition, common: dict[str, Definition]) -> Definition:
    kind = field["type"].removeprefix("[]")
    inner = None
    if kind[0].isupper():
        inner = _expected(field.get("fields") or common[kind]["fields"], common)
    assert field.get("taggedVersions", field["versions"]) == field["versions"], "tagged in all of its versions"
    return {
        "name": field["name"][0].lower() + field["name"][1:],
        "type": StructName(field["type"]) if inner is not None else field["type"],
        "versions": field["versions"],
        "nullable": field.get("nullableVersions", "none"),
        "tag": field.get("tag"),
        "ignorable": field.get("ignorable", False),
        "flexible": field.get("flexibleVersions"),
        "default": _default(field, inner),
        "fields": inner,
    }


ALIASES = {"SubscriptionTopicPartition", "AssignmentTopicPartition", "LeaderChangeVoter", "RecordedVoter"}


class StructName(str):
    """Equal to the name of a declared struct, which may distinguish two structs of one Kafka name."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str) or self.startswith("[]") != other.startswith("[]"):
            return False
        theirs, ours = self.removeprefix("[]"), other.removeprefix("[]")
        if ours in ("Request" + theirs, "Response" + theirs, theirs):
            return True
        return ours in ALIASES and ours.endswith(theirs)

    __hash__ = str.__hash__


class AnyStruct:
    """Equal to a struct in which every field has its default."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and other == type(other)()

    __hash__ = None  # type: ignore[assignment]


def _default(field: Definition, inner: list[Definition] | None) -> object:
    kind, default = field["type"], field.get("default")
    if default == "null" or kind == "records":
        return None
    if kind.startswith("[]"):
        return []
    if inner is not None:
        return AnyStruct()
    if kind == "string":
        return default or ""
    if kind == "bytes":
        return b""
    if kind == "bool":
        return default == "true"
    if kind == "uuid":
        return NULL_UUID
    return float(default or 0) if kind == "float64" else int(default or "0", 0)


@pytest.mark.parametrize("message_type", MESSAGES.values(), ids=MESSAGES)
def test_message_is_a_plain_slotted_dataclass(message_type: type[Message]) -> None:
    message = message_type()
    assert dataclasses.is_dataclass(message)
    assert not hasattr(message, "__dict__")
    assert message == message_type()
    assert message.unknown_tags is None
    names = {field.name for field in message_type.SCHEMA.fields}
    assert names | {"unknown_tags"} == {field.name for field in dataclasses.fields(message)}


def test_defaults_are_not_shared_between_messages() -> None:
    for message_type in MESSAGES.values():
        first, second = message_type(), message_type()
        for field in message_type.SCHEMA.fields:
            value = getattr(first, field.name)
            if isinstance(value, (list, Struct)):
                assert value is not getattr(second, field.name)


def _listed(versions: VersionRange | None) -> str | None:
    return None if versions is None else f"{versions.first}-{versions.last}"


def test_api_table_equals_kafkas() -> None:
    assert list(API_SPECS) == list(ApiKey) == [api["apiKey"] for api in APIS]
    for api in APIS:
        spec = API_SPECS[ApiKey(api["apiKey"])]
        assert spec.name == api["name"]
        assert spec.key.name == spec.module_name.upper()
        assert spec.versions == VersionRange.parse(DEFINITIONS[api["request"]["name"]]["validVersions"])
        assert (spec.min_version, spec.max_version) == (spec.versions.first, spec.versions.last)
        assert _listed(spec.advertised) == api["advertisedVersions"]
        assert spec.listeners == {Listener(name) for name in api["listeners"]}
        assert spec.request_type() is MESSAGES[api["request"]["name"]]
        assert spec.response_type() is MESSAGES[api["response"]["name"]]
        assert spec.flexible == spec.request_type().MESSAGE.flexible == spec.response_type().MESSAGE.flexible


def test_header_versions_equal_kafkas() -> None:
    for api in APIS:
        spec = API_SPECS[ApiKey(api["apiKey"])]
        for kind, header_version in (
            ("requestHeaderVersions", spec.request_header_version),
            ("responseHeaderVersions", spec.response_header_version),
        ):
            expected = {
                version: header for versions, header in api[kind].items() for version in VersionRange.parse(versions)
            }
            later = {version: expected[max(expected)] for version in spec.versions if version not in expected}
            assert {version: header_version(version) for version in spec.versions} == expected | later


def test_a_zookeeper_broker_reports_62_apis() -> None:
    reported = [spec for spec in API_SPECS.values() if Listener.ZK_BROKER in spec.listeners and spec.advertised]
    assert len(reported) == 62
