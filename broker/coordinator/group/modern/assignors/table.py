"""The assignors that the broker has, by name."""

from collections.abc import Mapping

from .assignor import Assignor
from .range import RangeAssignor
from .uniform import UniformAssignor

__all__ = ["ASSIGNORS"]

ASSIGNORS: Mapping[str, Assignor] = {each.name: each for each in (UniformAssignor(), RangeAssignor())}
