"""How durations are told."""

import pytest
from pybroker.broker.v1.words import duration_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (41.2, "41 s"),
        (60, "1 m 0 s"),
        (391, "6 m 31 s"),
        (3600, "1 h 0 m"),
        (14 * 3600 + 125, "14 h 2 m"),
        (9.5 * 86400, "9 d"),
    ],
)
def test_duration_has_two_units_at_most(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
