"""Writes the pages that come from the table of settings: ``python -m pybroker.config.document docs/operator``."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from .dynamic_changes import can_be_changed
from .setting import Setting, SupportKind
from .table import BROKER_SECTIONS, BROKER_SETTINGS, DYNAMIC_ONLY_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS

SETTINGS_PAGE = "settings.md"
DEVIATIONS_PAGE = "deviations.md"
DEFAULTS_BEGIN = "<!-- defaults: written by pybroker.config.document -->"
DEFAULTS_END = "<!-- end of defaults -->"

_INTRODUCTION = """\
# Settings

This page is written by `python -m pybroker.config.document docs/operator`.

`pybroker --config server.properties` reads Kafka's own file, in Java's `.properties` syntax (ISO-8859-1; write other
characters as `\\uXXXX`). `--override name=value` takes precedence over the file. `pybroker --print-config` prints every
setting with its source. Names, types, defaults and allowed values are those of Apache Kafka 3.9.1; a default that
differs is bold ([why](deviations.md)).

*Changes* tells whether `kafka-configs` can change the setting while brokers run: for single brokers (per-broker), or
also for all (cluster-wide). A broker's value takes precedence over that of all, and both over the file. On SIGHUP a
broker reads these settings from the file again; others need a restart. `listener.name.<listener>.<setting>` sets a
setting for one listener only.
"""

_NO_EFFECT = {
    SupportKind.NOT_YET: "not yet built",
    SupportKind.NO_MEANING: "no effect",
    SupportKind.REFUSED: "refused",
    SupportKind.OTHER_MODE: "refused",
}


def settings_page() -> str:
    """The text of ``docs/operator/settings.md``."""
    parts = [_INTRODUCTION]
    for title, settings in BROKER_SECTIONS:
        if any(map(_has_effect, settings)):
            parts.append(f"## {title}\n\n" + _table(filter(_has_effect, settings), _MEANING, _CHANGES))
    parts.append(
        "## Topics\n\nSet by `kafka-topics` or `kafka-configs`. A topic without the setting uses the broker's setting "
        "in the second column, which means the same; of several, the first that is set.\n\n"
        + _table(filter(_has_effect, TOPIC_SETTINGS.values()), _BROKERS_SETTING)
    )
    parts.append(
        "## Groups\n\nSet by `kafka-configs --entity-type groups`. A group without the setting uses the broker's "
        "setting.\n\n" + _table(filter(_has_effect, GROUP_SETTINGS.values()), _BROKERS_SETTING)
    )
    parts.append(
        "## Dynamic settings\n\nSet by `kafka-configs`, for a broker or for all; the file's values are ignored.\n\n"
        + _table(DYNAMIC_ONLY_SETTINGS.values(), _MEANING, _CHANGES)
    )
    parts.append(
        "## Settings without effect\n\nThe broker reads and checks these. A line in the log at the start names each "
        "that is set. *Refused* settings ask for protection or a mode of Kafka that pybroker lacks: any value but "
        "Kafka's default stops the start.\n\n" + _without_effect()
    )
    parts.append(
        "## Former names\n\nSettings of old releases of Kafka are ignored; a line in the log names the replacement.\n"
    )
    return "\n".join(parts)


def defaults_table() -> str:
    """The table of defaults in ``docs/operator/deviations.md``."""
    lines = ["| Setting | Kafka's default | Here | When | Why |", "| --- | --- | --- | --- | --- |"]
    for setting in BROKER_SETTINGS.values():
        own = setting.own_default
        if own is not None:
            here = _code(own.text)
            lines.append(f"| `{setting.name}` | {_code(setting.default)} | {here} | {own.when.value} | {own.why} |")
    return "\n".join(lines) + "\n"


def with_defaults(page: str) -> str:
    """``page``, the text of ``docs/operator/deviations.md``, with a new table of defaults."""
    before, _, rest = page.partition(DEFAULTS_BEGIN)
    _, _, after = rest.partition(DEFAULTS_END)
    return f"{before}{DEFAULTS_BEGIN}\n\n{defaults_table()}\n{DEFAULTS_END}{after}"


def write_pages(directory: Path) -> None:
    """Write both pages."""
    (directory / SETTINGS_PAGE).write_text(settings_page(), encoding="utf-8")
    deviations = directory / DEVIATIONS_PAGE
    deviations.write_text(with_defaults(deviations.read_text(encoding="utf-8")), encoding="utf-8")


def _changes(setting: Setting) -> str:
    return setting.scope.value if can_be_changed(setting) else ""


def _meaning(setting: Setting) -> str:
    note = setting.support.note
    return setting.doc + (f" In part: {note}." if note else "")


def _synonyms(setting: Setting) -> str:
    return ", ".join(f"`{name}`" for name in setting.synonyms) or setting.doc


_Column = tuple[str, Callable[[Setting], str]]
_MEANING: _Column = ("Meaning", _meaning)
_CHANGES: _Column = ("Changes", _changes)
_BROKERS_SETTING: _Column = ("Broker's setting", _synonyms)


def _table(settings: Iterable[Setting], second: _Column, last: _Column | None = None) -> str:
    """Columns: the name, ``second``, the default, the type with the allowed values, ``last``."""
    columns: list[_Column] = [("Setting", lambda setting: f"`{setting.name}`"), second]
    columns += [("Default", _default), ("Values", _values), *([last] if last is not None else [])]
    lines = ["|".join(["", *(f" {title} " for title, _ in columns), ""]), "|---" * len(columns) + "|"]
    for setting in settings:
        cells = [cell(setting).replace("|", "\\|") for _, cell in columns]
        # A row may leave out cells at its end.
        lines.append("| " + " | ".join(cells[: -1 if not cells[-1] else None]) + " |")
    return "\n".join(lines) + "\n"


def _has_effect(setting: Setting) -> bool:
    return setting.support.kind not in _NO_EFFECT


def _without_effect() -> str:
    """One row for each reason, with the names of its settings."""
    names: dict[str, list[str]] = {}
    tables = (("", BROKER_SETTINGS), (" (topic)", TOPIC_SETTINGS), (" (group)", GROUP_SETTINGS))
    for whose, settings in tables:
        for setting in settings.values():
            if not _has_effect(setting):
                reason = f"{_NO_EFFECT[setting.support.kind]}: {setting.support.note}"
                names.setdefault(reason, []).append(f"`{setting.name}`{whose}")
    rows = [f"| {reason} | {', '.join(names[reason])} |" for reason in sorted(names)]
    return "\n".join(["| Reason | Settings |", "|---|---|", *rows]) + "\n"


def _default(setting: Setting) -> str:
    own = setting.own_default
    return _code(setting.default) if own is None else f"**{_code(own.text)}**"


def _values(setting: Setting) -> str:
    """The type, and the allowed values as Kafka prints them."""
    if setting.check is None:
        return setting.type.value
    text = str(setting.check)
    if len(text) >= 100:
        words = text.strip("[]").split(", ")
        text = f"{words[0]} … {words[-1]}"
    kind = setting.type.value
    return text if text.endswith(f" {kind}") else f"{kind} {text}"


def _code(text: str | None) -> str:
    if text is None:
        return "null"
    return f"`{text}`" if text else "empty"


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
