"""The changes of a metadata store whose data ends with this program: many are committed at once.

**Why.** A broker of a test lives for milliseconds and makes a dozen changes, each of which waited for a commit.
"""

from collections.abc import Callable, Mapping

from .embedded_database import EmbeddedDatabase
from .metadata_store import MetadataStoreError
from .znode_tree import RowChange

__all__ = ["LaterCommits"]

_MOST_ROWS = 1000


class LaterCommits:
    """Keeps the newest row of each path until 1000 rows are to be written, or the store ends.

    ``failed`` is called on the loop when a commit failed: its rows are not in the file. ``drops_data``: whether the
    file is removed as soon as the store has ended.
    """

    def __init__(
        self,
        database: EmbeddedDatabase,
        failed: Callable[[MetadataStoreError], None],
        drops_data: Callable[[], bool],
    ) -> None:
        self._database = database
        self._failed = failed
        self._drops_data = drops_data
        self._rows: dict[str, RowChange] = {}
        self._zxid = 0

    def add(self, rows: Mapping[str, RowChange], zxid: int) -> None:
        """Keep rows by path. ``zxid``: of the last of them."""
        self._rows |= rows
        self._zxid = zxid
        if len(self._rows) >= _MOST_ROWS:
            self.commit()

    def commit(self) -> None:
        """Hand the rows to the thread of the database, which commits them before it ends."""
        if self._rows and not self._drops_data():
            rows, self._rows = self._rows, {}
            self._database.commit(list(rows.values()), self._zxid, self._committed)

    def _committed(self, error: MetadataStoreError | None) -> None:
        if error is not None:
            self._failed(error)
