"""Generates frames for a broker: meaningful requests, damaged ones, and random bytes."""

import struct
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import DecodeError, EncodeError, decode
from pybroker.protocol.codec.schema import Array, Nested
from support.fuzzing.damage import damaged
from support.fuzzing.frames import ReadFrame, build_frame, header_bytes, tame
from support.fuzzing.grammar import Grammar, boundary_value
from support.fuzzing.world import World, structs_of

__all__ = ["Mutant", "Mutator", "Seed"]

_LONGEST = 6000


class Seed(NamedTuple):
    """A request to mutate: its body in one version."""

    key: ApiKey
    version: int
    body: bytes


class Mutant(NamedTuple):
    """A mutated frame.

    Attributes:
        frame: without its size in front.
        way: how it was made.
        size: what is written in front of it; other than the frame's size on purpose.
    """

    frame: ReadFrame
    way: str
    size: int

    @property
    def is_lying(self) -> bool:
        return self.size != len(self.frame.data)

    @property
    def data(self) -> bytes:
        return struct.pack(">i", self.size) + self.frame.data


class Mutator:
    """Makes random frames from ``seeds``, to which `keep` adds. ``served``: versions by API."""

    def __init__(
        self, random: Random, world: World, served: Mapping[int, Sequence[int]], seeds: Sequence[Seed]
    ) -> None:
        self._random = random
        self._grammar = Grammar(random, world)
        self._served = {ApiKey(key): list(versions) for key, versions in served.items()}
        self._by_key: dict[ApiKey, list[Seed]] = {key: [] for key in self._served}
        self._fresh_keys = [key for key in self._served for _ in range(_WEIGHTS.get(key, 1))]
        self.kept = 0
        for seed in seeds:
            self._add(seed)
        self._ways: list[tuple[str, Callable[[int], ReadFrame]]] = [
            (way.__name__.removeprefix("_"), way)
            for way, weight in (
                (self._fresh, 30),
                (self._altered, 30),
                (self._damaged, 22),
                (self._spliced, 6),
                (self._in_another_version, 5),
                (self._with_damaged_header, 4),
                (self._blind, 3),
            )
            for _ in range(weight)
        ]

    def next(self, correlation_id: int) -> Mutant:
        way, make = self._random.choice(self._ways)
        frame = tame(make(correlation_id))
        size = len(frame.data)
        if self._random.random() < 0.02:
            way = "lying"
            size = self._random.choice(
                (0, -1, 0x7FFFFFFF, -0x80000000, size + 1, size * 2, max(size - 1, 0), 100 << 20)
            )
        return Mutant(frame, way, size)

    def keep(self, frame: ReadFrame) -> None:
        """Add a frame that reached a new branch to the seeds."""
        if frame.key in self._by_key and frame.header_size and len(frame.data) <= _LONGEST:
            self._add(Seed(ApiKey(frame.key), frame.version, frame.data[frame.header_size :]))
            self.kept += 1

    def _add(self, seed: Seed) -> None:
        if seed.key in self._by_key:
            self._by_key[seed.key].append(seed)

    # --- ways

    def _fresh(self, correlation_id: int) -> ReadFrame:
        while True:
            key = self._random.choice(self._fresh_keys)
            version = self._random.choice(self._served[key])
            message = self._grammar.message(API_SPECS[key].request_type(), version)
            try:
                return ReadFrame.read(build_frame(message, version, correlation_id))
            except EncodeError:  # a null or a length that this version cannot carry
                continue

    def _altered(self, correlation_id: int) -> ReadFrame:
        """Change one to three fields of a valid request."""
        seed = self._seed()
        try:
            message = decode(API_SPECS[seed.key].request_type(), seed.body, seed.version)
            for _ in range(self._random.choice((1, 1, 2, 3))):
                self._alter(message, seed.version)
            return ReadFrame.read(build_frame(message, seed.version, correlation_id))
        except (DecodeError, EncodeError):
            return self._damaged(correlation_id)

    def _alter(self, message: Any, version: int) -> None:
        random = self._random
        owner = random.choice(list(structs_of(message)))
        fields = [field for field in owner.SCHEMA.fields if version in field.versions]
        if version in message.MESSAGE.flexible and random.random() < 0.1:
            owner.unknown_tags = {random.choice((50, 1000, 0x7FFFFFFF)): random.randbytes(random.randrange(20))}
            return
        if not fields:
            return
        field = random.choice(fields)
        old = getattr(owner, field.name)
        dice = random.random()
        if version in field.nullable and dice < 0.15:
            value = None
        elif isinstance(field.type, Array) and old and dice < 0.6:
            value = self._altered_list(field.type, old)
        elif not isinstance(field.type, Array | Nested) and dice < 0.6:
            value = boundary_value(field.type, random)
        else:
            value = self._grammar.value(type(owner), field, version)
        setattr(owner, field.name, value)

    def _altered_list(self, array: Array, old: list[Any]) -> list[Any]:
        random = self._random
        match random.randrange(5):
            case 0:
                return [*old, random.choice(old)]
            case 1:
                return old[: random.randrange(len(old))]
            case 2:
                return old[::-1]
            case 3 if not isinstance(array.element, Nested):
                changed = list(old)
                changed[random.randrange(len(old))] = boundary_value(array.element, random)
                return changed
            case _:
                return old * random.choice((2, 5, 20))

    def _damaged(self, correlation_id: int) -> ReadFrame:
        seed = self._seed()
        return self._frame(seed, correlation_id, damaged(seed.body, self._random))

    def _spliced(self, correlation_id: int) -> ReadFrame:
        """Join the beginning of one request and the end of another, sometimes of another API."""
        one = self._seed()
        other = self._random.choice(self._by_key[one.key]) if self._random.random() < 0.7 else self._seed()
        cut = self._random.randrange(len(one.body) + 1)
        onward = self._random.randrange(len(other.body) + 1)
        return self._frame(one, correlation_id, one.body[:cut] + other.body[onward:])

    def _in_another_version(self, correlation_id: int) -> ReadFrame:
        seed = self._seed()
        version = self._random.choice((*self._served[seed.key], -1, 99))
        spec = API_SPECS[seed.key]
        header = bytearray(
            header_bytes(seed.key, max(spec.min_version, min(version, spec.max_version)), correlation_id)
        )
        header[2:4] = struct.pack(">h", version)
        return ReadFrame.read(bytes(header) + seed.body)

    def _with_damaged_header(self, correlation_id: int) -> ReadFrame:
        seed = self._seed()
        header = header_bytes(seed.key, seed.version, correlation_id)
        if self._random.random() < 0.3:
            header = struct.pack(">h", self._random.choice((-1, 88, 1000, 4, 56, 67, 52))) + header[2:]
        return ReadFrame.read(damaged(header, self._random) + seed.body)

    def _blind(self, correlation_id: int) -> ReadFrame:
        random = self._random
        noise = random.randbytes(random.randrange(1, 300))
        if random.random() < 0.3:
            return ReadFrame.read(noise)
        key = random.choice(list(self._served))
        few = bytes(random.choice((0, 0, 1, 1, 2, 3, 5, 127, 128, 255)) for _ in range(random.randrange(80)))
        header = header_bytes(key, random.choice(self._served[key]), correlation_id)
        return ReadFrame.read(header + random.choice((few, noise)))

    # --- parts

    def _seed(self) -> Seed:
        while not (seeds := self._by_key[self._random.choice(self._fresh_keys)]):
            pass
        return self._random.choice(seeds)

    def _frame(self, seed: Seed, correlation_id: int, body: bytes) -> ReadFrame:
        return ReadFrame.read(header_bytes(seed.key, seed.version, correlation_id) + body)


# APIs with more fields are drawn more often.
_WEIGHTS: Mapping[ApiKey, int] = {
    ApiKey.PRODUCE: 8,
    ApiKey.FETCH: 8,
    ApiKey.LIST_OFFSETS: 3,
    ApiKey.METADATA: 3,
    ApiKey.OFFSET_COMMIT: 4,
    ApiKey.OFFSET_FETCH: 4,
    ApiKey.FIND_COORDINATOR: 2,
    ApiKey.JOIN_GROUP: 5,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.HEARTBEAT: 3,
    ApiKey.LEAVE_GROUP: 3,
    ApiKey.CREATE_TOPICS: 2,
    ApiKey.INIT_PRODUCER_ID: 2,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 2,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 2,
}
