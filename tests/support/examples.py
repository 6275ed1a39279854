"""The number of examples that hypothesis tries: fewer in the ordinary run than in the long forms of tests.

The examples are the same in every run. So they find what a change breaks, which few of them do as well as many.
"""

import pytest
from hypothesis import settings

__all__ = ["choose_profile", "examples"]

_ALL = 100
_FEW = 30

# No deadline: machines are shared and noisy.
settings.register_profile("all", derandomize=True, deadline=None, max_examples=_ALL)
settings.register_profile("few", derandomize=True, deadline=None, max_examples=_FEW)


def choose_profile(config: pytest.Config) -> None:
    """Choose how many examples tests try that do not say it, before modules with tests are imported."""
    settings.load_profile("few" if config.getoption("markexpr") == "not long" else "all")


def examples(number: int) -> int:
    """Returns how many of this number of examples the run tries."""
    return max(1, number * settings().max_examples // _ALL)
