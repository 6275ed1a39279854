"""Checks pybroker's messages against lines that Apache Kafka's own classes wrote.

A golden folder holds files of JSON lines; its README describes a line. `check_line` takes one line of any kind and
returns complaints, or none for a correct line.
"""

import base64
import gzip
import importlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

from pybroker.protocol.apis import API_SPECS
from pybroker.protocol.codec import Message, decode, encode, interpreter
from pybroker.protocol.codec.json_form import Json, from_json, to_json
from pybroker.protocol.codec.schema import Array, FieldSchema, Nested, Struct
from support.golden_records import check_down_conversion, check_record_batches

Line = dict[str, Any]

STORED_WITH_VERSION = (
    "consumer_offsets",
    "transaction_state",
    "share_group_state",
    "consumer_protocol",
    "default_principal",
)
"""Modules whose stored messages begin with their version as an int16."""
OTHER_MODULES = (*STORED_WITH_VERSION, "headers", "control_records")


def golden_files(folder: Path) -> list[Path]:
    """The files of a golden folder, by name."""
    return sorted(path for path in folder.iterdir() if path.name.endswith((".jsonl", ".jsonl.gz")))


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of one file. Raises ValueError or OSError when the file cannot be read as such."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for number, text in enumerate(lines, 1):
            line = json.loads(text)
            if not isinstance(line, dict):
                raise ValueError(f"line {number} is no object")
            yield line


def check_line(line: Line) -> list[str]:
    """Check a frame, a record set or a conversion, by the fields of the line."""
    if "toMagic" in line:
        return check_down_conversion(line)
    if "batches" in line:
        return check_record_batches(line)
    return check_frame(line)


def check_frame(line: Line) -> list[str]:
    """Decode and encode a frame with the compiled codec and the interpreter, and compare values, tags and bytes."""
    where = f"{line['api']} {line['kind']} v{line['version']} {line['variant']}"
    found = find_message_type(line["api"], line["kind"])
    if found is None:
        return [f"{where}: there is no such message"]
    message_type, has_version = found
    version, data = line["version"], bytes.fromhex(line["hex"])
    if has_version:
        if int.from_bytes(data[:2], "big", signed=True) != version:
            return [f"{where}: begins with another version"]
        data = data[2:]
    return [
        f"{where}: {name}: {problem}"
        for name, codec in (("compiled", _Compiled), ("interpreter", interpreter))
        for problem in _check_both_ways(codec, message_type, version, data, line)
    ]


class _Compiled:
    decode = staticmethod(decode)
    encode = staticmethod(encode)


def _check_both_ways(codec: Any, message_type: type[Message], version: int, data: bytes, line: Line) -> Iterator[str]:
    value, tags = line["value"], line.get("unknownTags", [])
    decoded = codec.decode(message_type, bytearray(data), version)
    if _canonical(to_json(decoded, version)) != _canonical(value):
        yield f"decodes to {to_json(decoded, version)}, expected {value}"
    if _sorted_tags(unknown_tags_to_json(decoded)) != _sorted_tags(tags):
        yield f"decodes to unknown tags {unknown_tags_to_json(decoded)}, expected {tags}"
    built = from_json(message_type, value, version)
    add_unknown_tags(built, tags)
    for origin, message in (("value", built), ("decoded message", decoded)):
        encoded = codec.encode(message, version)
        if encoded != data:
            yield f"the {origin} encodes to {encoded.hex()}, expected {data.hex()}"


def _canonical(value: Any) -> str:
    # As text, since to Python True is 1 and 1 is 1.0.
    return json.dumps(value, sort_keys=True)


def _sorted_tags(tags: list[Line]) -> list[Line]:
    return sorted(tags, key=lambda entry: (entry["path"], entry["tag"]))


@cache
def find_message_type(name: str, kind: str) -> tuple[type[Message], bool] | None:
    """The message under Kafka's name (an API's plain), and whether it is stored behind a version."""
    for spec in API_SPECS.values():
        if spec.name == name and kind == "request":
            return spec.request_type(), False
        if spec.name == name and kind == "response":
            return spec.response_type(), False
    for module_name in OTHER_MODULES:
        module = importlib.import_module(f"pybroker.protocol.messages.{module_name}")
        message_type = getattr(module, name, None)
        if isinstance(message_type, type) and issubclass(message_type, Message):
            return message_type, module_name in STORED_WITH_VERSION
    return None


def all_message_types() -> list[type[Message]]:
    """Every message: requests and responses by API key, then the others by module."""
    types: list[type[Message]] = []
    for spec in API_SPECS.values():
        types += (spec.request_type(), spec.response_type())
    for module_name in OTHER_MODULES:
        module = importlib.import_module(f"pybroker.protocol.messages.{module_name}")
        types += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Message) and value.__module__ == module.__name__
        ]
    return types


def unknown_tags_to_json(message: Message) -> list[dict[str, Json]]:
    """All unknown tagged fields in the message, outer structs first, with paths like `topics[0].partitions[1]`."""
    return [
        {"path": path, "tag": tag, "data": base64.b64encode(data).decode()}
        for path, struct in _structs(message, "")
        for tag, data in sorted((struct.unknown_tags or {}).items())
    ]


def add_unknown_tags(message: Message, entries: list[dict[str, Json]]) -> None:
    """Add such entries to their structs. Raises KeyError when there is no struct at a path."""
    structs = dict(_structs(message, ""))
    for entry in entries:
        struct = structs[entry["path"]]
        struct.unknown_tags = {**(struct.unknown_tags or {}), entry["tag"]: base64.b64decode(entry["data"])}


def _structs(struct: Struct, path: str) -> Iterator[tuple[str, Struct]]:
    """This struct and all inside it, with their paths."""
    yield path, struct
    for field in struct.SCHEMA.fields:
        for suffix, child in _children(field, getattr(struct, field.name)):
            yield from _structs(child, f"{path}.{suffix}" if path else suffix)


def _children(field: FieldSchema, value: Any) -> Iterator[tuple[str, Struct]]:
    if isinstance(field.type, Nested) and value is not None:
        yield field.kafka_name, cast("Struct", value)
    elif isinstance(field.type, Array) and isinstance(field.type.element, Nested):
        for index, element in enumerate(value or ()):
            yield f"{field.kafka_name}[{index}]", element
