"""The table of handlers of a broker, built without a broker."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from pybroker.broker.apis.broker_parts import BrokerParts
from pybroker.broker.apis.handler_table import handlers
from pybroker.broker.requests.context import Handler
from pybroker.config.load import load_config
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Struct
from pybroker.protocol.codec.schema import Array, Nested, Text

__all__ = ["Anything", "broker_parts", "error_codes", "handler_table", "served_apis", "with_one_of_each"]


class Anything:
    """A stand-in for a part of the broker that is not used: it has every attribute and can be called."""

    def __getattr__(self, name: str) -> "Anything":
        return self

    def __call__(self, *arguments: Any, **named: Any) -> "Anything":
        return self


def handler_table(settings: Mapping[str, str] | None = None) -> Mapping[ApiKey, Handler]:
    """The handlers of a broker with an embedded store. Handlers that only refuse can be called."""
    return handlers(broker_parts(settings))


def broker_parts(settings: Mapping[str, str] | None = None) -> BrokerParts:
    """Parts that handlers can be made of, but not called with."""
    parts: dict[str, Any] = {field.name: Anything() for field in dataclasses.fields(BrokerParts)}
    parts["config"], parts["acls"] = load_config("", settings or {}), None
    return BrokerParts(**parts)


def served_apis() -> list[ApiKey]:
    """The APIs of a broker with an embedded store, by rising key."""
    return sorted(handler_table())


def with_one_of_each(struct_type: type[Struct], version: int) -> Any:
    """A message with one element in each array of this version, at every depth; other fields have their default."""
    fields: dict[str, Any] = {}
    for field in struct_type.SCHEMA.fields:
        if version in field.versions and isinstance(field.type, Array):
            match field.type.element:
                case Nested(struct):
                    element: Any = with_one_of_each(struct, version)
                case Text():
                    element = "name"
                case _:
                    element = 0
            fields[field.name] = [element]
    return struct_type(**fields)


def error_codes(struct: Struct, version: int) -> Iterator[int]:
    """All error codes of a message in this version, that at the top first. Without topic_config_error_code of
    CreateTopics, which only says that the settings could not be returned."""
    for field in struct.SCHEMA.fields:
        if version not in field.versions:
            continue
        value = getattr(struct, field.name)
        if field.name.endswith("error_code") and field.name != "topic_config_error_code":
            yield value
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, Struct):
                yield from error_codes(element, version)
