"""Decodes Protobuf values into the fields of one fixed message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf import message_factory
from google.protobuf.message import DecodeError as BrokenMessageError

from .protobuf_compiler import compiled_files, message_at, message_named, parsed_descriptors
from .protobuf_types import message_reader
from .registry import SchemaRegistry
from .schema_text import SchemaError
from .wire_format import DecodeError, split_indexes, split_schema_id

__all__ = ["ProtobufDecoder"]

KIND = "PROTOBUF"


class ProtobufDecoder:
    """Decodes values to dicts; Spark copies it to its workers.

    With a registry the value begins with the id of the schema that it was written with, and the indexes of its message,
    whose name must be that of the fixed message. Fields are matched by their numbers, so the schemas may differ.
    """

    def __init__(
        self, descriptors: bytes, message: str | None, registry: SchemaRegistry | None = None, *, framed: bool = False
    ) -> None:
        """`descriptors`: a file descriptor set. `message`: full name; None: the first of the last file. `framed`
        without a registry: the schema id and the indexes before each value are skipped. Raises SchemaError.
        """
        self._descriptors = descriptors
        self._registry = registry
        self._framed = framed or registry is not None
        self._read: Callable[[bytes], dict[str, Any]] | None = None
        self._writers: dict[int, Any] = {}
        found = message_named(parsed_descriptors(descriptors), message)
        self.message: str = found.full_name
        self.type = message_reader(found).type

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": None, "_writers": {}}

    def decode(self, data: bytes) -> dict[str, Any]:
        """Returns the fields by name. Raises DecodeError, and RegistryError if the registry can't be asked."""
        if self._read is None:
            self._read = self._reader()
        if self._framed:
            schema_id, data = split_schema_id(data)
            indexes, data = split_indexes(data)
            if self._registry is not None:
                self._check_message(self._registry, schema_id, indexes)
        return self._read(data)

    def _reader(self) -> Callable[[bytes], dict[str, Any]]:
        message = message_named(parsed_descriptors(self._descriptors), self.message)
        made = message_factory.GetMessageClass(message)
        read = message_reader(message).read

        def decoded(data: bytes) -> dict[str, Any]:
            found = made()
            try:
                found.ParseFromString(data)
                fields: dict[str, Any] = read(found)
            except BrokenMessageError:
                raise DecodeError(f"the value can't be decoded as the Protobuf message {self.message}") from None
            except UnicodeDecodeError:  # proto2: the parser does not check texts
                raise DecodeError("a text in the value is not UTF-8") from None
            return fields

        return decoded

    def _check_message(self, registry: SchemaRegistry, schema_id: int, indexes: tuple[int, ...]) -> None:
        try:
            files = self._writers.get(schema_id)
            if files is None:
                files = self._writers[schema_id] = compiled_files(registry.schema(schema_id, KIND))
            name = message_at(files, indexes)
        except SchemaError as error:
            raise DecodeError(f"schema {schema_id} can't be used: {error}") from None
        if name != self.message:
            raise DecodeError(f"the value is the message {name}, not {self.message}")
