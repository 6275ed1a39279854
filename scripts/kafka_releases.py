"""Reads which APIs and versions each release of Apache Kafka serves, from its sources. scripts/kafka-releases runs it.

Since 2.8 Kafka's message definitions (JSON) decide. Before, ``ApiKeys.java`` lists the APIs, and each one's versions
are the elements of an array of schemas, or those of its definition.
"""

import argparse
import io
import json
import re
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec.schema import VersionRange

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "protocol" / "releases" / "table.py"

# The last patch of each release, as far as a later one does not differ.
# fmt: off
TAGS = (
    "0.10.2.2", "0.11.0.2", "1.0.2", "1.1.1", "2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3",
    "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.1", "3.8.0",
    "3.9.1", "4.0.0", "4.1.1", "4.2.0",
)
# fmt: on
FIRST_WITHOUT_ZOOKEEPER = "4.0"
ONLY_WITH_RECEIVER = ("GetTelemetrySubscriptionsRequest", "PushTelemetryRequest")
"""Only a broker with a plug-in for the metrics of clients lists these."""

_OF_API = re.compile(r"^    ([A-Z_]+)\((\d+), \"\w+\"((?:[^()]|\(\))*)\)", re.MULTILINE)
_CLASS = re.compile(r"(\w+Request)(Data)?\.(?:schemaVersions|SCHEMAS)")
_BY_DEFINITIONS = "PRODUCE(ApiMessageType."
_IS_DISABLED = re.compile(r"(?:true|false), false,")
_SCHEMAS = r"{}\s*(?:new Schema\[\]\s*)?\{{(.*?)\}}"

HEADER = '''"""APIs and versions of each release of Apache Kafka, for its clients. Written by scripts/kafka-releases.

A release has what the release before it has, with these changes. ``none``: the API is gone. Versions that Kafka calls
unstable are left out. Releases before 4.0 are in ZooKeeper mode, the others in KRaft mode.
"""

from collections.abc import Mapping

__all__ = ["CHANGES", "OTHER_APIS"]

'''


def definition(text: str) -> dict[str, object]:
    """A message definition, which is JSON with lines of comments. Kafka ignores what follows the JSON, too."""
    parsed: dict[str, object]
    parsed, _ = json.JSONDecoder().raw_decode(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE).lstrip())
    return parsed


def versions_of_definition(message: Mapping[str, object]) -> VersionRange:
    versions = VersionRange.parse(str(message["validVersions"]))
    return VersionRange(versions.first, versions.last - bool(message.get("latestVersionUnstable")))


def versions_of_schemas(text: str, start: str) -> VersionRange:
    """The elements of the array of schemas after ``start``; the first ones may be null."""
    found = re.search(_SCHEMAS.format(start), text, re.DOTALL)
    if found is None:
        raise LookupError(f"no array of schemas after {start}")
    schemas = [each.strip() for each in found[1].split(",")]
    return VersionRange(next(index for index, each in enumerate(schemas) if each != "null"), len(schemas) - 1)


def from_code(sources: Mapping[str, str]) -> dict[int, VersionRange]:
    """APIs of a release before 2.8."""
    apis = {}
    for name, number, rest in _OF_API.findall(sources["ApiKeys.java"]):
        if _IS_DISABLED.search(rest):
            continue
        of_class = _CLASS.search(rest)
        if of_class is None:
            protocol = sources["Protocol.java"]
            array = re.search(rf"REQUESTS\[ApiKeys\.{name}\.id\] = (\w+);", protocol)
            apis[int(number)] = versions_of_schemas(protocol, rf"Schema\[\] {array[1] if array else name} =")
        elif of_class[2]:
            apis[int(number)] = versions_of_definition(definition(sources[f"{of_class[1]}.json"]))
        else:
            apis[int(number)] = versions_of_schemas(sources[f"{of_class[1]}.java"], r"schemaVersions\(\) \{\s*return")
    return apis


def from_definitions(sources: Mapping[str, str], listener: str) -> dict[int, VersionRange]:
    """APIs of 2.8 or a later release."""
    messages = [definition(text) for name, text in sources.items() if name.endswith("Request.json")]
    return {
        int(str(message["apiKey"])): versions
        for message in messages
        if listener in str(message.get("listeners", "")) and message["name"] not in ONLY_WITH_RECEIVER
        if (versions := versions_of_definition(message)) and versions.last >= versions.first
    }


def release_of(tag: str) -> str:
    """``2.8`` for 2.8.2, ``0.10.2`` for 0.10.2.2, and ``0.11`` for 0.11.0.2."""
    return tag.rpartition(".")[0].removesuffix(".0") if tag.startswith("0.") else tag.rpartition(".")[0]


def sources_of(repository: Path, tag: str) -> dict[str, str]:
    """The files of Kafka's client module that name APIs or versions, by their names."""
    command = ["git", "-C", str(repository), "archive", "--format=zip", tag, "clients/src/main"]
    archived = subprocess.run(command, capture_output=True, check=False)
    archive = jar_of(tag) if archived.returncode else io.BytesIO(archived.stdout)
    ends = ("Request.json", "Request.java", "/ApiKeys.java", "/Protocol.java")
    with zipfile.ZipFile(archive) as files:
        return {PurePosixPath(name).name: files.read(name).decode() for name in files.namelist() if name.endswith(ends)}


def jar_of(version: str) -> Path:
    directory = ROOT / ".cache" / "kafka-clients-jars"
    jar = directory / f"kafka-clients-{version}.jar"
    if not jar.exists():
        artifact = f"-Dartifact=org.apache.kafka:kafka-clients:{version}"
        command = ["mvn", "--quiet", "--batch-mode", "dependency:copy", artifact, f"-DoutputDirectory={directory}"]
        subprocess.run(command, check=True)
    return jar


def table_text(releases: Mapping[str, Mapping[int, VersionRange]], names: Mapping[int, str]) -> str:
    lines, before = [], dict[int, VersionRange]()
    for release, apis in releases.items():
        changes = {key: str(versions) for key, versions in apis.items() if before.get(key) != versions}
        changes |= {key: "none" for key in before if key not in apis}
        text = ", ".join(f"{names[key]} {versions}" for key, versions in sorted(changes.items()))
        filled = textwrap.fill(text, 112, initial_indent=" " * 8, subsequent_indent=" " * 8, break_long_words=False)
        lines.append(f'    "{release}": """\n{filled}\n    """,\n')
        before = dict(apis)
    known = set(ApiKey)
    others = {names[key]: key for apis in releases.values() for key in sorted(apis) if key not in known}
    rows = "".join(f'    "{name}": {key},\n' for name, key in others.items())
    return (
        f"{HEADER}CHANGES: Mapping[str, str] = {{\n{''.join(lines)}}}\n\n"
        f"OTHER_APIS: Mapping[str, int] = {{\n{rows}}}\n"
        '"""APIs of later releases that `ApiKey` does not have, with their numbers."""\n'
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="kafka-releases", description=__doc__)
    parser.add_argument("repository", type=Path, help="a clone of Apache Kafka's repository, with its tags")
    repository = parser.parse_args(arguments).repository
    names = {int(key): spec.name for key, spec in API_SPECS.items()}
    releases: dict[str, dict[int, VersionRange]] = {}
    has_zookeeper = True
    for tag in TAGS:
        release = release_of(tag)
        sources = sources_of(repository, tag)
        has_zookeeper = has_zookeeper and release != FIRST_WITHOUT_ZOOKEEPER
        if _BY_DEFINITIONS in sources.get("ApiKeys.java", _BY_DEFINITIONS):
            releases[release] = from_definitions(sources, "zkBroker" if has_zookeeper else "broker")
        else:
            releases[release] = from_code(sources)
        for name, text in sources.items():
            if name.endswith("Request.json"):
                key = definition(text).get("apiKey")
                names.setdefault(int(str(key)), name.removesuffix("Request.json"))
        print(f"{release}: {len(releases[release])} APIs of {tag}")
    TABLE.write_text(table_text(releases, names))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
