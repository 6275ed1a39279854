"""Format strings as in kcat: ``%t %p %o %T %k %v %h``.

``%t`` topic, ``%p`` partition, ``%o`` offset, ``%T`` timestamp in ms, ``%k`` key, ``%v`` or ``%s`` value, ``%h``
headers, ``%K`` and ``%V`` or ``%S`` sizes (-1 for none), ``%R`` the value's size as a big-endian int32, ``%%`` a
percent sign; ``\\n``, ``\\t``, ``\\r``, ``\\xHH``, ``\\NNN`` (a byte as a decimal number).
"""

import re
from collections.abc import Callable

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition
from ...protocol.records.record import Record
from .safe_bytes import Shown

__all__ = ["RecordText", "format_function", "header_bytes"]

RecordText = Callable[[TopicPartition, Record], bytes]

_PART = re.compile(rb"%(.)|\\x([0-9a-fA-F]{1,2})|\\([0-9]{1,3})|\\(.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\", b"e": b"\x1b"}


def format_function(text: str, shown: Shown) -> RecordText:
    """Compile a format string. `shown` makes bytes of records safe to print. Raises CommandError."""
    fields: dict[bytes, RecordText] = {
        b"t": lambda at, _: at.topic.encode(),
        b"p": lambda at, _: b"%d" % at.partition,
        b"o": lambda _, record: b"%d" % record.offset,
        b"T": lambda _, record: b"%d" % record.timestamp_ms,
        b"k": lambda _, record: shown(record.key or b""),
        b"v": lambda _, record: shown(record.value or b""),
        b"h": lambda _, record: header_bytes(record, shown),
        b"K": lambda _, record: _size(record.key),
        b"V": lambda _, record: _size(record.value),
        b"R": lambda _, record: (-1 if record.value is None else len(record.value)).to_bytes(4, signed=True),
    }
    fields |= {b"s": fields[b"v"], b"S": fields[b"V"]}
    given = text.encode("utf-8", "surrogateescape")
    pieces: list[bytes | RecordText] = []
    position = 0
    for part in _PART.finditer(given):
        pieces.append(given[position : part.start()])
        position = part.end()
        letter, hexadecimal, decimal, escape = part.groups()
        if letter == b"%":
            pieces.append(b"%")
        elif letter is not None:
            if letter not in fields:
                known = " ".join(f"%{each.decode()}" for each in fields)
                raise CommandError(
                    f"--format-string: %{letter.decode('utf-8', 'replace')} is not one of {known}", BAD_INPUT
                )
            pieces.append(fields[letter])
        else:
            code = int(hexadecimal, 16) if hexadecimal else int(decimal) if decimal else None
            pieces.append(_ESCAPES.get(escape, escape) if code is None else bytes([code & 0xFF]))
    pieces.append(given[position:])
    return lambda at, record: b"".join([each if isinstance(each, bytes) else each(at, record) for each in pieces])


def header_bytes(record: Record, shown: Shown) -> bytes:
    """The headers in kcat's form, ``a=1,b=NULL``."""
    return b",".join(
        [
            shown(name.encode("utf-8", "surrogateescape")) + b"=" + (b"NULL" if value is None else shown(value))
            for name, value in record.headers
        ]
    )


def _size(data: bytes | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)
