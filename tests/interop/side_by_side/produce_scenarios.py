"""Scenarios of Produce and InitProducerId: accepted and refused batches."""

from struct import pack

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import (
    LONG_AGO,
    a_producer,
    a_topic,
    batch,
    consume,
    fetch,
    init_producer,
    list_offsets,
    message_set,
    patched,
    produce,
    produce_many,
    records,
    sequence,
)
from pybroker.protocol.messages.produce import ProduceRequest, TopicProduceData
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch

__all__ = ["SCENARIOS"]

INT64_MAX = (1 << 63) - 1
MAGIC, CRC, ATTRIBUTES, LAST_OFFSET_DELTA, BASE_TIMESTAMP, MAX_TIMESTAMP = 16, 17, 21, 23, 27, 35
PRODUCER_ID, PRODUCER_EPOCH, BASE_SEQUENCE, RECORD_COUNT = 43, 51, 53, 57


def log_of(talk: Conversation, topic: str) -> None:
    """Records the current content of the log."""
    talk.ask(fetch(topic), 12)


# -- accepted


def produce_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in range(12):
        data = message_set(min(version // 2, 1), 2) if version < 3 else batch(2)
        for acks in (1, -1):
            talk.ask(produce(topic, data, acks=acks), version, note=f"acks={acks}")
    log_of(talk, topic)


def produce_without_acknowledgement(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in (0, 3, 11):
        talk.send_unanswered(produce(topic, message_set(0) if version < 3 else batch(), acks=0), version)
    talk.send_unanswered(produce(talk.name("unknown"), batch(), acks=0), 9, note="unknown topic")
    talk.send_unanswered(produce(topic, patched(batch(), CRC, b"nope"), acks=0), 9, note="wrong crc")
    talk.send_unanswered(produce(topic, b"", acks=0), 9, note="no batch")
    talk.send_unanswered(ProduceRequest(acks=0, timeout_ms=1000), 9, note="no topic")
    log_of(talk, topic)


def produce_in_every_codec(talk: Conversation) -> None:
    topic = a_topic(talk)
    for codec in Codec:
        for version in (3, 6, 7, 11):
            talk.ask(produce(topic, batch(3, codec=codec)), version, note=codec.name)
    log_of(talk, topic)


def produce_old_message_sets_in_every_codec(talk: Conversation) -> None:
    topic = a_topic(talk)
    for magic, version in ((0, 0), (0, 1), (1, 2), (0, 2)):
        for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            talk.ask(produce(topic, message_set(magic, 3, codec)), version, note=f"magic {magic}, {codec.name}")
    log_of(talk, topic)


def produce_to_a_topic_with_a_codec_of_its_own(talk: Conversation) -> None:
    """Compares the records, not their compressed size."""
    for codec in ("gzip", "snappy", "lz4", "zstd", "uncompressed"):
        topic = a_topic(talk, codec, compression_type=codec)
        talk.ask(produce(topic, batch(3)), 9)
        talk.ask(produce(topic, batch(3, codec=Codec.GZIP)), 9)
        log_of(talk, topic)


def produce_to_a_topic_with_append_time(talk: Conversation) -> None:
    topic = a_topic(talk, message_timestamp_type="LogAppendTime")
    talk.ask(produce(topic, batch(2)), 9)
    talk.ask(produce(topic, batch(2, codec=Codec.GZIP)), 3)
    talk.ask(produce(topic, message_set(1, 2)), 2)
    log_of(talk, topic)


def produce_to_several_partitions(talk: Conversation) -> None:
    one, two = a_topic(talk, "one", 2), a_topic(talk, "two", 2)
    for version in (3, 9):
        talk.ask(
            produce_many({one: [(0, batch()), (1, batch(2))], two: [(1, batch(3)), (7, batch()), (0, b"")]}), version
        )
    log_of(talk, one)


def produce_to_a_partition_twice_in_one_request(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.ask(produce_many({topic: [(0, batch()), (0, batch(2))]}), 9, see=lambda answer: len(answer["responses"]))
    request = ProduceRequest(acks=1, timeout_ms=1000)
    request.topic_data = [produce(topic, batch()).topic_data[0] for _ in range(2)]
    talk.ask(request, 9, see=lambda answer: len(answer["responses"]))


def produce_nothing(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in (0, 3, 9):
        talk.ask(ProduceRequest(acks=1, timeout_ms=1000), version, note="no topic")
        talk.ask(
            ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic)]),
            version,
            note="no partition",
        )
        talk.ask(produce(topic, b""), version, note="no records")
        # Null records are left out, because Kafka never answers them.


# -- refused


def produce_to_unknown_partitions(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in (0, 3, 7, 8, 9, 10, 11):
        data = message_set(0) if version < 3 else batch()
        talk.ask(produce(talk.name("unknown"), data), version, note="unknown topic")
        talk.ask(produce(topic, data, partition=1), version, note="unknown partition")
        talk.ask(produce(topic, data, partition=-1), version, note="negative partition")
    for name in ("", "a b", ".."):
        talk.ask(produce(name, batch()), 9, note=repr(name))


def produce_to_internal_topics(talk: Conversation) -> None:
    talk.ask(produce("__cluster_metadata", batch()), 9)


def produce_with_wrong_acks(talk: Conversation) -> None:
    topic = a_topic(talk)
    for acks in (2, -2, 32767):
        for version in (0, 3, 8):
            data = message_set(0) if version < 3 else batch()
            talk.ask(produce(topic, data, acks=acks), version, note=f"acks={acks}")
    talk.ask(produce(talk.name("unknown"), batch(), acks=2), 9)
    log_of(talk, topic)


def produce_below_the_least_in_sync_replicas(talk: Conversation) -> None:
    topic = a_topic(talk, min_insync_replicas="2")
    for acks in (1, -1):
        talk.ask(produce(topic, batch(), acks=acks), 9, note=f"acks={acks}")


def produce_with_odd_time_outs(talk: Conversation) -> None:
    topic = a_topic(talk)
    for timeout_ms in (0, -1, 2147483647, -2147483648):
        talk.ask(produce(topic, batch(), timeout_ms=timeout_ms), 9, note=str(timeout_ms))


def produce_several_batches_at_once(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.ask(produce(topic, batch(1) + batch(2)), 9)
    talk.ask(produce(topic, batch(1) + batch(2)), 3)
    talk.ask(produce(topic, message_set(0, 2) + message_set(0, 1, Codec.GZIP)), 0)
    log_of(talk, topic)


def produce_the_wrong_magic_for_the_version(talk: Conversation) -> None:
    topic = a_topic(talk)
    for magic, version in ((0, 3), (1, 3), (0, 9), (1, 9), (1, 0), (1, 1)):
        talk.ask(produce(topic, message_set(magic)), version, note=f"magic {magic}")
    for version in (0, 2):
        talk.ask(produce(topic, batch()), version, note="magic 2")
    for version in (0, 3, 9):
        talk.ask(produce(topic, patched(batch(), MAGIC, b"\3")), version, note="magic 3")
        talk.ask(produce(topic, patched(batch(), MAGIC, b"\xff")), version, note="magic -1")
    talk.ask(produce(topic, message_set(0) + message_set(1)), 2, note="magic 0 and 1")
    log_of(talk, topic)


def produce_a_corrupt_batch(talk: Conversation) -> None:
    topic = a_topic(talk)
    good = batch(3)
    for version in (3, 7, 8, 11):
        talk.ask(produce(topic, patched(good, CRC, b"nope")), version, note="wrong crc")
        talk.ask(produce(topic, patched(good, len(good) - 1, b"!")), version, note="other bytes")
        talk.ask(produce(topic, good[:-1]), version, note="cut")
        talk.ask(produce(topic, good + b"\0"), version, note="a byte more")
        talk.ask(produce(topic, good[:30]), version, note="half a header")
        talk.ask(produce(topic, b"\0" * 100), version, note="zeros")
        talk.ask(produce(topic, b"\xff" * 100), version, note="ones")
    for length in (-1, 0, 1, 48, 10**9):
        talk.ask(produce(topic, patched(good, 8, pack(">i", length))), 9, note=f"length {length}")
    log_of(talk, topic)


def produce_a_corrupt_message_set(talk: Conversation) -> None:
    topic = a_topic(talk)
    for magic, version in ((0, 0), (1, 2)):
        good = message_set(magic, 2)
        talk.ask(produce(topic, patched(good, 12, b"nope")), version, note="wrong crc")
        talk.ask(produce(topic, patched(good, len(good) - 1, b"!")), version, note="wrong crc of the second")
        talk.ask(produce(topic, good[:-1]), version, note="cut")
        talk.ask(produce(topic, good[:20]), version, note="half a header")
        talk.ask(produce(topic, b"\0" * 100), version, note="zeros")
        talk.ask(produce(topic, patched(good, 8, pack(">i", 5))), version, note="size 5")
        talk.ask(produce(topic, patched(good, 8, pack(">i", -5))), version, note="size -5")
    log_of(talk, topic)


def produce_a_batch_whose_counts_are_wrong(talk: Conversation) -> None:
    topic = a_topic(talk)
    good = batch(3)
    for count, last_delta in (
        (0, -1),
        (0, 2),
        (2, 2),
        (4, 2),
        (3, 1),
        (3, 5),
        (-1, 2),
        (3, -1),
        (2147483647, 2147483646),
    ):
        data = patched(good, RECORD_COUNT, pack(">i", count), fix_crc=True)
        data = patched(data, LAST_OFFSET_DELTA, pack(">i", last_delta), fix_crc=True)
        talk.ask(produce(topic, data), 9, note=f"count {count}, last offset delta {last_delta}")
    talk.ask(produce(topic, build_batch([])), 9, note="no record")
    log_of(talk, topic)


def produce_a_batch_with_odd_attributes(talk: Conversation) -> None:
    topic = a_topic(talk)
    good = batch(2)
    for attributes in (0x08, 0x20, 0x40, 0x80, 0x7F00):
        talk.ask(
            produce(topic, patched(good, ATTRIBUTES, pack(">h", attributes), fix_crc=True)), 9, note=hex(attributes)
        )
    for codec in (5, 6, 7):
        data = patched(good, ATTRIBUTES, pack(">h", codec), fix_crc=True)
        talk.ask(produce(topic, data), 9, note=f"codec {codec}")
    log_of(talk, topic)


def produce_a_batch_with_any_offset_and_epoch(talk: Conversation) -> None:
    """The broker assigns offsets and ignores those of the client."""
    topic = a_topic(talk)
    for base_offset, epoch in ((7, 0), (-5, -1), (INT64_MAX, 99), (0, -7)):
        data = patched(patched(batch(2), 0, pack(">q", base_offset)), 12, pack(">i", epoch))
        talk.ask(produce(topic, data), 9, note=f"offset {base_offset}, epoch {epoch}")
    log_of(talk, topic)


def produce_what_is_compressed_but_is_not(talk: Conversation) -> None:
    """With header validation the consumer finds the error; see docs/operator/deviations.md."""
    topic = a_topic(talk, compression_type="uncompressed")
    good = batch(2)
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD):
        data = patched(good, ATTRIBUTES, pack(">h", codec), fix_crc=True)
        talk.ask(produce(topic, data), 9, note=codec.name)
    log_of(talk, topic)


def produce_broken_records(talk: Conversation) -> None:
    topic = a_topic(talk)
    good = batch(2)
    talk.ask(produce(topic, patched(good, 61, b"\x7f", fix_crc=True)), 9, note="record size")
    talk.ask(produce(topic, patched(good, len(good) - 8, b"\xff" * 8, fix_crc=True)), 9, note="last record")
    log_of(talk, topic)


def produce_broken_records_to_a_compacted_topic(talk: Conversation) -> None:
    topic = a_topic(talk, cleanup_policy="compact")
    good = batch(2)
    talk.ask(produce(topic, patched(good, 61, b"\x7f", fix_crc=True)), 9, note="record size")
    talk.ask(produce(topic, patched(good, len(good) - 8, b"\xff" * 8, fix_crc=True)), 9, note="last record")
    log_of(talk, topic)


def produce_without_keys_to_a_compacted_topic(talk: Conversation) -> None:
    topic = a_topic(talk, cleanup_policy="compact")
    key, none = b"key", None
    sets = ([none], [key, none, key, none], [none, none], [key], [b""])
    for keys in sets:
        data = build_batch([Record(n, LONG_AGO, each, b"value") for n, each in enumerate(keys)])
        for version in (3, 7, 8, 11):
            talk.ask(produce(topic, data), version, note=str(keys))
    zipped = build_batch([Record(n, LONG_AGO, each, b"value") for n, each in enumerate([key, none])], codec=Codec.GZIP)
    talk.ask(produce(topic, zipped), 9)
    old = [Record(0, LONG_AGO, key, b"v"), Record(1, LONG_AGO, None, b"v")]
    talk.ask(produce(topic, build_message_set(old, 1)), 2)
    log_of(talk, topic)


def produce_more_than_a_topic_allows(talk: Conversation) -> None:
    topic = a_topic(talk, max_message_bytes="200")
    large = build_batch([Record(0, LONG_AGO, b"key", b"x" * 300)])
    for version in (3, 8, 11):
        talk.ask(produce(topic, large), version)
    talk.ask(produce(topic, build_batch([Record(0, LONG_AGO, b"key", b"x" * 300)], codec=Codec.GZIP)), 9, note="zipped")
    talk.ask(produce(topic, message_set(0, 20)), 0, note="a set of small messages")
    talk.ask(produce(topic, batch(1)), 9, note="small")
    log_of(talk, topic)


def produce_more_than_a_segment_holds(talk: Conversation) -> None:
    topic = a_topic(talk, segment_bytes="1024")
    talk.ask(produce(topic, build_batch([Record(0, LONG_AGO, b"key", b"x" * 1100)])), 9)
    talk.ask(produce(topic, message_set(0, 40)), 0)
    log_of(talk, topic)


def produce_timestamps_out_of_bounds(talk: Conversation) -> None:
    topic = a_topic(talk, message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000")
    for timestamp in (LONG_AGO, 9_999_999_999_999, -1, 0):
        for version in (3, 8, 11):
            talk.ask(produce(topic, build_batch(records(2, timestamp=timestamp))), version, note=str(timestamp))
    talk.ask(produce(topic, build_batch(records(2), codec=Codec.LZ4)), 9, note="compressed")
    talk.ask(produce(topic, message_set(1, 2)), 2, note="message set")
    talk.ask(produce(topic, message_set(0, 2)), 0, note="without timestamps")
    log_of(talk, topic)


def produce_a_wrong_maximal_timestamp(talk: Conversation) -> None:
    """Each in its own log, because a wrong maximum may roll a segment for the next."""
    for timestamp in (0, -1, LONG_AGO + 10_000, -5):
        topic = a_topic(talk, f"topic-{timestamp}")
        data = patched(batch(2), MAX_TIMESTAMP, pack(">q", timestamp), fix_crc=True)
        talk.ask(produce(topic, data), 9, note=str(timestamp))
        log_of(talk, topic)


def produce_negative_timestamps(talk: Conversation) -> None:
    topic = a_topic(talk)
    for timestamp in (-1, -2, -(1 << 62), 0):
        talk.ask(produce(topic, build_batch([Record(0, timestamp, b"key", b"value")])), 9, note=str(timestamp))
    log_of(talk, topic)


def produce_headers_and_nulls(talk: Conversation) -> None:
    topic = a_topic(talk)
    data = build_batch(
        [
            Record(0, LONG_AGO, None, None),
            Record(1, LONG_AGO, b"", b"", (("name", b"value"), ("name", None), ("", b""))),
            Record(2, LONG_AGO - 5, b"key", None),
        ]
    )
    for version in (3, 9):
        talk.ask(produce(topic, data), version)
    talk.ask(fetch(topic), 4)
    for version in (0, 2):
        consume(talk, topic, version)


# -- idempotent producers


def init_producer_id_in_every_version(talk: Conversation) -> None:
    a_producer(talk)
    for version in range(6):
        talk.ask(init_producer(), version)


def init_producer_id_with_odd_arguments(talk: Conversation) -> None:
    a_producer(talk)
    talk.ask(init_producer(transaction_timeout_ms=0), 1, note="no time-out")
    talk.ask(init_producer(transaction_timeout_ms=-1), 4, note="negative time-out")
    for producer_id, epoch in ((5, -1), (-1, 5), (-2, -2), (4, 2), (4, -2), (1 << 60, 32767)):
        for version in (3, 4, 5):
            talk.ask(
                init_producer(producer_id=producer_id, producer_epoch=epoch), version, note=f"{producer_id}, {epoch}"
            )
    talk.ask(init_producer(""), 3, note="empty transactional id")
    talk.ask(init_producer("", producer_id=1), 3, note="empty transactional id, half an identity")


def sequences_in_order(talk: Conversation) -> None:
    topic = a_topic(talk)
    producer = a_producer(talk)
    for first in (0, 2, 4, 6):
        talk.ask(produce(topic, sequence(producer, first, 2)), 9)
    log_of(talk, topic)


def sequences_out_of_order(talk: Conversation) -> None:
    topic = a_topic(talk)
    producer = a_producer(talk)
    for first in (0, 2, 5, 3, 1, -2):
        for version in (3, 8, 11):
            talk.ask(produce(topic, sequence(producer, first)), version, note=f"sequence {first}")
    log_of(talk, topic)


def duplicate_batches(talk: Conversation) -> None:
    topic = a_topic(talk)
    producer = a_producer(talk)
    for first in (0, 2, 4, 6, 8, 10, 12):
        talk.ask(produce(topic, sequence(producer, first, 2)), 9, note=f"sequence {first}")
    for first in (12, 6, 4, 2, 0):
        for acks in (1, -1):
            talk.ask(produce(topic, sequence(producer, first, 2), acks=acks), 9, note=f"again sequence {first}")
    talk.ask(produce(topic, sequence(producer, 12, 1)), 9, note="part of the last")
    talk.ask(produce(topic, sequence(producer, 11, 3)), 9, note="two at once")
    talk.send_unanswered(produce(topic, sequence(producer, 12, 2), acks=0), 9)
    talk.send_unanswered(produce(topic, sequence(producer, 2, 2), acks=0), 9)
    log_of(talk, topic)


def duplicates_in_a_topic_with_append_time(talk: Conversation) -> None:
    topic = a_topic(talk, message_timestamp_type="LogAppendTime")
    producer = a_producer(talk)
    for _ in range(2):
        talk.ask(produce(topic, sequence(producer, 0, 2)), 9)


def a_first_sequence_that_is_not_zero(talk: Conversation) -> None:
    topic = a_topic(talk)
    producer = a_producer(talk)
    talk.ask(produce(topic, sequence(producer, 17)), 9)
    talk.ask(produce(topic, sequence(producer, 18)), 9)
    talk.ask(produce(topic, sequence(producer, 0)), 9)


def a_sequence_that_wraps_around(talk: Conversation) -> None:
    topic = a_topic(talk)
    producer = a_producer(talk)
    talk.ask(produce(topic, sequence(producer, 2147483646, 2)), 9)
    talk.ask(produce(topic, sequence(producer, 0, 2)), 9)
    other = a_producer(talk)
    talk.ask(produce(topic, sequence(other, 2147483647, 3)), 9)
    talk.ask(produce(topic, sequence(other, 2, 1)), 9)
    talk.ask(produce(topic, sequence(other, 2147483647, 3)), 9, note="again")
    log_of(talk, topic)


def producer_epochs(talk: Conversation) -> None:
    topic = a_topic(talk)
    producer = a_producer(talk)
    talk.ask(produce(topic, sequence(producer, 0, epoch=1)), 9)
    for version in (3, 9, 11):
        talk.ask(produce(topic, sequence(producer, 1, epoch=0)), version, note="old epoch")
    talk.ask(produce(topic, sequence(producer, 1, epoch=2)), 9, note="new epoch, but not from 0")
    talk.ask(produce(topic, sequence(producer, 0, epoch=2)), 9, note="new epoch")
    talk.ask(produce(topic, sequence(producer, 1, epoch=1)), 9, note="old epoch again")
    talk.ask(produce(topic, sequence(producer, 1, epoch=2)), 9)
    log_of(talk, topic)


def producer_ids_without_the_rest(talk: Conversation) -> None:
    topic = a_topic(talk)
    for producer_id, epoch, first in (
        (7, -1, 0),
        (7, 0, -1),
        (7, -1, -1),
        (-1, 0, 0),
        (-1, -1, 0),
        (-2, 0, 0),
        (7, -2, 0),
    ):
        data = patched(batch(), PRODUCER_ID, pack(">qhi", producer_id, epoch, first), fix_crc=True)
        talk.ask(produce(topic, data), 9, note=f"id {producer_id}, epoch {epoch}, sequence {first}")
    log_of(talk, topic)


def producer_ids_that_nobody_gave_out(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.ask(produce(topic, sequence(123_456_789, 0)), 9)
    talk.ask(produce(topic, sequence(123_456_789, 1)), 9)
    talk.ask(produce(topic, sequence((1 << 62), 0, epoch=32767)), 9)


def idempotent_message_sets(talk: Conversation) -> None:
    """An idempotent producer's message set, compressed."""
    topic = a_topic(talk)
    producer = a_producer(talk)
    talk.ask(produce(topic, sequence(producer, 0, 3, codec=Codec.ZSTD)), 9)
    talk.ask(produce(topic, sequence(producer, 0, 3, codec=Codec.ZSTD)), 9)
    talk.ask(produce(topic, sequence(producer, 3, 3, codec=Codec.GZIP)), 9)
    talk.ask(list_offsets(topic, -1), 7)


SCENARIOS = [
    produce_in_every_version,
    produce_without_acknowledgement,
    produce_in_every_codec,
    produce_old_message_sets_in_every_codec,
    produce_to_a_topic_with_a_codec_of_its_own,
    produce_to_a_topic_with_append_time,
    produce_to_several_partitions,
    produce_to_a_partition_twice_in_one_request,
    produce_nothing,
    produce_to_unknown_partitions,
    produce_to_internal_topics,
    produce_with_wrong_acks,
    produce_below_the_least_in_sync_replicas,
    produce_with_odd_time_outs,
    produce_several_batches_at_once,
    produce_the_wrong_magic_for_the_version,
    produce_a_corrupt_batch,
    produce_a_corrupt_message_set,
    produce_a_batch_whose_counts_are_wrong,
    produce_a_batch_with_odd_attributes,
    produce_a_batch_with_any_offset_and_epoch,
    produce_what_is_compressed_but_is_not,
    produce_broken_records,
    produce_broken_records_to_a_compacted_topic,
    produce_without_keys_to_a_compacted_topic,
    produce_more_than_a_topic_allows,
    produce_more_than_a_segment_holds,
    produce_timestamps_out_of_bounds,
    produce_a_wrong_maximal_timestamp,
    produce_negative_timestamps,
    produce_headers_and_nulls,
    init_producer_id_in_every_version,
    init_producer_id_with_odd_arguments,
    sequences_in_order,
    sequences_out_of_order,
    duplicate_batches,
    duplicates_in_a_topic_with_append_time,
    a_first_sequence_that_is_not_zero,
    a_sequence_that_wraps_around,
    producer_epochs,
    producer_ids_without_the_rest,
    producer_ids_that_nobody_gave_out,
    idempotent_message_sets,
]
