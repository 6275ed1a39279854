"""Scrapes a registry, and reads the text as Prometheus does."""

from collections.abc import Mapping

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics_families
from prometheus_client.parser import text_string_to_metric_families
from pybroker.broker.metrics.exposition import OPEN_METRICS, TEXT, Exposition
from pybroker.broker.metrics.registry import Registry
from pybroker.broker.metrics.selection import Selection
from pybroker.broker.metrics.series.table import series_named

__all__ = ["Samples", "ScrapedSamples", "exposition_of", "samples_in", "scraped_samples", "text_of"]

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
"""The values by name and labels."""


def exposition_of(registry: Registry, selection: Selection | None = None) -> Exposition:
    return Exposition(
        registry,
        selection or Selection(),
        series_named("pybroker_metrics_dropped_series"),
        series_named("pybroker_metrics_failed_sources"),
    )


async def text_of(exposition: Exposition, content_type: str = TEXT) -> str:
    return b"".join([piece async for piece in exposition.text(content_type)]).decode()


def samples_in(text: str, content_type: str = TEXT) -> Samples:
    """Each sample, as Prometheus' Python parser reads it."""
    read = open_metrics_families if content_type == OPEN_METRICS else text_string_to_metric_families
    found = [
        ((sample.name, frozenset(sample.labels.items())), sample.value)
        for family in read(text)
        for sample in family.samples
    ]
    assert len(dict(found)) == len(found), "a series is there twice"
    return dict(found)


async def scraped_samples(registry: Registry) -> "ScrapedSamples":
    exposition = exposition_of(registry)
    text = await text_of(exposition)
    assert exposition.failed == 0
    return ScrapedSamples(samples_in(text))


class ScrapedSamples:
    """The samples of a scrape."""

    def __init__(self, samples: Mapping[tuple[str, frozenset[tuple[str, str]]], float]) -> None:
        self._samples = samples

    def value(self, name: str, **labels: str) -> float:
        return self._samples[name, frozenset(labels.items())]

    def by_labels(self, name: str) -> dict[frozenset[tuple[str, str]], float]:
        return {labels: value for (each, labels), value in self._samples.items() if each == name}

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self._samples}
