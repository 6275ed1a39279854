"""What produce requests have in common that carry one batch each, so that they need not be decoded one by one.

A producer sends the same bytes again and again but for header, partition and batch, and is answered the same but for
the offsets. So what comes before the partition is looked up, and the answer is a template that is filled in. Whatever
is not exactly what our own codec would write is decoded.
"""

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from ....protocol.codec import encode
from ....protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from ....replication.partition.append_result import AppendResult

__all__ = ["FIRST_VERSION", "FoundBatch", "ProduceShape", "ProduceShapes"]

FIRST_VERSION = 5
"""The first whose answers have all three numbers of an append. Its batches have to be of magic 2, too."""

_MOST_SHAPES = 1024  # of a version; each has 1.6 KiB at most
_MISSES_FOR_A_PLACE = 16
"""While there is no more room every so many requests that are not known let the oldest shape go. If each did, more
kinds in turn than there is room for would never be found, and cost more than without all this."""
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_MARK = 0x5AFE_C0DE
"""Stands in an encoded message where the partition's index belongs."""
_NUMBERS = Struct(">ihqqq")  # index, error code, base offset, log append time, log start offset
_TAGS = b"\0\0\0"  # none of the partition, of the topic, of the request
_MORE = 0x80  # in a byte of a varint: another one follows


class ProduceShape:
    """The requests to one topic with the same ``acks`` and timeout, and their answers."""

    __slots__ = ("_head", "_pack", "_tail", "acks", "timeout_ms", "topic")

    def __init__(self, topic: str, acks: int, timeout_ms: int, version: int) -> None:
        self.topic = topic
        self.acks = acks
        self.timeout_ms = timeout_ms
        slot = PartitionProduceResponse(index=_MARK, base_offset=-1, log_append_time_ms=-1, log_start_offset=-1)
        topics = [TopicProduceResponse(name=topic, partition_responses=[slot])]
        head, tail = encode(ProduceResponse(responses=topics), version).split(_NUMBERS.pack(_MARK, 0, -1, -1, -1))
        if version in ProduceResponse.MESSAGE.flexible:
            head = b"\0" + head  # the header's tagged fields
        self._head = head
        self._tail = tail
        self._pack = Struct(f">i{len(head)}sihqqq{len(tail)}s").pack

    def answer(self, correlation_id: int, partition: int, result: AppendResult) -> bytes:
        """The whole answer but its size, to an append without an error."""
        return self._pack(
            correlation_id,
            self._head,
            partition,
            0,
            result.base_offset,
            result.log_append_time_ms,
            result.log_start_offset,
            self._tail,
        )


class FoundBatch(NamedTuple):
    """What a request says whose shape is known. ``records`` is a view of its frame."""

    shape: ProduceShape
    partition: int
    records: memoryview


class ProduceShapes:
    """The shapes that were met in one version, by the bytes from the begin of the body to the partition."""

    __slots__ = ("_locate", "_misses", "_shapes", "_version")

    def __init__(self, version: int) -> None:
        self._version = version
        self._locate: Callable[[bytearray, int], tuple[int, int, int] | None] = (
            _locate_flexible if version in ProduceRequest.MESSAGE.flexible else _locate_plain
        )
        self._shapes: dict[bytes, ProduceShape] = {}
        self._misses = 0

    def find(self, frame: bytearray, start: int) -> FoundBatch | None:
        """What the body says that begins at ``start``; None for what has to be decoded."""
        place = self._locate(frame, start)
        if place is None:
            return None
        index_position, records_position, end = place
        shape = self._shapes.get(bytes(frame[start:index_position]))
        if shape is None:
            return None
        (partition,) = _INT32.unpack_from(frame, index_position)
        return FoundBatch(shape, partition, memoryview(frame)[records_position:end])

    def learn(self, frame: bytearray, start: int, request: ProduceRequest) -> None:
        """The body that begins at ``start`` is ``request``, and was answered without an error. What could not be found
        is not remembered, and neither is what gets no answer."""
        place = self._locate(frame, start)
        if place is None or bytes(frame[start : place[0]]) in self._shapes:
            return
        if not request.acks or len(request.topic_data) != 1:
            return
        (topic,) = request.topic_data
        if len(topic.partition_data) != 1 or not self._has_room():
            return
        marked = TopicProduceData(name=topic.name, partition_data=[PartitionProduceData(index=_MARK, records=b"")])
        like_it = ProduceRequest(acks=request.acks, timeout_ms=request.timeout_ms, topic_data=[marked])
        encoded = encode(like_it, self._version)
        before_partition = encoded[: encoded.rindex(_INT32.pack(_MARK))]
        self._shapes[before_partition] = ProduceShape(topic.name, request.acks, request.timeout_ms, self._version)

    def _has_room(self) -> bool:
        if len(self._shapes) < _MOST_SHAPES:
            return True
        self._misses += 1
        if self._misses % _MISSES_FOR_A_PLACE:
            return False
        del self._shapes[next(iter(self._shapes))]
        return True


def _locate_flexible(frame: bytearray, start: int) -> tuple[int, int, int] | None:
    """Where partition and records begin, and where they end, if this is one batch of less than 2 MiB for one partition
    of a topic whose name has less than 127 bytes. Whether it is, but for the end, the look-up tells."""
    size = len(frame)
    name_position = start + 8  # behind a null, acks, timeout, and the count of topics
    if size <= name_position:
        return None
    index_position = name_position + frame[name_position] + 1  # the length's byte says one more; the partitions' count
    position = index_position + 4
    if size < position + 3:
        return None
    length = frame[position]
    position += 1
    if length >= _MORE:
        second = frame[position]
        position += 1
        length += (second - 1) << 7
        if second >= _MORE:
            third = frame[position]
            position += 1
            if third >= _MORE:
                return None
            length += (third - 1) << 14
    end = size - len(_TAGS)
    if length < 1 or position + length - 1 != end or not frame.endswith(_TAGS):
        return None
    return index_position, position, end


def _locate_plain(frame: bytearray, start: int) -> tuple[int, int, int] | None:
    """As `_locate_flexible`, with lengths of a fixed size."""
    size = len(frame)
    name_position = start + 12  # behind a null, acks, timeout, and the count of topics
    if size < name_position + 2:
        return None
    (name_length,) = _INT16.unpack_from(frame, name_position)
    index_position = name_position + 2 + name_length + 4  # the count of partitions
    position = index_position + 4
    if name_length < 0 or size < position + 4:
        return None
    (length,) = _INT32.unpack_from(frame, position)
    position += 4
    if position + length != size:
        return None
    return index_position, position, size
