"""The pages of ``docs/`` that come from the table: ``python -m pybroker.config.document docs/operator``."""

import sys
from collections.abc import Callable
from pathlib import Path

from .dynamic_changes import can_be_changed
from .former_names import FORMER_NAMES
from .setting import Setting, SupportKind
from .table import BROKER_SECTIONS, BROKER_SETTINGS, DYNAMIC_ONLY_SETTINGS, TOPIC_SETTINGS

SETTINGS_PAGE = "settings.md"
DEVIATIONS_PAGE = "deviations.md"
DEFAULTS_BEGIN = "<!-- defaults: written by pybroker.config.document -->"
DEFAULTS_END = "<!-- end of defaults -->"

_INTRODUCTION = """\
# Settings

This page is written by `python -m pybroker.config.document docs/operator` from the table in `config/settings/`; a test
compares the two.

pybroker reads Kafka's own file, `pybroker --config server.properties`, in Java's `.properties` syntax (as ISO-8859-1:
other characters are written `\\uXXXX`); `--override name=value` stands above it, and `pybroker --print-config` shows
what results. Without any of them it listens on port 9092 and keeps its data under `./pybroker-data`. Names, types,
defaults and allowed values are those of Apache Kafka 3.9.1; where a default differs, it is printed in bold and
[deviations.md](deviations.md) says why.

The column *here* says what pybroker does about a setting that somebody set:

- **yes**: it is acted on.
- **in part**, **not yet**, **no meaning**: as the words say; one line in the log at the start says it too.
- **refused**: it asks for protection or for another mode of Kafka, which are not there; any value but Kafka's default
  stops the start with one line.

*Changes* says which settings can be changed while brokers run, by `kafka-configs` or an admin client: for single
brokers (per-broker), or for single brokers and for all (cluster-wide). What is set for one broker stands above what is
set for all, and both stand above the file. These settings are also read again from the file when the process gets
SIGHUP; changes of others are named in the log and need a restart. A setting for one listener only is written
`listener.name.<listener>.<setting>`.
"""

_HERE = {
    SupportKind.ACTED_ON: "yes",
    SupportKind.PARTLY: "in part",
    SupportKind.NOT_YET: "not yet",
    SupportKind.NO_MEANING: "no meaning",
    SupportKind.REFUSED: "refused",
    SupportKind.OTHER_MODE: "refused",
}


def settings_page() -> str:
    """``docs/operator/settings.md``."""
    parts = [_INTRODUCTION]
    for title, settings in BROKER_SECTIONS:
        parts.append(f"## {title}\n\n" + _table(settings, ("Changes", _changes)))
    parts.append(
        "## Topics\n\nSet on a topic, by `kafka-topics` or `kafka-configs`; without it the broker's setting in the "
        "third column holds, the first of several that is set.\n\n"
        + _table(tuple(TOPIC_SETTINGS.values()), ("Broker's setting", _synonyms))
    )
    parts.append(
        "## Set while brokers run only\n\nSet by `kafka-configs`, for a broker or for all; in the file they are "
        "ignored.\n\n" + _table(tuple(DYNAMIC_ONLY_SETTINGS.values()), ("Changes", _changes))
    )
    parts.append(
        "## Names of the past\n\nThese are ignored, and one line in the log says what stands for them.\n\n" + _former()
    )
    return "\n".join(parts)


def defaults_table() -> str:
    """The part of ``docs/operator/deviations.md`` that lists defaults."""
    lines = ["| Setting | Kafka's default | Here | When | Why |", "| --- | --- | --- | --- | --- |"]
    for setting in BROKER_SETTINGS.values():
        own = setting.own_default
        if own is not None:
            here = _code(own.text)
            lines.append(f"| `{setting.name}` | {_code(setting.default)} | {here} | {own.when.value} | {own.why} |")
    return "\n".join(lines) + "\n"


def with_defaults(page: str) -> str:
    """A text of ``docs/operator/deviations.md`` with its table of defaults renewed."""
    before, _, rest = page.partition(DEFAULTS_BEGIN)
    _, _, after = rest.partition(DEFAULTS_END)
    return f"{before}{DEFAULTS_BEGIN}\n\n{defaults_table()}\n{DEFAULTS_END}{after}"


def write_pages(directory: Path) -> None:
    """Write both pages."""
    (directory / SETTINGS_PAGE).write_text(settings_page(), encoding="utf-8")
    deviations = directory / DEVIATIONS_PAGE
    deviations.write_text(with_defaults(deviations.read_text(encoding="utf-8")), encoding="utf-8")


def _table(settings: tuple[Setting, ...], own_column: tuple[str, Callable[[Setting], str]]) -> str:
    title, column = own_column
    lines = [
        f"| Setting | What it says | {title} | Type | Default | Allowed | Here |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for setting in settings:
        cells = (
            f"`{setting.name}`",
            setting.doc,
            column(setting),
            setting.type.value,
            _default(setting),
            _allowed(setting),
            _here(setting),
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _changes(setting: Setting) -> str:
    return setting.scope.value if can_be_changed(setting) else ""


def _synonyms(setting: Setting) -> str:
    return ", ".join(f"`{name}`" for name in setting.synonyms)


def _default(setting: Setting) -> str:
    own = setting.own_default
    return _code(setting.default) if own is None else f"**{_code(own.text)}**"


def _allowed(setting: Setting) -> str:
    if setting.check is None:
        return ""
    text = str(setting.check)
    if len(text) < 100:
        return text
    words = text.strip("[]").split(", ")
    return f"{words[0]} … {words[-1]}"


def _here(setting: Setting) -> str:
    note = setting.support.note
    return _HERE[setting.support.kind] + (f": {note}" if note else "")


def _former() -> str:
    lines = ["| Name | |", "| --- | --- |"]
    lines += [f"| `{name}` | {instead} |" for name, instead in sorted(FORMER_NAMES.items())]
    return "\n".join(lines) + "\n"


def _code(text: str | None) -> str:
    if text is None:
        return "null"
    return f"`{text}`" if text else "empty"


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
