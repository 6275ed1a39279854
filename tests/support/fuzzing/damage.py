"""Damages bytes at random, for tests of decoders."""

from random import Random

__all__ = ["damaged"]

STRIKING = (
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x7f\xff",
    b"\xff\xff",
    b"\xff\xfe",
    b"\x80\x80\x80\x80\x80\x80",
    b"\0\0\0\0",
    b"\0\0\0\x01",
    b"\x01",
    b"\0",
)
"""Lengths and counts at the edges of their types."""


def damaged(data: bytes, chance: Random) -> bytes:
    """The bytes with one to three random faults."""
    result = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.randrange(len(result) + 1)
        match chance.randrange(7):
            case 0:
                del result[at:]
            case 1:
                del result[at : at + chance.randrange(1, 5)]
            case 2:
                result[at:at] = chance.randbytes(chance.randrange(1, 5))
            case 3:
                striking = chance.choice(STRIKING)
                result[at : at + len(striking)] = striking
            case 4 if at < len(result):
                result[at] = chance.randrange(256)
            case 5 if at < len(result):
                result[at] = (result[at] + chance.choice((-1, 1))) & 0xFF
            case _ if at < len(result):
                result[at] ^= 1 << chance.randrange(8)
    return bytes(result)
