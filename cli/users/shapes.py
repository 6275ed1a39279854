"""Shapes of the JSON that the commands about users print."""

from dataclasses import dataclass
from typing import Annotated

__all__ = ["Credential", "ScramUser", "UserChange"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A way in which a user can log in."""

    mechanism: Annotated[str, "such as SCRAM-SHA-512"]
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramUser:
    """A user with SCRAM credentials."""

    user: str
    credentials: tuple[Credential, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserChange:
    """A change of a user that was made, or with ``--dry-run`` would be."""

    user: str
    change: Annotated[str, "added or removed"]
    mechanisms: tuple[str, ...]
    is_dry_run: bool
