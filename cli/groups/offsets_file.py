"""Files of offsets: a line ``topic,partition,offset`` each, as Kafka's tool exports them."""

import csv
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition

__all__ = ["read_offsets"]

_MAX_BYTES = 64 << 20
_MAX_OFFSET = (1 << 63) - 1
_MAX_PARTITION = (1 << 31) - 1


def read_offsets(file: Path) -> dict[TopicPartition, int]:
    """The offsets in a file. Blank lines and a line of titles are passed over. Raises CommandError."""
    try:
        with file.open("rb") as opened:
            data = opened.read(_MAX_BYTES + 1)
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}", BAD_INPUT) from None
    if len(data) > _MAX_BYTES:
        raise CommandError(f"{file} is larger than {_MAX_BYTES >> 20} MiB", BAD_INPUT)
    found: dict[TopicPartition, int] = {}
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and [cell.lower() for cell in cells] == ["topic", "partition", "offset"]):
            continue
        at, offset = _offset(file, number, cells)
        if at in found:
            raise CommandError(f"{file}, line {number}: {at} is there twice", BAD_INPUT)
        found[at] = offset
    if not found:
        raise CommandError(f"{file} has no offsets", BAD_INPUT)
    return found


def _offset(file: Path, line: int, cells: list[str]) -> tuple[TopicPartition, int]:
    numbers = [int(cell) for cell in cells[1:] if cell.isascii() and cell.isdigit() and len(cell) <= 19]
    if len(cells) != 3 or not cells[0] or len(numbers) != 2:
        raise CommandError(f"{file}, line {line}: must be topic,partition,offset", BAD_INPUT)
    partition, offset = numbers
    if partition > _MAX_PARTITION or offset > _MAX_OFFSET:
        raise CommandError(f"{file}, line {line}: the number is too large", BAD_INPUT)
    return TopicPartition(cells[0], partition), offset
