"""Compression codecs: compatible with Kafka's libraries in both directions, and bounded for any payload."""

import contextlib
import gzip
import pickle
import struct
import subprocess
import sys
import zlib

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.errors import CorruptRecordError, UnsupportedCompressionTypeError
from pybroker.protocol.records.compression import (
    Codec,
    check_claims,
    codec_of,
    compress,
    decompress,
)
from pybroker.protocol.records.lz4 import short_xxhash32
from pybroker.protocol.records.output_buffer import PayloadTooLargeError
from pybroker.protocol.records.zstd_frame import zstd_bounds

MIB = 1 << 20
TEXT = b"".join(b"record %d of some length " % number for number in range(20_000))
COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def plain(codec: Codec, data: bytes, max_bytes: int = 16 * MIB, magic: int = 2) -> bytes:
    return bytes(decompress(codec, data, max_bytes, magic))


@given(st.sampled_from(list(Codec)), st.binary(max_size=3000), st.integers(min_value=0, max_value=2))
def test_any_payload_round_trips(codec: Codec, data: bytes, magic: int) -> None:
    assert plain(codec, compress(codec, data, magic=magic), magic=magic) == data


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("size", [0, 1, 32768, 65536, 65537, 200_000, len(TEXT)])
def test_payload_over_several_blocks_round_trips(codec: Codec, size: int) -> None:
    for kind in (bytes, bytearray, memoryview):
        assert plain(codec, compress(codec, kind(TEXT[:size]))) == TEXT[:size]
        assert bytes(decompress(codec, kind(compress(codec, TEXT[:size])), MIB)) == TEXT[:size]


@pytest.mark.parametrize(
    ("codec", "lowest", "highest", "default"),
    [(Codec.GZIP, 1, 9, -1), (Codec.LZ4, 1, 17, 9), (Codec.ZSTD, -131072, 22, 3)],
)
def test_every_compression_level_of_kip_390_round_trips(codec: Codec, lowest: int, highest: int, default: int) -> None:
    sizes = {}
    for level in sorted({lowest, 1, 5, 9, highest, default}):
        packed = compress(codec, bytearray(TEXT[:100_000]), level)
        assert packed == compress(codec, memoryview(TEXT)[:100_000], level)
        sizes[level] = len(packed)
        assert plain(codec, packed) == TEXT[:100_000]
    assert sizes[highest] < sizes[lowest]
    assert compress(codec, TEXT[:1000]) == compress(codec, TEXT[:1000], default)


@pytest.mark.parametrize("codec", list(Codec))
def test_output_of_exactly_the_limit_passes_and_one_byte_more_is_refused(codec: Codec) -> None:
    for size in (1, 5000, 65536, 100_000):
        packed = compress(codec, TEXT[:size])
        assert plain(codec, packed, size) == TEXT[:size]
        with pytest.raises(CorruptRecordError):
            decompress(codec, packed, size - 1)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_payload_cut_off_anywhere_is_corrupt(codec: Codec) -> None:
    packed = compress(codec, TEXT[:1000])
    for cut in range(len(packed)):
        try:
            got = plain(codec, packed[:cut])
        except CorruptRecordError:
            continue
        # Snappy's framing has no end mark: cut between chunks, or in a chunk's size, it is only shorter.
        assert codec is Codec.SNAPPY
        assert TEXT.startswith(got)
        assert len(got) < 1000


@given(st.sampled_from(COMPRESSING), st.binary(max_size=300), st.integers(min_value=0, max_value=2))
def test_garbage_decompresses_within_the_limit_or_is_corrupt(codec: Codec, data: bytes, magic: int) -> None:
    with contextlib.suppress(CorruptRecordError):
        assert len(plain(codec, data, 1000, magic)) <= 1000


@given(st.sampled_from(COMPRESSING), st.data())
def test_damaged_payload_has_one_typed_outcome(codec: Codec, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, TEXT[:3000]))
    for _ in range(data.draw(st.integers(min_value=1, max_value=4))):
        position = data.draw(st.integers(min_value=0, max_value=len(packed) - 1))
        packed[position] = data.draw(st.integers(min_value=0, max_value=255))
    with contextlib.suppress(CorruptRecordError):
        assert len(plain(codec, bytes(packed), 5000)) <= 5000


@pytest.mark.parametrize("number", [5, 6, 7])
def test_unassigned_codec_is_unsupported(number: int) -> None:
    with pytest.raises(UnsupportedCompressionTypeError):
        codec_of(number | 0x18)


# gzip


def test_consecutive_gzip_members_are_one_payload() -> None:
    assert plain(Codec.GZIP, gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two")) == b"one two"
    assert plain(Codec.GZIP, gzip.compress(TEXT) * 3) == TEXT * 3


def test_limit_applies_to_all_gzip_members_together() -> None:
    with pytest.raises(CorruptRecordError, match="more than"):
        decompress(Codec.GZIP, gzip.compress(bytes(600)) * 2, 1000)


def test_bytes_after_a_gzip_payload_are_ignored_as_in_java() -> None:
    assert plain(Codec.GZIP, gzip.compress(b"one") + b"junk") == b"one"


def test_gzip_with_a_wrong_checksum_is_corrupt() -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 1
    with pytest.raises(CorruptRecordError):
        decompress(Codec.GZIP, packed, MIB)


def test_zlib_without_gzip_header_is_corrupt() -> None:
    with pytest.raises(CorruptRecordError):
        decompress(Codec.GZIP, zlib.compress(TEXT), MIB)


# snappy

XERIAL = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


def raw_snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def test_snappy_is_written_in_chunks_after_the_header_of_snappy_java() -> None:
    packed = compress(Codec.SNAPPY, TEXT[:40_000])
    assert packed.startswith(XERIAL)
    (size,) = struct.unpack_from(">I", packed, 16)
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + size])) == TEXT[:32768]


def test_raw_snappy_without_header_is_read() -> None:
    assert plain(Codec.SNAPPY, raw_snappy(TEXT)) == TEXT
    assert plain(Codec.SNAPPY, raw_snappy(b"")) == b""
    assert plain(Codec.SNAPPY, raw_snappy(b"\x82SNAPPY\x00")) == b"\x82SNAPPY\x00"


def test_consecutive_snappy_streams_are_one_payload() -> None:
    assert plain(Codec.SNAPPY, compress(Codec.SNAPPY, b"one ") + compress(Codec.SNAPPY, b"two")) == b"one two"


@pytest.mark.parametrize(
    "chunks",
    [
        struct.pack(">I", 0x7FFFFFFF) + b"abc",
        struct.pack(">I", 0xFFFFFFFF),
        struct.pack(">I", 0),
        struct.pack(">I", 5) + b"\xff\xff\xff\xff\x0f",
        struct.pack(">I", 3) + b"\x80\x80\x04",
        XERIAL[:12],
        XERIAL[:4] + b"other---" + XERIAL[12:],
    ],
    ids=["size over", "size negative", "empty", "claims 4 GiB", "claims 64 KiB", "header cut off", "other header"],
)
def test_broken_snappy_chunk_is_corrupt(chunks: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        decompress(Codec.SNAPPY, XERIAL + chunks, 1 << 40)


def test_snappy_payload_with_an_impossible_size_is_refused_before_allocation() -> None:
    with pytest.raises(CorruptRecordError, match="cannot hold"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(20), 1 << 40)


# lz4


def lz4_frame(flags: int, descriptor: int, content: bytes, extra: bytes = b"") -> bytes:
    header = bytes((flags, descriptor)) + extra
    return b"\x04\x22\x4d\x18" + header + bytes((short_xxhash32(header) >> 8 & 0xFF,)) + content


def lz4_block(data: bytes) -> bytes:
    block = bytes(cramjam.lz4.compress_block(data, store_size=False))
    return struct.pack("<I", len(block)) + block


@pytest.mark.parametrize(
    ("data", "digest"),
    # Known answers of xxHash32 with seed 0.
    [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF)],
)
def test_xxhash32_has_the_known_answers(data: bytes, digest: int) -> None:
    assert short_xxhash32(data) == digest


def test_lz4_header_of_the_c_library_passes_its_checksum() -> None:
    # lz4.frame.compress(b"abc" * 100, store_size=True, block_linked=False)
    header = bytes.fromhex("68402c01000000000000")
    assert short_xxhash32(header) >> 8 & 0xFF == 0x84


def test_lz4_header_equals_kafkas() -> None:
    assert compress(Codec.LZ4, b"abc").startswith(bytes.fromhex("04224d18604082"))


def test_magic_0_has_the_wrong_lz4_header_checksum_and_any_is_read() -> None:
    assert plain(Codec.LZ4, compress(Codec.LZ4, TEXT, 12, magic=0), magic=0) == TEXT
    with pytest.raises(CorruptRecordError, match="checksum"):
        decompress(Codec.LZ4, compress(Codec.LZ4, TEXT, 12, magic=0), MIB, magic=1)
    old = compress(Codec.LZ4, b"abc", magic=0)
    assert old[:6] == compress(Codec.LZ4, b"abc")[:6]
    assert old[6] != 0x82
    assert old[7:] == compress(Codec.LZ4, b"abc")[7:]
    assert plain(Codec.LZ4, old, magic=0) == b"abc"
    assert plain(Codec.LZ4, compress(Codec.LZ4, b"abc"), magic=0) == b"abc"
    with pytest.raises(CorruptRecordError, match="checksum"):
        decompress(Codec.LZ4, old, 100, magic=1)


def test_lz4_frames_of_other_libraries_are_read() -> None:
    compressor = cramjam.lz4.Compressor(level=1, content_checksum=True, block_linked=False)
    compressor.compress(TEXT)
    assert plain(Codec.LZ4, bytes(compressor.finish())) == TEXT


def test_lz4_frame_with_every_option_is_read() -> None:
    first, second = lz4_block(TEXT[:200_000]), struct.pack("<I", 3 | 0x80000000) + b"end"
    content = first + b"bsum" + second + b"bsum" + b"\0\0\0\0" + b"csum"
    for descriptor in (0x50, 0x60, 0x70):
        frame = lz4_frame(0x7C, descriptor, content, extra=struct.pack("<Q", 200_003))
        assert plain(Codec.LZ4, frame) == TEXT[:200_000] + b"end"


def test_bytes_after_an_lz4_frame_are_ignored_as_in_kafka() -> None:
    assert plain(Codec.LZ4, compress(Codec.LZ4, b"abc") + b"junk") == b"abc"


@pytest.mark.parametrize(
    ("flags", "descriptor"),
    [(0x40, 0x40), (0x61, 0x40), (0x62, 0x40), (0xA0, 0x40), (0x20, 0x40), (0x60, 0x30), (0x60, 0xC0), (0x60, 0x41)],
)
def test_lz4_frame_of_a_kind_kafka_refuses_is_corrupt(flags: int, descriptor: int) -> None:
    with pytest.raises(CorruptRecordError, match="unsupported flags"):
        decompress(Codec.LZ4, lz4_frame(flags, descriptor, b"\0\0\0\0"), 100)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        struct.pack("<I", 65537 | 0x80000000) + bytes(65537) + b"\0\0\0\0",
        struct.pack("<I", 0x7FFFFFFF) + b"\0\0\0\0",
        struct.pack("<I", 10) + bytes(10),
        lz4_block(bytes(65536 + 1)) + b"\0\0\0\0",
        lz4_block(b"abc"),
    ],
    ids=["nothing", "block over its limit", "block of 2 GiB", "no end mark", "output over the block limit", "cut off"],
)
def test_broken_lz4_block_is_corrupt(content: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        decompress(Codec.LZ4, lz4_frame(0x60, 0x40, content), 1 << 40)


# zstd


def zstd_run_frame(blocks: int, window: int = 0x58) -> bytes:
    """Return a frame of blocks that each encode 128 KiB of zeros in four bytes."""
    block = 131072 << 3 | 1 << 1
    last = struct.pack("<I", block | 1)[:3] + b"\0"
    return b"\x28\xb5\x2f\xfd\x00" + bytes((window,)) + (struct.pack("<I", block)[:3] + b"\0") * (blocks - 1) + last


def test_consecutive_zstd_frames_are_one_payload() -> None:
    skippable = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"
    packed = compress(Codec.ZSTD, b"one ") + skippable + compress(Codec.ZSTD, b"two")
    assert plain(Codec.ZSTD, packed) == b"one two"


def test_zstd_frame_without_a_content_size_is_read() -> None:
    compressor = cramjam.zstd.Compressor()
    packed = b""
    for start in range(0, len(TEXT), 1000):
        compressor.compress(TEXT[start : start + 1000])
        packed += bytes(compressor.flush())
    assert plain(Codec.ZSTD, packed + bytes(compressor.finish())) == TEXT


@given(st.binary(max_size=2000), st.integers(min_value=1, max_value=500))
def test_zstd_content_size_is_within_its_bounds(data: bytes, repeat: int) -> None:
    packed = compress(Codec.ZSTD, data * repeat)
    size = len(data) * repeat
    least, most = zstd_bounds(packed, size)
    assert least <= size <= most


def test_zstd_runs_certainly_over_the_limit_are_refused_early() -> None:
    torn = zstd_run_frame(100)[:-200]  # read to its end it would be broken
    with pytest.raises(PayloadTooLargeError):
        zstd_bounds(torn, 10 * 131072)
    with pytest.raises(CorruptRecordError, match="cut off"):
        zstd_bounds(torn, 100 * 131072)


@given(st.sampled_from(COMPRESSING), st.binary(min_size=1, max_size=3000), st.integers(1, 50))
def test_claimed_size_of_a_payload_is_its_size_or_less(codec: Codec, data: bytes, repeat: int) -> None:
    check_claims(codec, compress(codec, data * repeat), len(data) * repeat)


@pytest.mark.parametrize("codec", [Codec.ZSTD, Codec.SNAPPY], ids=lambda codec: codec.name)
def test_payload_that_claims_too_large_a_size_is_refused_without_decompression(codec: Codec) -> None:
    with pytest.raises(PayloadTooLargeError):
        check_claims(codec, compress(codec, bytes(MIB)), MIB - 1)


def test_zstd_runs_are_read() -> None:
    assert plain(Codec.ZSTD, zstd_run_frame(5)) == bytes(5 * 131072)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x28\xb5\x2f\xfd",
        b"\x28\xb5\x2f\xfd\xe3",
        b"\x1e\xb5\x2f\xfd" + bytes(10),
        b"\x28\xb5\x2f\xfd\x00\x58\x07\x00\x00",
        b"\x50\x2a\x4d\x18\xff\xff\xff\xff",
        b"\x50\x2a\x4d\x18",
    ],
    ids=["nothing", "magic only", "sizes cut off", "old format", "reserved block", "skips 4 GiB", "skip cut off"],
)
def test_broken_zstd_frame_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        decompress(Codec.ZSTD, data, 1 << 40)


# bombs


def bombs() -> list[tuple[int, bytes]]:
    """Return (codec, payload) pairs of at most a few MiB that would decompress to tens or thousands of MiB."""
    packer = zlib.compressobj(9, wbits=31)
    gzip_bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(500)) + packer.flush()
    lz4_chunk = compress(Codec.LZ4, bytes(65536))[7:-4]
    snappy_chunk = compress(Codec.SNAPPY, bytes(32768))[16:]
    plain_chunk = struct.pack("<I", 65536 | 0x80000000) + bytes(65536)
    return [
        (Codec.GZIP, gzip_bomb),
        (Codec.GZIP, gzip.compress(bytes(MIB)) * 500),
        (Codec.SNAPPY, XERIAL + snappy_chunk * 2000),
        (Codec.LZ4, lz4_frame(0x60, 0x40, lz4_chunk * 10_000 + b"\0\0\0\0")),
        (Codec.LZ4, lz4_frame(0x60, 0x70, lz4_chunk * 10_000 + b"\0\0\0\0")),
        (Codec.LZ4, lz4_frame(0x60, 0x40, plain_chunk * 150 + b"\0\0\0\0")),
        (Codec.ZSTD, zstd_run_frame(40_000)),
        (Codec.ZSTD, zstd_run_frame(40_000, window=0xFF)),
        (Codec.ZSTD, zstd_run_frame(40_000, window=0x88)),
        (Codec.ZSTD, zstd_run_frame(8) * 5000),
    ]


# ru_maxrss would do for macOS too, but begins with what the parent process had when it started this one.
PEAK_MIB = r"""
def peak_mib():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
"""

DEFUSE = r"""
import pickle, sys
from pybroker.protocol.errors import CorruptRecordError
from pybroker.protocol.records.compression import Codec, decompress

bombs = pickle.load(sys.stdin.buffer)
before = peak_mib()
for codec, bomb in bombs:
    for limit in (1000, 1 << 20, 8 << 20):
        try:
            decompress(Codec(codec), bomb, limit)
        except CorruptRecordError:
            continue
        sys.exit(f"{Codec(codec).name} bomb passed a limit of {limit}")
print(peak_mib() - before)
"""


needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from /proc")


@needs_proc
def test_decompression_bombs_are_refused_without_taking_their_memory() -> None:
    """Runs in its own process to measure the growth (MiB), which may be the limit plus a decoder's window."""
    payloads = pickle.dumps([(int(codec), payload) for codec, payload in bombs()])
    result = subprocess.run([sys.executable, "-c", PEAK_MIB + DEFUSE], input=payloads, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()
    assert int(result.stdout) < 40


@needs_proc
def test_unused_output_buffer_takes_no_memory() -> None:
    script = r"""
from pybroker.protocol.records.output_buffer import output_buffer
before = peak_mib()
buffer = output_buffer(1 << 30)
buffer[:5] = b"hello"
assert bytes(buffer[:6]) == b"hello\0"
print(peak_mib() - before)
"""
    result = subprocess.run([sys.executable, "-c", PEAK_MIB + script], capture_output=True, text=True, check=True)
    assert int(result.stdout) < 16
