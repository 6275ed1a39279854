"""The mark that a task commits together with its rows. A repeated task finds out by it that its rows are written."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TaskMark"]


class TaskMark(NamedTuple):
    """`rows`: the number of rows of the task. `write`: id of the write, the same in all attempts of its tasks; empty
    in marks of earlier releases. `run`: id of the run of the query; a restarted query has another one.
    """

    rows: int
    write: str
    run: str

    @classmethod
    def from_text(cls, text: str | None) -> TaskMark:
        """Reads the metadata of an offset. Earlier releases wrote only the number of rows."""
        rows, write, run = [*(text or "0").split(), "", ""][:3]
        return cls(int(rows), write, run)

    def text(self) -> str:
        """Returns the metadata of the offset."""
        return f"{self.rows} {self.write} {self.run}"

    def is_of_another_write(self, write: str, run: str) -> bool:
        """Tells whether another write of the same micro-batch, in the same run of the query, left this mark.

        In another run the mark is that of the same write, which Spark repeats: each write renews its marks, so that a
        later write of the run finds them renewed.
        """
        return self.run == run and self.write != write
