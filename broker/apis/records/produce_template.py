"""Produce requests that carry one batch, decoded and answered by templates in place of the codec.

Why: a producer sends the same bytes again and again, except for the header, the partition and the batch, and its
responses differ only in their offsets. Without templates a small request costs 40 % more CPU (27 and 39 µs, 21 and
31 µs in two runs).
How: the bytes before the partition are looked up, and the response is a template that is filled in.
Limits: any other request is left to the general codec, also one that our own codec would encode differently.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

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
from ...network.request import Request

__all__ = ["TEMPLATE_VERSIONS", "ProduceTemplate", "ProduceTemplates", "SingleBatchRequest"]

TEMPLATE_VERSIONS = range(5, 13)
"""From the first version whose response has all three numbers of an append, and whose batches have magic 2, to the last
one that names topics."""

_MOST_TEMPLATES = 1024  # in a version; each takes 1.6 KiB at most
_MISSES_PER_REPLACEMENT = 16
"""When the table is full, one in so many unknown requests replaces the oldest template. If each did, a broker with more
kinds of requests than templates would make templates and never use them."""
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_MARK = 0x5AFE_C0DE
"""Marks a place in an encoded message: the partition's index, or the throttle time."""
_NUMBERS = Struct(">ihqqq")  # index, error code, base offset, log append time, log start offset
_TAGS = b"\0\0\0"  # no tagged fields of the partition, of the topic, of the request
_MORE = 0x80  # in a byte of a varint: another one follows


class ProduceTemplate:
    """The requests to one topic with the same ``acks`` and timeout, and their responses."""

    __slots__ = ("_head", "_middle", "_pack", "_tail", "acks", "timeout_ms", "topic")

    def __init__(self, topic: str, acks: int, timeout_ms: int, version: int) -> None:
        self.topic = topic
        self.acks = acks
        self.timeout_ms = timeout_ms
        slot = PartitionProduceResponse(index=_MARK, base_offset=-1, log_append_time_ms=-1, log_start_offset=-1)
        topics = [TopicProduceResponse(name=topic, partition_responses=[slot])]
        encoded = encode(ProduceResponse(responses=topics, throttle_time_ms=_MARK), version)
        self._head, rest = encoded.split(_NUMBERS.pack(_MARK, 0, -1, -1, -1))
        self._middle, _, self._tail = rest.rpartition(_INT32.pack(_MARK))
        self._pack = Struct(f">{len(self._head)}sihqqq{len(self._middle)}si{len(self._tail)}s").pack

    def response(self, partition: int, result: AppendResult, throttle_time_ms: int) -> bytes:
        """The body of the response to an append without an error."""
        return self._pack(
            self._head,
            partition,
            0,
            result.base_offset,
            result.log_append_time_ms,
            result.log_start_offset,
            self._middle,
            throttle_time_ms,
            self._tail,
        )


class SingleBatchRequest(NamedTuple):
    """A Produce request with one batch. It has the fields of `ProduceRequest`. ``records`` is a view of its frame."""

    template: ProduceTemplate
    partition: int
    records: memoryview

    @property
    def transactional_id(self) -> None:
        return None

    @property
    def acks(self) -> int:
        return self.template.acks

    @property
    def timeout_ms(self) -> int:
        return self.template.timeout_ms

    @property
    def topic_data(self) -> list[TopicProduceData]:
        data = PartitionProduceData(index=self.partition, records=self.records)
        return [TopicProduceData(name=self.template.topic, partition_data=[data])]


class ProduceTemplates:
    """The `RequestCodec` of one version. It finds templates by the bytes before the partition."""

    __slots__ = ("_locate", "_misses", "_templates", "_version")

    def __init__(self, version: int) -> None:
        self._version = version
        self._locate: Callable[[bytearray, int], tuple[int, int, int] | None] = (
            _locate_flexible if version in ProduceRequest.MESSAGE.flexible else _locate_plain
        )
        self._templates: dict[bytes, ProduceTemplate] = {}
        self._misses = 0

    def decode(self, request: Request) -> SingleBatchRequest | None:
        """See `RequestCodec`."""
        frame, start = request.frame, request.header_size
        place = self._locate(frame, start)
        if place is None:
            return None
        index_position, records_position, end = place
        template = self._templates.get(bytes(frame[start:index_position]))
        if template is None:
            return None
        (partition,) = _INT32.unpack_from(frame, index_position)
        return SingleBatchRequest(template, partition, memoryview(frame)[records_position:end])

    def learn(self, request: Request, message: ProduceRequest, response: Any) -> None:
        """Make a template for requests like this one, if its append had no error. See `RequestCodec`.

        Requests without a response (acks=0) get no template, and neither do those that `decode` could not recognise.
        """
        place = self._locate(request.frame, request.header_size)
        if place is None or bytes(request.frame[request.header_size : place[0]]) in self._templates:
            return
        if not message.acks or len(message.topic_data) != 1 or not isinstance(response, ProduceResponse):
            return
        (topic,) = message.topic_data
        if len(topic.partition_data) != 1 or has_errors(response) or not self._has_space():
            return
        marked = TopicProduceData(name=topic.name, partition_data=[PartitionProduceData(index=_MARK, records=b"")])
        like_it = ProduceRequest(acks=message.acks, timeout_ms=message.timeout_ms, topic_data=[marked])
        encoded = encode(like_it, self._version)
        before_partition = encoded[: encoded.rindex(_INT32.pack(_MARK))]
        self._templates[before_partition] = ProduceTemplate(topic.name, message.acks, message.timeout_ms, self._version)

    def _has_space(self) -> bool:
        if len(self._templates) < _MOST_TEMPLATES:
            return True
        self._misses += 1
        if self._misses % _MISSES_PER_REPLACEMENT:
            return False
        del self._templates[next(iter(self._templates))]
        return True


def has_errors(response: ProduceResponse) -> bool:
    return any(slot.error_code for topic in response.responses for slot in topic.partition_responses)


def _locate_flexible(frame: bytearray, start: int) -> tuple[int, int, int] | None:
    """Where the partition and the records begin, and where the records end, if this is one batch of less than 2 MiB for
    one partition of a topic whose name has less than 127 bytes. Only the end is checked here: the look-up of the
    template checks the bytes before the partition."""
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
