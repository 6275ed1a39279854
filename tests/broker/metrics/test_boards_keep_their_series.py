"""With very many partitions the boards keep all series that they read."""

import re

from pybroker.broker.metrics.selection import Selection
from pybroker.broker.metrics.series.rare import RARE
from pybroker.broker.metrics.series.series import Detail
from pybroker.broker.metrics.series.table import SERIES
from support.monitoring.stock_boards import ASKED
from support.source_tree import ROOT

PARTITIONS = 10_000


def test_no_board_and_no_alert_reads_a_series_that_goes_first() -> None:
    assert SERIES.keys() >= RARE
    assert {series for series in RARE if SERIES[series].detail is not Detail.PARTITION} == set()
    ours = [*(ROOT / "monitoring").rglob("*.json"), *(ROOT / "monitoring").rglob("*.yaml")]
    read = {name for path in ours for name in re.findall(r"\b(?:kafka|pybroker)_\w+", path.read_text())}
    assert len(read) > 30
    assert RARE.isdisjoint(read | {asked.series for asked in ASKED})


def test_default_limit_is_enough_for_10_000_topics_of_one_partition_read_by_one_group() -> None:
    of_topics = [each for each in SERIES.values() if "topic" in each.labels]
    totals_and_groups = 1_000  # the broker's own series, and those of the group alone
    assert len(of_topics) * PARTITIONS + totals_and_groups <= Selection().max_series
