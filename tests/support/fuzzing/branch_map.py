"""Shared memory from a traced broker to the fuzzer: the number of branches reached, and the requests that reached them.

A file that both map. The broker alone writes it.

    0  branches reached       8
    8  requests noted         8   those that reached a branch for the first time, counted from the start
    16 the last of them       4 each, their correlation ids; the n-th is at place n modulo ``PLACES``
"""

import mmap
import struct
from pathlib import Path

__all__ = ["BranchMap"]

PLACES = 8192
_HEAD = struct.Struct("=QQ")
_PLACE = struct.Struct("=i")
_SIZE = _HEAD.size + PLACES * _PLACE.size


class BranchMap:
    """Made by the fuzzer (``create``), opened by the broker."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SIZE)
        self._read = 0

    @classmethod
    def create(cls, path: Path) -> "BranchMap":
        path.write_bytes(bytes(_SIZE))
        return cls(path)

    @property
    def branches(self) -> int:
        return int(_HEAD.unpack_from(self._map)[0])

    def note(self, branches: int, correlation_id: int) -> None:
        """The broker: ``branches`` are reached by now, and this request was under way when the last ones were."""
        _, noted = _HEAD.unpack_from(self._map)
        _PLACE.pack_into(self._map, _HEAD.size + noted % PLACES * _PLACE.size, correlation_id)
        _HEAD.pack_into(self._map, 0, branches, noted + 1)

    def new_correlation_ids(self) -> set[int]:
        """The fuzzer: requests noted since it asked last."""
        _, noted = _HEAD.unpack_from(self._map)
        places = range(max(self._read, noted - PLACES), noted)
        self._read = noted
        return {_PLACE.unpack_from(self._map, _HEAD.size + place % PLACES * _PLACE.size)[0] for place in places}

    def close(self) -> None:
        self._map.close()
