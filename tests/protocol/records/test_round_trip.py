"""Any records, in any format and codec, are read back as they were written."""

from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.conversion import down_convert
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Headers, Record, build_batch, read_records
from pybroker.storage.log_config import LogConfig
from support.examples import examples
from support.logs.storage_logs import as_leader_stores, codec_setting
from support.record_bytes import batch_at

OPTIONAL_BYTES = st.none() | st.binary(max_size=200)
TIMESTAMPS = st.integers(min_value=-1, max_value=(1 << 62))
HEADERS: st.SearchStrategy[Headers] = st.lists(st.tuples(st.text(max_size=10), OPTIONAL_BYTES), max_size=4).map(tuple)


@st.composite
def record_lists(draw: st.DrawFn, with_headers: bool = True, gaps: bool = True) -> list[Record]:
    offset = draw(st.integers(min_value=0, max_value=1 << 50))
    records = []
    for _ in range(draw(st.integers(min_value=1, max_value=12))):
        headers = draw(HEADERS) if with_headers else ()
        records.append(Record(offset, draw(TIMESTAMPS), draw(OPTIONAL_BYTES), draw(OPTIONAL_BYTES), headers))
        offset += draw(st.integers(min_value=1, max_value=1 << 20)) if gaps else 1
    return records


@given(record_lists(), st.sampled_from(list(Codec)))
def test_batch_of_magic_2_holds_its_records(records: list[Record], codec: Codec) -> None:
    data = build_batch(records, codec=codec)
    batch = batch_at(data)
    assert list(read_records(batch)) == records
    assert batch.max_timestamp == max(record.timestamp_ms for record in records)
    assert (batch.base_offset, batch.last_offset) == (records[0].offset, records[-1].offset)


@given(
    record_lists(with_headers=False),
    st.sampled_from([0, 1]),
    st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]),
)
def test_message_set_holds_its_records(records: list[Record], magic: int, codec: Codec) -> None:
    data = build_message_set(records, magic, codec)
    read: list[Record] = []
    for batch in iter_batches(data):
        assert batch.is_valid_crc()
        read += read_records(batch)
    if magic == 0:
        records = [Record(record.offset, -1, record.key, record.value) for record in records]
    assert read == records


@settings(max_examples=examples(50))
@given(record_lists(with_headers=False, gaps=False), st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]))
def test_records_survive_a_conversion_down_and_up_again(records: list[Record], codec: Codec) -> None:
    batch = build_batch(records, codec=codec)
    old = down_convert(batch, 1, records[0].offset)
    new = as_leader_stores(old, LogConfig(compression_type=codec_setting(codec)), next_offset=records[0].offset)
    assert list(read_records(batch_at(new))) == records
