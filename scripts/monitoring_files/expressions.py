"""Checks expressions of PromQL against the table of series, so that names and labels cannot drift."""

import re

from pybroker.broker.metrics.series.series import Kind, Series
from pybroker.broker.metrics.series.table import SERIES

__all__ = ["UnknownNameError", "checked", "series_in"]

_NAME = re.compile(r"\b(?:kafka|pybroker|process|python)_[a-z_0-9]+\b")
_SELECTOR = re.compile(r"\b((?:kafka|pybroker|process|python)_[a-z_0-9]+)\{([^}]*)\}")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPING = re.compile(r"\bby \(([^)]*)\)")
_OF_PROMETHEUS = {"instance", "job", "le"}


class UnknownNameError(ValueError):
    """The table of series lacks a name or a label."""


def series_in(expression: str) -> list[Series]:
    """The series that an expression reads, in its order. Raises UnknownNameError."""
    return [_series(name) for name in dict.fromkeys(_NAME.findall(expression))]


def checked(expression: str) -> str:
    """The expression. Raises UnknownNameError for a series, or for a label that none of its series has."""
    labels = {label for series in series_in(expression) for label in series.labels} | _OF_PROMETHEUS
    named = [label for _, matchers in _SELECTOR.findall(expression) for label in _LABEL.findall(matchers)]
    named += [label.strip() for group in _GROUPING.findall(expression) for label in group.split(",")]
    for label in named:
        if label not in labels:
            raise UnknownNameError(f"{expression}: no series has the label {label}")
    return expression


def _series(name: str) -> Series:
    if name in SERIES:
        return SERIES[name]
    base, _, suffix = name.rpartition("_")
    kinds = {"bucket": (Kind.HISTOGRAM,), "sum": (Kind.HISTOGRAM,), "count": (Kind.HISTOGRAM, Kind.SUMMARY)}
    if base in SERIES and SERIES[base].kind in kinds.get(suffix, ()):
        return SERIES[base]
    raise UnknownNameError(f"no series {name}")
