"""One row of the table of series."""

from enum import IntEnum, StrEnum

from ....base.frozen import frozen

__all__ = ["Detail", "Kind", "Series", "Spelling"]


class Kind(StrEnum):
    """Prometheus' types. The samples of a histogram or summary begin with a suffix: ``_bucket{le="1"}``, ``_count``."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


class Spelling(StrEnum):
    """The tool that gave a row its name; `pybroker.metrics.names` selects from these."""

    JMX = "jmx"
    EXPORTER = "exporter"
    LAG = "lag"
    OWN = "own"


class Detail(IntEnum):
    """How many samples a series has: a few a broker, some for each topic or group, or some for each partition."""

    BROKER = 0
    TOPIC = 1
    PARTITION = 2


@frozen
class Series:
    """A series and what it means. ``labels``: names in the order of the text; ``source``: where Kafka has the value.

    A label that some samples lack is in ``labels`` too. ``detail`` is the finest that the series has. ``is_rare``: no
    stock board reads it, so that it is left out first when there are too many series.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    spelling: Spelling
    detail: Detail
    source: str
    is_rare: bool
