"""Settings as ``NAME=VALUE``; ``NAME-`` resets a setting to its default."""

from collections.abc import Iterable, Mapping

from ...base.command_parser import BAD_INPUT, CommandError, named_values

__all__ = ["changes_in"]


def changes_in(pairs: Iterable[str], unset: Iterable[str] = ()) -> Mapping[str, str | None]:
    """Values by name, None for each setting to reset. ``pairs``: NAME=VALUE or NAME-. Raises CommandError."""
    pairs = list(pairs)
    resets = [pair[:-1] for pair in pairs if "=" not in pair and pair.endswith("-") and len(pair) > 1]
    changes: dict[str, str | None] = {}
    changes |= named_values(pair for pair in pairs if "=" in pair or pair[:-1] not in resets)
    for name in (*resets, *unset):
        if name in changes:
            raise CommandError(f"{name}: cannot be set and reset at once", BAD_INPUT)
    return changes | dict.fromkeys((*resets, *unset))
