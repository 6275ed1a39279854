"""Rates and histories as the documents show them."""

from ...views.traffic import History, Rates
from .known_state import KnownState
from .rate_rings import RateRing, Totals

__all__ = ["HISTORY_POINTS", "broker_history", "broker_rates", "topic_history", "topic_rates"]

HISTORY_POINTS = 120


def broker_rates(state: KnownState) -> Rates:
    """Return the rates of this broker; null before the first second is over."""
    requests_per_s = state.recent.traffic.requests_per_s()
    return _rates(state.recent.traffic.broker.recent(), None if requests_per_s is None else round(requests_per_s, 3))


def topic_rates(state: KnownState, topic: str) -> Rates:
    """Return zeros for a topic without traffic on this broker."""
    rates = state.recent.traffic.topics.rates_of(topic)
    return _NO_TRAFFIC if rates is None else _rates(rates)


def broker_history(state: KnownState, points: int = HISTORY_POINTS) -> History:
    return _history(state, state.recent.traffic.broker, points)


def topic_history(state: KnownState, topic: str, points: int = HISTORY_POINTS) -> History | None:
    """Return None for a topic that is not among the busiest."""
    ring = state.recent.traffic.topics.ring_of(topic)
    return None if ring is None else _history(state, ring, points)


def _rates(rates: Totals | None, requests_per_s: float | None = None) -> Rates:
    messages_in, bytes_in, bytes_out = (None, None, None) if rates is None else (round(each, 3) for each in rates)
    return Rates(
        messages_in_per_s=messages_in,
        bytes_in_per_s=bytes_in,
        bytes_out_per_s=bytes_out,
        requests_per_s=requests_per_s,
    )


_NO_TRAFFIC = _rates(Totals(0.0, 0.0, 0.0))


def _history(state: KnownState, ring: RateRing, count: int) -> History:
    points = ring.points(count)
    return History(
        step_ms=points.step_ms,
        end_ms=state.recent.traffic.end_ms,
        messages_in_per_s=points.messages_in,
        bytes_in_per_s=points.bytes_in,
        bytes_out_per_s=points.bytes_out,
    )
