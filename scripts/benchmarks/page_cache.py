"""Memory for what a row is about to write.

A virtual machine gives memory that it does not use back to its host, and gets it again page by page when it is written
to. That costs many times what a broker does with such a page: a GiB was written to a file in 0.17 s, and in 1.2 to
1.7 s when its pages had to come from the host. Which row, and which broker, pays for that is chance, and it decided
more than anything else: the same broker took 177,000 and 231,000 records a second within one hour.
"""

import os
from pathlib import Path

__all__ = ["bring_pages"]

_BYTES = 1 << 30
"""More than any row writes, and little enough for the host not to take it back within seconds."""
_PIECE = bytes(1 << 20)


def bring_pages(directory: Path) -> None:
    """Have the machine hold so many pages that are free and were written to just now. Does without where the disk is
    nearly full."""
    space = os.statvfs(directory)
    if space.f_bavail * space.f_frsize < 4 * _BYTES:
        return
    file = directory / "pages"
    with file.open("wb", buffering=0) as writer:
        for _ in range(_BYTES // len(_PIECE)):
            writer.write(_PIECE)
    file.unlink()  # before it goes to the disk
