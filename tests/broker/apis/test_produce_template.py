"""A produce template finds in a request exactly the fields that decoding it gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.apis.records import produce_template
from pybroker.broker.apis.records.produce_template import TEMPLATE_VERSIONS, ProduceTemplates, SingleBatchRequest
from pybroker.broker.network.request import Request
from pybroker.protocol.codec import DecodeError, decode_prefix, encode
from pybroker.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from pybroker.replication.partition.append_result import AppendResult
from support.in_process.replicas import ADDRESS, NOW_MS

VERSIONS = TEMPLATE_VERSIONS
INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
versions = st.sampled_from(VERSIONS)
topics = st.text("abcXYZ019._-", min_size=1, max_size=126)
LONGEST_RECORDS = 2097150  # with one more, which the length's varint says, three bytes of it


def request_for(
    topic: str, partition: int = 0, records: bytes | None = b"batch", acks: int = 1, timeout_ms: int = 30_000
) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=records)
    return ProduceRequest(
        acks=acks, timeout_ms=timeout_ms, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )


def response_for(topic: str, slot: PartitionProduceResponse) -> ProduceResponse:
    return ProduceResponse(responses=[TopicProduceResponse(name=topic, partition_responses=[slot])])


def frame_of(request: ProduceRequest, version: int, header: bytes = b"") -> bytearray:
    return bytearray(header + encode(request, version))


def received(frame: bytearray, start: int) -> Request:
    return Request(0, 11, 1, None, start, frame, ADDRESS, NOW_MS)


def find(templates: ProduceTemplates, frame: bytearray, start: int) -> SingleBatchRequest | None:
    return templates.decode(received(frame, start))


def learn(templates: ProduceTemplates, frame: bytearray, request: ProduceRequest) -> None:
    slots = [[PartitionProduceResponse(index=0)] for topic in request.topic_data]
    topics = [TopicProduceResponse(name="t", partition_responses=each) for each in slots]
    templates.learn(received(frame, 0), request, ProduceResponse(responses=topics))


def templates_with(version: int, *requests: ProduceRequest) -> ProduceTemplates:
    templates = ProduceTemplates(version)
    for request in requests:
        learn(templates, frame_of(request, version), request)
    return templates


@given(versions, topics, INT16.filter(bool), INT32, INT32, st.binary(max_size=300), st.binary(max_size=20))
def test_request_of_a_known_kind_matches_with_any_partition_and_batch(
    version: int, topic: str, acks: int, timeout_ms: int, partition: int, records: bytes, header: bytes
) -> None:
    templates = templates_with(version, request_for(topic, 7, b"other", acks, timeout_ms))
    frame = frame_of(request_for(topic, partition, records, acks, timeout_ms), version, header)
    found = find(templates, frame, len(header))
    assert found is not None
    assert (found.template.topic, found.template.acks, found.template.timeout_ms) == (topic, acks, timeout_ms)
    assert (found.partition, bytes(found.records)) == (partition, records)
    if records:
        found.records[0] ^= 0xFF  # the append patches the frame, not a copy
        assert frame.count(bytes(found.records))


@pytest.mark.parametrize("size", [0, 1, 62, 126, 127, 128, 16382, 16383, LONGEST_RECORDS, LONGEST_RECORDS + 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_requests_match_up_to_a_batch_size(version: int, size: int) -> None:
    templates = templates_with(version, request_for("t"))
    found = find(templates, frame_of(request_for("t", records=b"r" * size), version), 0)
    if version >= 9 and size > LONGEST_RECORDS:
        assert found is None
    else:
        assert found is not None
        assert bytes(found.records) == b"r" * size


@st.composite
def broken(draw: st.DrawFn) -> tuple[int, bytearray]:
    """A frame that was changed in a few places, cut off, or followed by other bytes."""
    version = draw(versions)
    frame = frame_of(request_for("topic", draw(INT32), draw(st.binary(max_size=200))), version)
    for _ in range(draw(st.integers(0, 3))):
        frame[draw(st.integers(0, len(frame) - 1))] = draw(st.integers(0, 255))
    cut = draw(st.integers(0, len(frame)))
    return version, frame[:cut] if draw(st.booleans()) else frame + draw(st.binary(max_size=3))


@given(broken())
def test_match_in_arbitrary_bytes_equals_their_decoding(case: tuple[int, bytearray]) -> None:
    version, frame = case
    found = find(templates_with(version, request_for("topic"), request_for("tapic", acks=-1)), frame, 0)
    if found is None:
        return
    try:
        decoded, end = decode_prefix(ProduceRequest, frame, version)
    except DecodeError:
        raise AssertionError("a template was found in bytes that are no request") from None
    assert end == len(frame)
    template = found.template
    like_it = request_for(template.topic, found.partition, bytes(found.records), template.acks, template.timeout_ms)
    assert decoded == like_it


@pytest.mark.parametrize("behind", [b"\1\0\0", b"\0\1\0", b"\0\0\1"])
def test_request_with_tagged_fields_is_decoded(behind: bytes) -> None:
    frame = frame_of(request_for("t"), 11)
    assert find(templates_with(11, request_for("t")), frame[:-3] + behind, 0) is None


def test_request_with_a_length_of_four_bytes_is_decoded() -> None:
    """The first three bytes of the length alone would also be a valid length."""
    frame = frame_of(request_for("t", records=b"r" * 20_000), 11)
    position = frame.index(b"r") - 3
    assert frame[position + 2] < 0x80
    records = bytes(20_000 + (0x80 << 14))
    frame[position + 2] |= 0x80
    frame[position + 3 : -3] = records
    assert find(templates_with(11, request_for("t")), frame, 0) is None


@pytest.mark.parametrize("name_length", [-1, -100, -(1 << 15), (1 << 15) - 1])
def test_request_with_an_impossible_name_length_is_decoded(name_length: int) -> None:
    frame = frame_of(request_for("t"), 8)
    frame[12:14] = name_length.to_bytes(2, "big", signed=True)
    assert find(templates_with(8, request_for("t")), frame, 0) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_request_with_null_records_is_decoded(version: int) -> None:
    frame = frame_of(request_for("t", records=None), version)
    templates = templates_with(version, request_for("t"))
    assert find(templates, frame, 0) is None
    assert find(templates, frame[:-1], 0) is None, "where the null could be taken for what follows it"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "other",
    [
        request_for("other"),
        request_for("t", acks=-1),
        request_for("t", timeout_ms=1),
        ProduceRequest(transactional_id="x", acks=1, timeout_ms=30_000, topic_data=request_for("t").topic_data),
        ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[*request_for("t").topic_data] * 2),
        ProduceRequest(acks=1, timeout_ms=30_000),
    ],
)
def test_request_that_does_not_match_is_decoded(version: int, other: ProduceRequest) -> None:
    assert find(templates_with(version, request_for("t")), frame_of(other, version), 0) is None


def test_request_without_a_response_makes_no_template() -> None:
    request = request_for("t", acks=0)
    assert find(templates_with(11, request), frame_of(request, 11), 0) is None


def test_failed_match_costs_one_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def encode_none(*arguments: object) -> None:
        raise AssertionError("something is being learned")

    long = request_for("t", records=b"r" * (LONGEST_RECORDS + 1))
    known = request_for("t")
    frames = [frame_of(request, 11) for request in (long, known)]
    templates = templates_with(11, known)
    monkeypatch.setattr(produce_template, "encode", encode_none)
    for request, frame in zip((long, known), frames, strict=True):
        learn(templates, frame, request)


def test_timeout_equal_to_the_placeholder_bytes_is_learned_correctly() -> None:
    request = request_for("t", timeout_ms=0x5AFE_C0DE, acks=1)
    found = find(templates_with(11, request), frame_of(request, 11), 0)
    assert found is not None
    assert found.template.timeout_ms == 0x5AFE_C0DE


def test_number_of_templates_is_limited() -> None:
    """A client may send any number of different timeouts."""
    requests = [request_for("t", timeout_ms=timeout_ms) for timeout_ms in range(2500)]
    templates = templates_with(11, *requests)
    known = [find(templates, frame_of(request, 11), 0) is not None for request in requests]
    assert sum(known) == 1024
    assert any(known[1024:]), "the oldest make space"


def test_most_requests_match_when_there_are_more_kinds_than_templates() -> None:
    requests = [request_for("t", timeout_ms=timeout_ms) for timeout_ms in range(1100)]
    frames = [frame_of(request, 11) for request in requests]
    templates = templates_with(11, *requests)
    found = 0
    for request, frame in zip(requests * 10, frames * 10, strict=True):
        if find(templates, frame, 0) is not None:
            found += 1
        else:
            learn(templates, frame, request)
    assert found > 0.8 * 10 * 1100


@given(versions, topics, INT32, INT32, INT64, INT64, INT64)
def test_response_of_a_template_equals_that_of_the_codec(
    version: int, topic: str, throttle_time_ms: int, partition: int, base_offset: int, time_ms: int, start: int
) -> None:
    request = find(templates_with(version, request_for(topic)), frame_of(request_for(topic, partition), version), 0)
    assert request is not None
    slot = PartitionProduceResponse(
        index=partition, base_offset=base_offset, log_append_time_ms=time_ms, log_start_offset=start
    )
    response = response_for(topic, slot)
    response.throttle_time_ms = throttle_time_ms
    result = AppendResult(base_offset=base_offset, log_append_time_ms=time_ms, log_start_offset=start)
    assert request.template.response(partition, result, throttle_time_ms) == encode(response, version)


def test_matched_request_has_the_same_fields_as_a_decoded_one() -> None:
    """The dispatcher and the handler use the same fields of both, for example to name the partitions in a failure."""
    request = request_for("t", 7)
    found = find(templates_with(11, request), frame_of(request, 11), 0)
    assert found is not None
    same = (found.transactional_id, found.acks, found.timeout_ms, found.topic_data)
    assert same == (None, request.acks, request.timeout_ms, request.topic_data)
