"""Shapes of the JSON that the commands about users print."""

from typing import Annotated

from ...base.frozen import frozen

__all__ = ["Credential", "ScramUser", "UserChange"]


@frozen(kw_only=True)
class Credential:
    """A way in which a user can log in."""

    mechanism: Annotated[str, "such as SCRAM-SHA-512"]
    iterations: int


@frozen(kw_only=True)
class ScramUser:
    """A user with SCRAM credentials."""

    user: str
    credentials: tuple[Credential, ...]


@frozen(kw_only=True)
class UserChange:
    """A change of a user that was made, or with ``--dry-run`` would be."""

    user: str
    change: Annotated[str, "added or removed"]
    mechanisms: tuple[str, ...]
    is_dry_run: bool
