"""Reads and writes the JSON in Kafka's nodes; every fault raises ZnodeDecodeError."""

import json
from typing import Any

__all__ = ["JsonNode", "ZnodeDecodeError", "decode_text", "encode_json"]


class ZnodeDecodeError(Exception):
    """The data of the node ``path`` cannot be decoded."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


def encode_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def decode_text(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ZnodeDecodeError(path, "not UTF-8") from error


class JsonNode:
    """A JSON object in the node at ``path``, with one getter for each type of field.

    Unknown fields are ignored, as in Kafka, because newer brokers may add some.
    """

    def __init__(self, path: str, fields: dict[str, Any]) -> None:
        self.path = path
        self._fields = fields

    @classmethod
    def parse(cls, path: str, data: bytes) -> "JsonNode":
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ZnodeDecodeError(path, f"not JSON: {data[:200]!r}") from error
        if not isinstance(value, dict):
            raise ZnodeDecodeError(path, f"not a JSON object: {data[:200]!r}")
        return cls(path, value)

    def has(self, name: str) -> bool:
        return self._fields.get(name) is not None

    def names(self) -> list[str]:
        return list(self._fields)

    def integer(self, name: str) -> int:
        return self._as_integer(name, self._fields.get(name))

    def number_in_text(self, name: str) -> int:
        """A number written as text: Kafka does so for times and ids beyond 2^53; older versions wrote numbers."""
        value = self._fields.get(name)
        if not isinstance(value, str):
            return self._as_integer(name, value)
        try:
            return int(value)
        except ValueError as error:
            raise self._wrong(name, "a number") from error

    def text(self, name: str) -> str:
        value = self._fields.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "text")
        return value

    def integers(self, name: str) -> tuple[int, ...]:
        return tuple(self._as_integer(name, item) for item in self._list(name))

    def texts(self, name: str) -> tuple[str, ...]:
        items = self._list(name)
        if not all(isinstance(item, str) for item in items):
            raise self._wrong(name, "a list of texts")
        return tuple(items)

    def children(self, name: str) -> list["JsonNode"]:
        items = self._list(name)
        if not all(isinstance(item, dict) for item in items):
            raise self._wrong(name, "a list of objects")
        return [JsonNode(self.path, item) for item in items]

    def child(self, name: str) -> "JsonNode":
        value = self._fields.get(name)
        if not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return JsonNode(self.path, value)

    def optional_child(self, name: str) -> "JsonNode":
        """The object; empty when it is missing or null."""
        return self.child(name) if self.has(name) else JsonNode(self.path, {})

    def _list(self, name: str) -> list[Any]:
        value = self._fields.get(name)
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return value

    def _as_integer(self, name: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, "an integer")
        return value

    def _wrong(self, name: str, wanted: str) -> ZnodeDecodeError:
        return ZnodeDecodeError(self.path, f"{name} must be {wanted}, is {str(self._fields.get(name))[:200]}")
