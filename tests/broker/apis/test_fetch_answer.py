"""Answers put together of pieces are, byte for byte, what encoding them as a whole gives."""

import errno
import os
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.broker.apis.records.fetch_answer import FIRST_SHARED_VERSION, partition_data, shared_answer
from pybroker.broker.requests.context import EncodedAnswer
from pybroker.protocol.codec import decode, encode, encode_parts
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchableTopicResponse, FetchResponse
from pybroker.replication.partition.fetch import FetchResult, PartitionFetch
from pybroker.storage.files.files import File, FileRegion, Files, NotCachedError
from pybroker.storage.segment.transaction_index import AbortedTransaction

LATEST_VERSION = 17
Selected = list[tuple[PartitionFetch, FetchResult]]


@pytest.fixture
def file(tmp_path: Path) -> File:
    (tmp_path / "log").write_bytes(os.urandom(1 << 20))
    return Files().open(str(tmp_path / "log"))


def fetch_of(topic: int, partition: int) -> PartitionFetch:
    return PartitionFetch((topic, partition), None, 0, 1 << 20, topic_id=UUID(int=topic))


def records(file: File, position: int, size_bytes: int) -> FetchResult:
    region = FileRegion(file, position, size_bytes)
    return FetchResult(ErrorCode.NONE, 9, 8, 7, records=region, size_bytes=size_bytes)


def as_a_whole(version: int, error: ErrorCode, session_id: int, selected: Selected) -> bytes:
    response = FetchResponse(error_code=error, session_id=session_id)
    for fetch, result in selected:
        topics = response.responses
        if not topics or topics[-1].topic_id != fetch.topic_id:
            assert fetch.topic_id is not None
            topics.append(FetchableTopicResponse(topic_id=fetch.topic_id, partitions=[]))
        topics[-1].partitions.append(partition_data(fetch.key[1], result, version))
    parts = encode_parts(response, version)
    return b"".join(part.read() if isinstance(part, FileRegion) else bytes(part) for part in parts)  # type: ignore[arg-type]


def various(file: File) -> Selected:
    committed = records(file, 500, 300)
    committed.aborted_transactions = [AbortedTransaction(5, 100, 110, 120)]
    elsewhere = FetchResult(ErrorCode.NONE, 3, 3, 0, preferred_read_replica=2)
    news = FetchResult(ErrorCode.NONE, 1 << 40, 5, 4, aborted_transactions=[])
    return [
        (fetch_of(7, 0), records(file, 0, 1)),
        (fetch_of(7, 300), committed),
        (fetch_of(1 << 127, 5), elsewhere),
        (fetch_of(7, 2), news),
        *((fetch_of(9, number), records(file, number, 200 + number)) for number in range(150)),
    ]


@pytest.mark.parametrize("version", range(FIRST_SHARED_VERSION, LATEST_VERSION + 1))
def test_it_is_what_encoding_the_whole_answer_gives(file: File, version: int) -> None:
    selected = various(file)
    for some in (selected, selected[:1], selected[1:4], []):
        shared = shared_answer(version, ErrorCode.NONE, 0x7ABBCCDD, some)
        assert shared is not None
        assert b"".join(shared.parts) == as_a_whole(version, ErrorCode.NONE, 0x7ABBCCDD, some)


def test_each_consumer_has_its_own_session_and_its_own_order(file: File) -> None:
    selected = various(file)
    for session_id, some in ((1, selected), (2, selected[::-1]), (3, selected[2:3])):
        shared = shared_answer(17, ErrorCode.NONE, session_id, some)
        assert shared is not None
        assert b"".join(shared.parts) == as_a_whole(17, ErrorCode.NONE, session_id, some)


def test_a_piece_is_read_and_encoded_once_for_all_versions(file: File) -> None:
    selected = various(file)
    parts: list[bytes] = []
    for version in range(LATEST_VERSION, FIRST_SHARED_VERSION - 1, -1):
        shared = shared_answer(version, ErrorCode.NONE, 1, selected)
        assert shared is not None
        parts = shared.parts
        assert b"".join(parts) == as_a_whole(version, ErrorCode.NONE, 1, selected)
    for _, result in selected:
        assert any(result.encoded is part for part in parts)


def test_errors_large_records_and_files_that_were_cut_are_left_to_the_common_way(file: File) -> None:
    large = [(fetch_of(7, number), records(file, 0, 90_000)) for number in range(3)]
    assert shared_answer(17, ErrorCode.NONE, 1, large[:2]) is not None
    assert shared_answer(17, ErrorCode.NONE, 1, large) is None
    refused = FetchResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert shared_answer(17, ErrorCode.NONE, 1, [*large[:1], (fetch_of(7, 9), refused)]) is None
    beyond = records(file, (1 << 20) - 10, 100)
    assert shared_answer(17, ErrorCode.NONE, 1, [(fetch_of(7, 9), beyond)]) is None


def test_records_that_cannot_be_read_are_left_to_the_common_way(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (NotCachedError("the disk would have to be asked"), OSError(errno.EIO, "broken")):

        def fail(*_arguments: object, error: Exception = error) -> bytes:
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(File, "read_cached_at", fail)
            assert shared_answer(17, ErrorCode.NONE, 1, [(fetch_of(7, 0), records(file, 0, 100))]) is None
    assert shared_answer(17, ErrorCode.NONE, 1, [(fetch_of(7, 0), records(file, 0, 100))]) is not None


def test_what_is_sent_are_bytes(file: File) -> None:
    shared = shared_answer(17, ErrorCode.NONE, 1, various(file))
    assert isinstance(shared, EncodedAnswer)
    assert {type(part) for part in shared.parts} == {bytes}
    assert encode(decode(FetchResponse, b"".join(shared.parts), 17), 17) == b"".join(shared.parts)
