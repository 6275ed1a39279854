"""The codec beyond Kafka's golden frames: refused values, views of records, limits, and error messages."""

import struct
from dataclasses import dataclass

import pytest
from pybroker.protocol.codec import (
    NULL_UUID,
    DecodeError,
    EncodeError,
    FieldNotInVersionError,
    Message,
    RecordsSource,
    decode,
    decode_prefix,
    encode,
    encode_parts,
    interpreter,
)
from pybroker.protocol.errors import ErrorCode, KafkaError
from pybroker.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse, SupportedFeatureKey
from pybroker.protocol.messages.consumer_offsets import ConsumerGroupMemberMetadataValue
from pybroker.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, RequestCursor
from pybroker.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, FetchTopic
from pybroker.protocol.messages.fetch import PartitionData as FetchedPartition
from pybroker.protocol.messages.headers import RequestHeader
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData


def produce_request(records: bytes | None = b"batch") -> ProduceRequest:
    partitions = [PartitionProduceData(index=3, records=records)]
    return ProduceRequest(acks=-1, timeout_ms=1500, topic_data=[TopicProduceData(name="t", partition_data=partitions)])


def refuses(message_type: type[Message], version: int, data: bytes, match: str | None = None) -> None:
    """Check that both codecs refuse the bytes, and that the compiled one gives this reason."""
    with pytest.raises(DecodeError, match=match):
        decode(message_type, data, version)
    with pytest.raises(DecodeError):
        interpreter.decode(message_type, data, version)


def refuses_to_encode(message: Message, version: int, match: str | None = None) -> None:
    with pytest.raises(EncodeError, match=match):
        encode(message, version)
    with pytest.raises(EncodeError):
        interpreter.encode(message, version)


class TestRecords:
    @pytest.mark.parametrize("version", [3, 9])
    def test_records_are_a_writable_view_of_a_bytearray(self, version: int) -> None:
        frame = bytearray(encode(produce_request(b"batch"), version))
        records = decode(ProduceRequest, frame, version).topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        assert bytes(records) == b"batch"
        records[0] = ord("B")
        assert b"Batch" in frame

    def test_records_of_bytes_cannot_be_written(self) -> None:
        message = decode(ProduceRequest, encode(produce_request(), 9), 9)
        records = message.topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        assert records.readonly

    def test_encoded_parts_contain_the_records_object_itself(self) -> None:
        first, second = b"x" * 1000, memoryview(b"y" * 1000)
        message = FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic="t",
                    partitions=[FetchedPartition(records=first), FetchedPartition(records=second)],
                )
            ]
        )
        parts = encode_parts(message, 12)
        assert len(parts) == 5
        assert parts[1] is first
        assert parts[3] is second
        assert b"".join(part for part in parts if not isinstance(part, RecordsSource)) == encode(message, 12)

    def test_records_outside_memory_are_passed_through(self) -> None:
        @dataclass
        class Region:
            size_bytes: int

        region = Region(200)
        message = FetchResponse(
            responses=[FetchableTopicResponse(topic="t", partitions=[FetchedPartition(records=region)])]
        )
        before, passed, after = encode_parts(message, 12)
        assert passed is region
        assert isinstance(before, bytes)
        assert isinstance(after, bytes)
        whole = before + bytes(200) + after
        assert decode(FetchResponse, whole, 12).responses[0].partitions[0].records == bytes(200)
        with pytest.raises(EncodeError, match="not in memory"):
            encode(message, 12)

    def test_empty_records_add_no_part(self) -> None:
        (part,) = encode_parts(produce_request(b""), 9)
        assert isinstance(part, bytes)
        assert decode(ProduceRequest, part, 9).topic_data[0].partition_data[0].records == b""

    def test_a_message_without_records_is_one_part(self) -> None:
        assert encode_parts(HeartbeatRequest(), 4) == [encode(HeartbeatRequest(), 4)]


class TestFraming:
    def test_frame_cut_off_at_any_byte_is_refused(self) -> None:
        message = produce_request()
        for version in ProduceRequest.MESSAGE.versions:
            frame = encode(message, version)
            for length in range(len(frame)):
                with pytest.raises(DecodeError):
                    decode(ProduceRequest, frame[:length], version)

    @pytest.mark.parametrize("version", [0, 9])
    def test_bytes_left_over_after_a_message_are_refused(self, version: int) -> None:
        refuses(ProduceRequest, version, encode(produce_request(), version) + b"\0", "1 bytes are left over")

    def test_decode_prefix_ends_where_the_message_ends(self) -> None:
        header = RequestHeader(request_api_key=3, request_api_version=9, correlation_id=7, client_id="c")
        for version in (1, 2):
            frame = b"junk" + encode(header, version) + b"body"
            assert decode_prefix(RequestHeader, frame, version, 4) == (header, len(frame) - 4)

    def test_decoding_starts_at_the_given_offset(self) -> None:
        message = HeartbeatRequest(group_id="g", generation_id=4, member_id="m")
        for buffer in (bytes, bytearray, memoryview):
            assert decode(HeartbeatRequest, buffer(b"12345" + encode(message, 4)), 4, 5) == message

    @pytest.mark.parametrize("version", [-1, ProduceRequest.MESSAGE.versions.last + 1, 99])
    def test_version_that_does_not_exist_is_refused(self, version: int) -> None:
        refuses(ProduceRequest, version, encode(produce_request(), 9), "no version")
        refuses_to_encode(produce_request(), version, "no version")


class TestLengths:
    def test_a_string_longer_than_the_rest_is_refused(self) -> None:
        refuses(HeartbeatRequest, 0, b"\x7f\xffab", "group_id claims length 32767, but only 2 bytes are left")
        refuses(HeartbeatRequest, 4, b"\x7fab", "group_id claims length 126, but only 2 bytes are left")

    def test_a_string_over_32767_bytes_is_refused_both_ways(self) -> None:
        longest = HeartbeatRequest(group_id="x" * 32767)
        for version in (0, 4):
            assert decode(HeartbeatRequest, encode(longest, version), version) == longest
            refuses_to_encode(HeartbeatRequest(group_id="x" * 32768), version)
        too_long = b"\x81\x80\x02" + b"x" * 32768 + bytes(7)
        refuses(HeartbeatRequest, 4, too_long, "group_id has 32768 bytes")

    def test_a_string_counts_bytes_and_not_characters(self) -> None:
        refuses_to_encode(HeartbeatRequest(group_id="é" * 16384), 0)
        refuses_to_encode(HeartbeatRequest(group_id="é" * 16384), 4, "32768 bytes")

    def test_array_count_beyond_the_buffer_is_refused_before_allocation(self) -> None:
        # A topic takes at least 6 bytes (name, count of partitions), so 4 of them cannot be in 23 bytes.
        head = struct.pack(">hih", -1, 0, 0)[:6]
        refuses(ProduceRequest, 0, head + struct.pack(">i", 4) + bytes(23), "topic_data claims length 4")
        refuses(ProduceRequest, 0, head + b"\x7f\xff\xff\xff" + bytes(23), "2147483647")
        refuses(ProduceRequest, 9, b"\0" + head + b"\xff\xff\xff\xff\x07" + bytes(23), "2147483646")

    @pytest.mark.parametrize(
        ("request_type", "version", "body", "elements"),
        [
            (MetadataRequest, 1, struct.pack(">i", 50) + b"\x00\x00" * 50, 50),
            # Two topics of three partitions each, and one that the session is to forget, of four.
            (
                FetchRequest,
                7,
                struct.pack(">iiiibiii", -1, 0, 0, 0, 0, 0, 0, 2)
                + (struct.pack(">hi", 0, 3) + bytes(24) * 3) * 2
                + struct.pack(">ihi", 1, 0, 4)
                + bytes(16),
                13,
            ),
            (MetadataRequest, 12, b"\x01\0\0\x03" + b"\x63\0" + b"\x64\0" + b"\x65\0", 3),
        ],
        ids=["one array", "arrays in arrays, of numbers too", "tagged fields"],
    )
    def test_element_limit_counts_all_arrays_however_nested(
        self, request_type: type[Message], version: int, body: bytes, elements: int
    ) -> None:
        for decoded_by in (decode_prefix, interpreter.decode):
            decoded_by(request_type, body, version, max_elements=elements)
            with pytest.raises(DecodeError):
                decoded_by(request_type, body, version, max_elements=elements - 1)

    def test_array_count_of_numbers_is_checked_too(self) -> None:
        refuses(ConsumerGroupMemberMetadataValue, 0, b"\0" * 3 + b"\x7f")
        refuses(FetchRequest, 4, bytes(17) + struct.pack(">ii", 1, 1 << 30))

    def test_bytes_field_longer_than_the_buffer_is_refused(self) -> None:
        frame = encode(JoinGroupRequest(protocols=[JoinGroupRequestProtocol(name="p", metadata=b"abc")]), 0)
        assert frame.endswith(b"\0\0\0\x03abc")
        refuses(JoinGroupRequest, 0, frame[:-7] + b"\0\0\0\x04abc", "metadata claims length 4")

    def test_varint_of_more_than_five_bytes_is_refused(self) -> None:
        refuses(HeartbeatRequest, 4, b"\xff\xff\xff\xff\xff\x01", "varint")
        refuses(HeartbeatRequest, 4, b"\xff\xff\xff\xff\x08", "varint")
        refuses(HeartbeatRequest, 4, b"\xff\xff", "too early")

    def test_varint_may_be_longer_than_necessary(self) -> None:
        frame = encode(ApiVersionsRequest(client_software_name="a"), 3)
        longer = b"\x82\x00" + frame[1:]
        assert decode(ApiVersionsRequest, longer, 3) == interpreter.decode(ApiVersionsRequest, longer, 3)
        assert decode(ApiVersionsRequest, longer, 3).client_software_name == "a"


class TestNulls:
    @pytest.mark.parametrize(("version", "null"), [(0, b"\xff\xff"), (0, b"\x80\0"), (4, b"\0")])
    def test_a_null_string_is_refused_where_null_is_not_allowed(self, version: int, null: bytes) -> None:
        refuses(HeartbeatRequest, version, null + bytes(20), "group_id must not be null")

    @pytest.mark.parametrize(("version", "null"), [(0, b"\xff\xff\xff\xff"), (9, b"\0")])
    def test_a_null_array_is_refused_where_null_is_not_allowed(self, version: int, null: bytes) -> None:
        head = struct.pack(">hi", -1, 0) if version == 0 else b"\0" + struct.pack(">hi", -1, 0)
        refuses(ProduceRequest, version, head + null + b"\0", "topic_data must not be null")

    def test_null_depends_on_the_version(self) -> None:
        # Metadata v0 asks for all topics with an empty list, later versions with null.
        assert decode(MetadataRequest, b"\xff\xff\xff\xff\1\1\1"[:4], 1).topics is None
        refuses(MetadataRequest, 0, b"\xff\xff\xff\xff", "topics must not be null")
        refuses_to_encode(MetadataRequest(topics=None), 0, "message.topics")

    def test_encoding_none_is_refused_where_null_is_not_allowed(self) -> None:
        message = HeartbeatRequest()
        message.group_id = None  # type: ignore[assignment]
        refuses_to_encode(message, 0)
        refuses_to_encode(message, 4)

    def test_nullable_struct_is_preceded_by_a_byte(self) -> None:
        without, cursor = DescribeTopicPartitionsRequest(), RequestCursor(topic_name="t", partition_index=2)
        assert encode(without, 0).endswith(b"\xff\0")
        message = DescribeTopicPartitionsRequest(cursor=cursor)
        assert decode(DescribeTopicPartitionsRequest, encode(message, 0), 0) == message
        # Any byte that is not negative says that there is one.
        odd = encode(message, 0).replace(b"\x01\x02t", b"\x05\x02t")
        assert decode(DescribeTopicPartitionsRequest, odd, 0) == message

    def test_a_nullable_tagged_struct_may_be_null(self) -> None:
        message = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
        frame = encode(message, 0)
        assert frame.endswith(b"\x01\x00\x01\x00")
        assert decode(ConsumerGroupMemberMetadataValue, frame, 0) == message


class TestValues:
    def test_text_that_is_not_utf8_is_refused(self) -> None:
        for bad in (b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"\xe2\x82"):
            refuses(HeartbeatRequest, 0, struct.pack(">h", len(bad)) + bad + bytes(6), "not UTF-8")

    def test_text_that_is_not_unicode_is_refused(self) -> None:
        refuses_to_encode(HeartbeatRequest(group_id="\ud800"), 4)

    def test_every_byte_except_zero_decodes_to_true(self) -> None:
        frame = encode(MetadataRequest(topics=[], allow_auto_topic_creation=True), 4)
        assert frame[-1:] == b"\x01"
        for byte in (b"\x02", b"\x80", b"\xff"):
            assert decode(MetadataRequest, frame[:-1] + byte, 4).allow_auto_topic_creation is True
        assert decode(MetadataRequest, frame[:-1] + b"\0", 4).allow_auto_topic_creation is False

    @pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1, 1.5, "1", None])
    def test_a_number_that_does_not_fit_is_refused(self, value: object) -> None:
        message = HeartbeatRequest()
        message.generation_id = value  # type: ignore[assignment]
        refuses_to_encode(message, 0)
        refuses_to_encode(message, 4)

    def test_a_value_of_the_wrong_kind_is_refused(self) -> None:
        produce = produce_request()
        produce.topic_data = [7]  # type: ignore[list-item]
        with pytest.raises(EncodeError):
            encode(produce, 9)
        join = JoinGroupRequest(protocols=[JoinGroupRequestProtocol(name="p", metadata="text")])  # type: ignore[arg-type]
        with pytest.raises(EncodeError):
            encode(join, 9)
        topic = FetchRequest(topics=[FetchTopic(topic_id="id")])  # type: ignore[arg-type]
        with pytest.raises(EncodeError):
            encode(topic, 13)

    def test_bytes_field_may_be_any_buffer(self) -> None:
        for data in (b"abc", bytearray(b"abc"), memoryview(b"abc")):
            protocol = JoinGroupRequestProtocol(name="p", metadata=data)  # type: ignore[arg-type]
            frame = encode(JoinGroupRequest(protocols=[protocol]), 6)
            assert decode(JoinGroupRequest, frame, 6).protocols[0].metadata == b"abc"


class TestFieldsOutsideTheirVersions:
    def test_field_missing_in_the_version_that_is_not_ignorable_is_refused(self) -> None:
        message = produce_request()
        message.transactional_id = "tx"
        refuses_to_encode(message, 2, "transactional_id is set, but version 2 has no such field")
        assert decode(ProduceRequest, encode(message, 3), 3) == message

    def test_refusal_of_a_field_has_the_code_unsupported_version(self) -> None:
        with pytest.raises(KafkaError) as caught:
            encode(HeartbeatRequest(group_instance_id="i"), 2)
        assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION
        assert isinstance(caught.value, FieldNotInVersionError)

    def test_ignorable_field_missing_in_the_version_is_dropped(self) -> None:
        response = ProduceResponse(throttle_time_ms=5)
        assert encode(response, 0) == encode(ProduceResponse(), 0)

    def test_field_of_an_inner_struct_is_checked_too(self) -> None:
        message = MetadataRequest(topics=[MetadataRequestTopic(name=None)])
        refuses_to_encode(message, 9, "topics.name|item_.*name")

    def test_fields_missing_in_the_version_decode_to_their_default(self) -> None:
        message = decode(FetchRequest, encode(FetchRequest(), 0), 0)
        assert (message.session_epoch, message.max_bytes, message.rack_id) == (-1, 0x7FFFFFFF, "")
        assert message.replica_state.replica_id == -1

    def test_an_absent_nullable_field_may_not_be_null_unless_that_is_the_default(self) -> None:
        message = HeartbeatRequest()
        message.member_id = "m"
        assert encode(message, 2)
        topic = FetchRequest(topics=[FetchTopic(topic="t", topic_id=NULL_UUID)])
        assert encode(topic, 12)


class TestTaggedFields:
    def test_tagged_field_with_its_default_is_not_written(self) -> None:
        assert encode(ApiVersionsResponse(), 3).endswith(b"\0")
        assert len(encode(ApiVersionsResponse(zk_migration_ready=True), 3)) > len(encode(ApiVersionsResponse(), 3))

    def test_unknown_tagged_fields_are_kept_and_written_in_order_with_the_known(self) -> None:
        message = ApiVersionsResponse(finalized_features_epoch=4, zk_migration_ready=True)
        message.unknown_tags = {7: b"seven", 300: b""}
        frame = encode(message, 3)
        assert frame.endswith(b"\x04" + b"\x01\x08" + struct.pack(">q", 4) + b"\x03\x01\x01\x07\x05seven\xac\x02\x00")
        assert decode(ApiVersionsResponse, frame, 3) == message

    def test_unknown_tags_need_a_flexible_version(self) -> None:
        refuses_to_encode(HeartbeatRequest(unknown_tags={1: b""}), 3, "version 3 has none")

    def test_declared_tag_among_the_unknown_ones_is_refused(self) -> None:
        refuses_to_encode(ApiVersionsResponse(unknown_tags={1: b""}), 3, "tag 1")

    def test_tagged_field_with_a_wrong_size_is_refused(self) -> None:
        frame = encode(ApiVersionsResponse(supported_features=[SupportedFeatureKey(name="f")]), 3)
        known = b"\x01\x00\x08\x02\x02f\0\0\0\0\0"
        assert frame.endswith(known)
        refuses(
            ApiVersionsResponse, 3, frame.replace(known, b"\x01\x00\x09\x02\x02f\0\0\0\0\0\0"), "9 bytes as a tagged"
        )
        refuses(ApiVersionsResponse, 3, frame.replace(known, b"\x01\x00\x07\x02\x02f\0\0\0\0\0"), "7 bytes as a tagged")
        refuses(ApiVersionsResponse, 3, frame.replace(known, b"\x01\x00\x7f\x02\x02f\0\0\0\0\0"), "tagged field 0")

    def test_unknown_tagged_field_longer_than_the_buffer_is_refused(self) -> None:
        frame = encode(HeartbeatRequest(), 4)
        refuses(HeartbeatRequest, 4, frame[:-1] + b"\x01\x09\x05abc", "tagged field 9")

    def test_count_of_tagged_fields_without_fields_is_refused(self) -> None:
        refuses(HeartbeatRequest, 4, encode(HeartbeatRequest(), 4)[:-1] + b"\xff\xff\xff\xff\x07", "too early")
        refuses(HeartbeatRequest, 4, encode(HeartbeatRequest(), 4)[:-1] + b"\x07", "too early")

    def test_tagged_field_in_a_version_before_its_first_is_refused(self) -> None:
        # Fetch 12 knows the cluster id (tag 0) but not yet the replica state (tag 1), which came with 15.
        frame = encode(FetchRequest(), 12)
        refuses(FetchRequest, 12, frame[:-1] + b"\x01\x01\x0d" + bytes(13), "replica_state does not exist")


def test_generated_code_shows_in_tracebacks() -> None:
    import linecache

    decode(ProduceRequest, encode(produce_request(), 9), 9)
    assert linecache.getline("<decoder of ProduceRequest v9>", 1).startswith("def decode(")
