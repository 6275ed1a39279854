"""Every row of the table of series is complete, and named as Strimzi's rules would name Kafka's MBean."""

import re
from collections import Counter
from pathlib import Path

import pytest
from pybroker.broker.metrics.document import METRICS_PAGE, metrics_page
from pybroker.broker.metrics.series.series import Detail, Kind, Series, Spelling
from pybroker.broker.metrics.series.table import SECTIONS, SERIES, series_named

ROWS = [series for _, rows in SECTIONS for series in rows]
MBEAN = re.compile(r"kafka\.(?P<domain>[\w.]+):type=(?P<type>[\w-]+)(?P<rest>[^:]*)(?::(?P<attribute>[\w-]+))?")


def strimzi_name(mbean: str) -> str:
    """The name that the JMX exporter gives to a value of an MBean, with the rules of Strimzi's examples."""
    found = MBEAN.fullmatch(mbean)
    assert found, mbean
    name = found["attribute"] or re.findall(r",name=([\w-]+)", found["rest"])[0]
    if "clientSoftwareName" in found["rest"]:
        name += "_software"
    name = re.sub(r"PerSec\w*$", "_total", name)
    name = re.sub(r"Percent\w*$", "_percent", name)
    return re.sub(r"[.-]", "_", f"kafka_{found['domain']}_{found['type']}_{name}".lower())


@pytest.mark.parametrize("series", [row for row in ROWS if row.spelling is Spelling.JMX], ids=lambda row: row.name)
def test_jmx_row_is_named_as_strimzis_rules_name_its_mbean(series: Series) -> None:
    expected = strimzi_name(series.source)
    if series.kind is Kind.COUNTER:
        expected = re.sub(r"_count$", "_total", expected)  # OpenMetrics wants this end of every counter
    assert series.name == expected


def test_names_are_unique_and_can_be_looked_up() -> None:
    assert [name for name, count in Counter(series.name for series in ROWS).items() if count > 1] == []
    assert all(series_named(series.name) is series for series in ROWS)
    assert len(SERIES) == len(ROWS)


@pytest.mark.parametrize("series", ROWS, ids=lambda row: row.name)
def test_row_is_complete(series: Series) -> None:
    assert re.fullmatch(r"[a-z_][a-z0-9_]*", series.name)
    assert re.fullmatch(r"[A-Z0-9/][^\\\n\"]+\.", series.help), "the help is a sentence"
    assert series.source
    assert len(set(series.labels)) == len(series.labels)
    assert all(re.fullmatch(r"[a-zA-Z_]\w*", label) for label in series.labels)
    assert (series.kind is Kind.COUNTER) == series.name.endswith("_total")
    assert ("partition" in series.labels) == (series.detail is Detail.PARTITION)
    assert ("quantile" in series.labels) == (series.kind is Kind.SUMMARY)
    assert ("le" in series.labels) == (series.kind is Kind.HISTOGRAM)


def test_page_of_metrics_is_fresh() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "operator" / METRICS_PAGE
    assert page.read_text(encoding="utf-8") == metrics_page(), (
        "run: python -m pybroker.broker.metrics.document docs/operator"
    )
