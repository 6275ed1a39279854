"""Named sets of client settings in a TOML file: a table for each name, with Kafka's names of settings."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.printable import printable

__all__ = ["PROFILES_EXAMPLE", "place_of", "profile_settings", "profiles_file"]

PROFILES_EXAMPLE = """\
[prod]
bootstrap.servers = "kafka-1.example.org:9093,kafka-2.example.org:9093"
security.protocol = "SASL_SSL"
ssl.truststore.location = "/etc/kafka/ca.pem"
ssl.truststore.type = "PEM"
sasl.mechanism = "SCRAM-SHA-512"
sasl.jaas.config = '''org.apache.kafka.common.security.scram.ScramLoginModule required
  username="ana" password="secret";'''

[test]
bootstrap.servers = "localhost:9092"
"""
_ERROR_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_HEADER = re.compile(r"\s*\[([^\[\]]*)\]\s*(?:#.*)?")


def profiles_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where profiles are: ``profiles.toml`` in the user's directory of settings for pybroker."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "~")) / ".config")
    return Path(home) / "pybroker" / "profiles.toml"


def profile_settings(name: str, file: Path) -> dict[str, str]:
    """The settings of a profile. Raises CommandError, with the line of the file where there is one."""
    import tomllib  # not needed without a profile

    try:
        text = file.read_text(encoding="utf-8")
        profiles = tomllib.loads(text)
    except FileNotFoundError:
        raise CommandError(f"--profile {name}: there is no file {file}", BAD_INPUT) from None
    except tomllib.TOMLDecodeError as error:
        raise CommandError(f"--profile {name}: {_toml_error(file, str(error), text)}", BAD_INPUT) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--profile {name}: {file} cannot be read: {error}", BAD_INPUT) from None
    found = profiles.get(name)
    if not isinstance(found, dict):
        known = ", ".join(sorted(each for each, table in profiles.items() if isinstance(table, dict))) or "none"
        raise CommandError(f"--profile {name}: {file} has no [{name}]; profiles: {printable(known)}", BAD_INPUT)
    settings = {}
    for setting, value in _flat(found).items():
        as_text = _text(value)
        if as_text is None:
            place = place_of(name, setting, file)
            raise CommandError(f"--profile {name}: {place}: {setting} must be a text, a number or true", BAD_INPUT)
        settings[setting] = as_text
    return settings


def place_of(profile: str, setting: str, file: Path) -> str:
    """The file and, if it can be found, the line of a setting of a profile."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return str(file)
    number = _line_of(profile, setting, lines)
    return str(file) if number is None else f"{file}, line {number}"


def _line_of(profile: str, setting: str, lines: Iterable[str]) -> int | None:
    is_inside = False
    for number, line in enumerate(lines, 1):
        if header := _HEADER.fullmatch(line):
            is_inside = _bare(header[1]) == profile
        elif is_inside and _bare(line.partition("=")[0]) == setting:
            return number
    return None


def _bare(key: str) -> str:
    """A key without quotes and spaces."""
    return re.sub(r"[\s\"']", "", key)


def _toml_error(file: Path, said: str, text: str) -> str:
    """File, line and reason of an error of the TOML parser, with a hint for a value without quotes."""
    place = _ERROR_PLACE.search(said)
    if place is None:
        return f"{file}: {said}"
    lines = text.splitlines() or [""]
    number = len(lines) if place[1] is None else int(place[1])
    reason = said[: place.start()]
    value = lines[number - 1].partition("=")[2].strip() if number <= len(lines) else ""
    hint = '; texts need quotes, as in bootstrap.servers = "localhost:9092"' if value and value[0] not in "\"'" else ""
    return f"{file}, line {number}: {reason[:1].lower()}{reason[1:]}{hint}"


def _flat(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Settings by name: TOML reads ``security.protocol = …`` without quotes as nested tables."""
    flat: dict[str, object] = {}
    for name, value in table.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _text(value: object) -> str | None:
    """The value as a setting's text, elements of a list with commas between; None: it has no such form."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        parts = [_text(each) for each in value]
        return ",".join(part for part in parts if part is not None) if None not in parts else None
    return str(value) if isinstance(value, (str, int, float)) else None
