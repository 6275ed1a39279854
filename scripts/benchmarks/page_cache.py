"""Makes the machine hold free memory pages before a row writes to disk.

**Why**: a virtual machine returns unused memory to its host and gets it back page by page on write, which costs many
times what a broker does with a page: writing a GiB took 0.17 s, or 1.2 to 1.7 s with pages from the host. By chance one
broker or the other would pay for that.
"""

import os
from pathlib import Path

__all__ = ["reserve_pages"]

_BYTES = 1 << 30
"""More than any row writes, and little enough that the host does not take it back within seconds."""
_PIECE = bytes(1 << 20)


def reserve_pages(directory: Path) -> None:
    """Writes and deletes a file, so that its pages are free but still held. Does nothing if the disk is nearly full."""
    space = os.statvfs(directory)
    if space.f_bavail * space.f_frsize < 4 * _BYTES:
        return
    file = directory / "pages"
    with file.open("wb", buffering=0) as writer:
        for _ in range(_BYTES // len(_PIECE)):
            writer.write(_PIECE)
    file.unlink()  # before the kernel writes it to disk
