"""Generates meaningful requests: every field by its declared type and by the meaning of its name."""

import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from uuid import UUID

from pybroker.protocol.codec import Message, Struct, encode
from pybroker.protocol.codec.schema import Array, Blob, FieldSchema, Fixed, Nested, RecordSet, Text, WireType
from pybroker.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.crc import crc32c
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch
from support.fuzzing.world import World

__all__ = ["Grammar", "boundary_value"]

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_STRANGE_TEXTS = ("", " ", "x" * 249, "x" * 250, "x" * 5000, "\0", "é" * 100, "../x", "null", "%s{0}", "\n", "🦆")
_SMALL = (0, 1, 2, 3, -1, -2)


def boundary_value(wire_type: WireType, random: Random) -> Any:
    """A boundary value of the type."""
    match wire_type:
        case Fixed(name="bool"):
            return random.random() < 0.5
        case Fixed(name="uuid"):
            return random.choice(
                (UUID(int=0), UUID(int=1), UUID(int=(1 << 128) - 1), UUID(int=random.getrandbits(128)))
            )
        case Fixed(name="float64"):
            return random.choice((0.0, -1.5, 1e308, float("inf"), float("nan")))
        case Fixed(name="uint16"):
            return random.choice((0, 1, 0x7FFF, 0xFFFF))
        case Fixed():
            half = 1 << (_BITS[wire_type.name] - 1)
            return random.choice(
                (-half, 1 - half, -2, -1, 0, 1, half // 2, half - 2, half - 1, random.randrange(-half, half))
            )
        case Text():
            return random.choice(_STRANGE_TEXTS)
        case _:
            return random.choice((b"", b"\0", b"\xff" * 20, random.randbytes(random.randrange(200))))


class Grammar:
    """Builds random requests about the objects in ``world``."""

    def __init__(self, random: Random, world: World) -> None:
        self._random = random
        self._world = world
        self._plans: dict[tuple[type[Struct], int], list[tuple[FieldSchema, Callable[[], Any]]]] = {}

    def message(self, message_type: type[Message], version: int) -> Message:
        made: Message = self._struct(message_type, version)
        return made

    def value(self, owner: type[Struct], field: FieldSchema, version: int) -> Any:
        """A value for one field."""
        return self._maker(owner, field, version)()

    def _struct(self, struct_type: type[Any], version: int) -> Any:
        plan = self._plans.get((struct_type, version))
        if plan is None:
            fields = [field for field in struct_type.SCHEMA.fields if version in field.versions]
            plan = [(field, self._maker(struct_type, field, version)) for field in fields]
            self._plans[struct_type, version] = plan
        chance = self._random.random
        made = struct_type()
        for field, maker in plan:
            dice = chance()
            if dice < 0.02 and isinstance(field.type, Fixed | Text | Blob):
                value = boundary_value(field.type, self._random)
            elif dice < 0.05 and version in field.nullable:
                value = None
            elif dice < 0.20 and field.tag is not None:
                continue
            else:
                value = maker()
            setattr(made, field.name, value)
        return made

    def _maker(self, owner: type[Struct], field: FieldSchema, version: int) -> Callable[[], Any]:
        wire_type = field.type
        if isinstance(wire_type, Array):
            element = self._value_maker(owner, field.name, wire_type.element, version)
            return lambda: [element() for _ in range(self._random.choice((0, 1, 1, 1, 1, 2, 3)))]
        return self._value_maker(owner, field.name, wire_type, version)

    def _value_maker(self, owner: type[Struct], name: str, wire_type: WireType, version: int) -> Callable[[], Any]:
        match wire_type:
            case Nested(struct=struct_type):
                if struct_type.__name__ in _CONFIGS:
                    return lambda: self._config(struct_type, version)
                return lambda: self._struct(struct_type, version)
            case RecordSet():
                return self.records
            case _:
                pass
        if (special := self._by_name(owner, name)) is not None:
            return special
        match wire_type:
            case Fixed(name="bool"):
                return lambda: self._random.random() < 0.5
            case Fixed(name="uuid"):
                return self._world.topic_id
            case Fixed(name="float64"):
                return lambda: float(self._random.choice(_SMALL))
            case Fixed():
                return lambda: self._random.choice(_SMALL[:4] if wire_type.name == "uint16" else _SMALL)
            case Text():
                return lambda: self._random.choice(("", "a", "range", "consumer", "0", self._world.topic()))
            case _:
                return self._blob

    def _by_name(self, owner: type[Struct], name: str) -> Callable[[], Any] | None:
        random, world = self._random, self._world
        if name == "name":
            return self._name_in(owner.__name__)
        if name in ("topic", "topic_name", "topic_names", "subscribed_topic_names"):
            return world.topic
        if name in ("group_id", "groups", "groups_names", "group_ids", "coordinator_keys"):
            return world.group
        if name in ("partition", "partitions", "index", "partition_index", "partition_indexes"):
            return world.partition
        if name in ("member_id", "generation_id", "producer_id", "producer_epoch", "session_id", "leader_epoch"):
            nothing = "" if name == "member_id" else -1
            return lambda: nothing if random.random() < 0.3 or (known := world.recall(name)) is None else known
        if name == "generation_id_or_member_epoch":
            return lambda: -1 if random.random() < 0.5 or (known := world.recall("generation_id")) is None else known
        if name == "key" and "FindCoordinator" in owner.__name__:
            return world.group
        if choices := _CHOICES.get(name):
            return lambda: random.choice(choices)
        return None

    def _name_in(self, owner: str) -> Callable[[], Any]:
        """A value for ``name``, which depends on the struct that has the field."""
        if "Protocol" in owner:
            return lambda: self._random.choice(("range", "roundrobin", "sticky", ""))
        if "User" in owner:
            return lambda: self._random.choice(("alice", ""))
        return self._world.topic

    def _config(self, struct_type: type[Any], version: int) -> Any:
        made = self._struct(struct_type, version)
        if self._random.random() < 0.9:
            made.name, made.value = self._world.config()
        return made

    def _blob(self) -> bytes:
        if self._random.random() < 0.5:
            subscription = ConsumerProtocolSubscription(topics=[self._world.topic()])
            return b"\0\0" + encode(subscription, 0)
        return self._random.randbytes(self._random.randrange(40))

    def records(self) -> bytes | None:
        """Batches of every format, most of them valid."""
        random = self._random
        dice = random.random()
        if dice < 0.03:
            return random.choice((None, b"", b"\0" * 61))
        kinds = [self._batch() for _ in range(random.choice((1, 1, 1, 1, 2)))]
        if dice < 0.15:
            kinds = [self._message_set()]
        data = bytearray(b"".join(kinds))
        if dice > 0.75:
            self._damage_batch(data)
        return bytes(data)

    def _records(self) -> list[Record]:
        random = self._random
        now_ms = random.choice((int(time.time() * 1000), 0, -1, 1 << 40, 5))
        return [
            Record(
                offset=offset,
                timestamp_ms=now_ms,
                key=random.choice((None, b"k", b"key")),
                value=random.choice((None, b"", b"v" * random.randrange(60))),
                headers=random.choice(((), (("h", b"1"),), (("", None), ("é", b"")))),
            )
            for offset in range(random.choice((1, 1, 2, 5)))
        ]

    def _batch(self) -> bytes:
        random, world = self._random, self._world
        fields: dict[str, Any] = {"codec": random.choice((Codec.NONE, Codec.NONE, *Codec))}
        if random.random() < 0.3 and (producer_id := world.recall("producer_id")) is not None:
            fields.update(producer_id=producer_id, producer_epoch=random.choice((0, 0, 0, 1, -1)))
            fields["base_sequence"] = random.choice((0, 0, 1, 2, 5, 0x7FFFFFFF))
        if random.random() < 0.05:
            fields[random.choice(("is_transactional", "is_control"))] = True
        if random.random() < 0.03:
            fields["log_append_time_ms"] = 1
        return build_batch(self._records(), **fields)

    def _message_set(self) -> bytes:
        return build_message_set(
            self._records(), magic=self._random.choice((0, 1)), codec=self._random.choice(_OLD_CODECS)
        )

    def _damage_batch(self, data: bytearray) -> None:
        """Damage a batch and correct its checksum, or damage only the checksum."""
        random = self._random
        if len(data) < 61:
            return
        for _ in range(random.choice((1, 1, 2))):
            at = random.randrange(len(data)) if random.random() < 0.5 else random.randrange(61)
            data[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 1 << random.randrange(8)))
        if random.random() < 0.8:
            end = min(len(data), 12 + int.from_bytes(data[8:12], "big"))
            data[17:21] = crc32c(data[21:end]).to_bytes(4, "big")


_CONFIGS = frozenset({"AlterableConfig", "CreatableTopicConfig"})
_OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY)
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "acks": (-1, -1, 1, 1, 0, 2),
    "timeout_ms": (0, 1, 50, 200),
    "max_wait_ms": (0, 0, 1, 20),
    "min_bytes": (0, 0, 1, 1000),
    "max_bytes": (0, 1, 1000, 1 << 20, 0x7FFFFFFF),
    "partition_max_bytes": (0, 1, 100, 1 << 20, 0x7FFFFFFF),
    "fetch_offset": (0, 0, 1, 5, 100, -1, 1 << 62),
    "offset": (-1, 0, 1, 5, 1 << 62),
    "committed_offset": (0, 1, 5, 1000, -1),
    "timestamp": (-1, -2, -3, -4, -5, 0, 1, 1 << 40),
    "isolation_level": (0, 0, 0, 1, 1, 2),
    "session_epoch": (-1, -1, 0, 0, 1, 2, 3),
    "current_leader_epoch": (-1, -1, -1, 0, 1, 5),
    "last_fetched_epoch": (-1, -1, -1, 0, 1),
    "replica_id": (-1, -1, -1, -1, -2, 0, 1),
    "session_timeout_ms": (100, 200, 1000, 0),
    "rebalance_timeout_ms": (50, 100, 200),
    "protocol_type": ("consumer", "consumer", "consumer", "connect", ""),
    "protocol_name": ("range", "range", "roundrobin", None),
    "group_instance_id": (None, None, None, "static-1", "static-2"),
    "transactional_id": (None, None, None, "t-1", ""),
    "num_partitions": (1, 2, 3, -1, 0),
    "replication_factor": (1, 1, -1, 0, 2),
    "count": (1, 3, 4, 5),
    "broker_ids": (0, 0, 0, 1, -1),
    "replicas": (0, 0, 0, 1),
    "resource_type": (2, 2, 2, 4, 8, 32, 16, 0, 3),
    "resource_name": ("alpha", "beta", "compacted", "0", "", "1", "root", "absent", "__consumer_offsets"),
    "configuration_keys": ("cleanup.policy", "retention.ms", "num.io.threads", "absent"),
    "config_operation": (0, 0, 1, 2, 3, 4),
    "key_type": (0, 0, 0, 1, 2),
    "election_type": (0, 0, 1, 2),
    "states_filter": ("Stable", "Empty", "Dead", "x"),
    "types_filter": ("classic", "consumer", "x"),
    "match_type": (0, 1, 2, 3),
    "entity_type": ("user", "client-id", "ip", "x"),
    "response_partition_limit": (2000, 1, 0, -1),
    "client_software_name": ("fuzzer", "x" * 300, "", "-"),
    "committed_metadata": ("", None, "m", "m" * 5000),
}
