"""Short forms in which the tables declare their rows."""

from typing import Protocol

from .rare import RARE
from .series import Detail, Kind, Series, Spelling

__all__ = ["rows_of"]

_DETAIL_OF_LABEL = {
    "topic": Detail.TOPIC,
    "group": Detail.TOPIC,
    "consumergroup": Detail.TOPIC,
    "partition": Detail.PARTITION,
}


class RowMaker(Protocol):
    """Makes a row. The finest label decides its detail."""

    def __call__(self, name: str, text: str, source: str, *labels: str) -> Series: ...


def rows_of(spelling: Spelling) -> tuple[RowMaker, RowMaker, RowMaker, RowMaker]:
    """Functions that make a counter, a gauge, a summary and a histogram of one spelling."""

    def maker(kind: Kind) -> RowMaker:
        def row(name: str, text: str, source: str, *labels: str) -> Series:
            detail = max((_DETAIL_OF_LABEL.get(label, Detail.BROKER) for label in labels), default=Detail.BROKER)
            return Series(name, kind, text, labels, spelling, detail, source, is_rare=name in RARE)

        return row

    return maker(Kind.COUNTER), maker(Kind.GAUGE), maker(Kind.SUMMARY), maker(Kind.HISTOGRAM)
