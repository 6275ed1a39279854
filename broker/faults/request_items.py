"""Splits a request into the items that a fault names and the rest: topics, partitions, groups, transactions.

**How.** Requests of all APIs name their items in fields with few different names, so one walk over the declared fields
serves all of them. A request that names nothing in lists belongs to the fault as a whole, or not at all.
"""

import copy
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from uuid import UUID

from ...base.frozen import frozen
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec import NULL_UUID, Struct
from ...protocol.codec.schema import Array, FieldSchema, Nested

__all__ = ["Wanted", "names_in", "split", "topic_of"]

_TOPIC_LISTS = frozenset(("topics", "topic_data", "topic_partitions", "topic_names", "v3_and_below_topics"))
_PARTITION_LISTS = frozenset(("partitions", "partition_data", "partition_indexes"))
_GROUP_LISTS = frozenset(("groups", "groups_names", "group_ids"))
_TRANSACTION_LISTS = frozenset(("transactional_ids", "transactions"))
_LISTS_AROUND = frozenset(("dirs", "markers"))
_RESOURCES, _COORDINATOR_KEYS = "resources", "coordinator_keys"
_TOPIC_NAMES = ("name", "topic", "topic_name")
_INDEXES = ("partition", "partition_index", "index")
_GROUP, _TRANSACTIONAL_ID = "group_id", ("transactional_id", "v3_and_below_transactional_id")
_TOPIC_RESOURCE = 2
_GROUP_KEY = 0
_NAMELESS = frozenset((ApiKey.LIST_GROUPS, ApiKey.LIST_TRANSACTIONS))

TopicName = Callable[[UUID], str | None]


@frozen
class Wanted:
    """The names to look for; None: any. ``topic_name`` knows the topics that requests name by id."""

    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None
    topic_name: TopicName = lambda _id: None


def split(request: Any, version: int, wanted: Wanted) -> tuple[Any, Any]:
    """The part of the request with the wanted names, and the rest of it; None for a part without items."""
    return _split(request, version, wanted)


def topic_of(element: Any, topic_name: TopicName) -> str | None:
    """The name of the topic that an element of a list of topics is about."""
    if isinstance(element, str):
        return element
    for field in _TOPIC_NAMES:
        name = getattr(element, field, None)
        if name:
            return str(name)
    topic_id = getattr(element, "topic_id", NULL_UUID)
    return None if topic_id == NULL_UUID else topic_name(topic_id)


def _split(struct: Struct, version: int, wanted: Wanted) -> tuple[Any, Any]:
    if not _fields_agree(struct, version, wanted):
        return None, struct
    hit: Any = copy.copy(struct)
    rest: Any = copy.copy(struct)
    is_listed = is_hit = is_left = False
    for field in _lists(struct, version):
        chosen = _chooser(field.name, struct, version, wanted)
        if chosen is None:
            continue
        is_listed = True
        pairs = [chosen(element) for element in getattr(struct, field.name) or ()]
        hits = [each for each, _ in pairs if each is not None]
        left = [each for _, each in pairs if each is not None]
        setattr(hit, field.name, hits)
        setattr(rest, field.name, left)
        is_hit, is_left = is_hit or bool(hits), is_left or bool(left)
    if not is_listed:
        return (struct, None) if _is_found_outside_lists(struct, version, wanted) else (None, struct)
    if not is_hit:
        return None, struct
    return hit, rest if is_left else None


Chooser = Callable[[Any], tuple[Any, Any]]


def _chooser(name: str, struct: Struct, version: int, wanted: Wanted) -> Chooser | None:
    """How the elements of a list are divided; None when the fault does not look at such a list."""
    if name in _TOPIC_LISTS and wanted.topic is not None:
        return lambda element: _topic(element, version, wanted)
    if name == _RESOURCES and wanted.topic is not None:
        return lambda element: _whole(
            element, element.resource_type == _TOPIC_RESOURCE and element.resource_name == wanted.topic
        )
    if name in _GROUP_LISTS and (wanted.group is not None or wanted.topic is not None):
        return lambda element: _named(element, version, wanted, wanted.group)
    if name in _TRANSACTION_LISTS and (wanted.transactional_id is not None or wanted.topic is not None):
        return lambda element: _named(element, version, wanted, wanted.transactional_id)
    if name in _LISTS_AROUND and wanted.topic is not None:
        return lambda element: _split(element, version, wanted)
    if name == _COORDINATOR_KEYS:
        key = _wanted_key(struct, wanted)
        return None if key is None else lambda element: _whole(element, element == key)
    return None


def _whole(element: Any, is_hit: bool) -> tuple[Any, Any]:
    return (element, None) if is_hit else (None, element)


def _named(element: Any, version: int, wanted: Wanted, name: str | None) -> tuple[Any, Any]:
    """An element of a list of groups or transactions: a name, or a struct with more lists."""
    if isinstance(element, str):
        return _whole(element, name is None or element == name)
    return _split(element, version, wanted)


def _topic(element: Any, version: int, wanted: Wanted) -> tuple[Any, Any]:
    if topic_of(element, wanted.topic_name) != wanted.topic:
        return None, element
    if wanted.partition is None:
        return element, None
    for field in _lists(element, version) if isinstance(element, Struct) else ():
        if field.name in _PARTITION_LISTS:
            return _partitions(element, field.name, wanted.partition)
    return None, element


def _partitions(topic: Struct, name: str, partition: int) -> tuple[Any, Any]:
    hit: Any = copy.copy(topic)
    rest: Any = copy.copy(topic)
    elements = getattr(topic, name) or ()
    setattr(hit, name, [each for each in elements if _index(each) == partition])
    setattr(rest, name, [each for each in elements if _index(each) != partition])
    return hit if getattr(hit, name) else None, rest if getattr(rest, name) else None


def _index(element: Any) -> int:
    if isinstance(element, int):
        return element
    return next(int(getattr(element, name)) for name in _INDEXES if hasattr(element, name))


def _fields_agree(struct: Struct, version: int, wanted: Wanted) -> bool:
    """Whether no field of the struct names another group or transaction."""
    names = {field.name for field in struct.SCHEMA.fields if version in field.versions}
    if wanted.group is not None and _GROUP in names and getattr(struct, _GROUP) != wanted.group:
        return False
    return wanted.transactional_id is None or all(
        getattr(struct, name) == wanted.transactional_id for name in _TRANSACTIONAL_ID if name in names
    )


def _is_found_outside_lists(struct: Struct, version: int, wanted: Wanted) -> bool:
    """Whether a struct without lists to look at has the wanted names. `_fields_agree` has compared its fields."""
    if wanted.topic is not None:
        return False
    names = {field.name for field in struct.SCHEMA.fields if version in field.versions}
    if "key" in names and (wanted.group is not None or wanted.transactional_id is not None):
        return getattr(struct, "key", None) == _wanted_key(struct, wanted)
    if wanted.group is not None and _GROUP not in names:
        return False
    return wanted.transactional_id is None or any(name in names for name in _TRANSACTIONAL_ID)


def _wanted_key(struct: Any, wanted: Wanted) -> str | None:
    """The key that FindCoordinator must ask for."""
    return wanted.group if struct.key_type == _GROUP_KEY else wanted.transactional_id


def _lists(struct: Struct | type[Struct], version: int | None) -> Iterator[FieldSchema]:
    for field in struct.SCHEMA.fields:
        if isinstance(field.type, Array) and (version is None or version in field.versions):
            yield field


@cache
def names_in(api: ApiKey) -> frozenset[str]:
    """Which of topic, partition, group and transactional_id the requests of an API can name."""
    if api in _NAMELESS:
        return frozenset()
    if api is ApiKey.FIND_COORDINATOR:
        return frozenset(("group", "transactional_id"))
    return frozenset(_names(API_SPECS[api].request_type()))


def _names(struct: type[Struct]) -> Iterator[str]:
    for field in struct.SCHEMA.fields:
        if field.name == _GROUP:
            yield "group"
        if field.name in _TRANSACTIONAL_ID:
            yield "transactional_id"
    for field in _lists(struct, None):
        if field.name in _GROUP_LISTS:
            yield "group"
        elif field.name in _TRANSACTION_LISTS:
            yield "transactional_id"
        elif field.name in _TOPIC_LISTS or field.name == _RESOURCES:
            yield "topic"
        elif field.name in _PARTITION_LISTS:
            yield "partition"
        element = field.type.element if isinstance(field.type, Array) else None
        if isinstance(element, Nested) and field.name in _FOLLOWED:
            yield from _names(element.struct)


_FOLLOWED = _TOPIC_LISTS | _GROUP_LISTS | _TRANSACTION_LISTS | _LISTS_AROUND
