"""Java reads JAAS text as our parser does, except for texts that the parser refuses on purpose."""

import random
import subprocess
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from pathlib import Path

import pytest
from pybroker.config.jaas import JaasEntry, JaasError, parse_jaas_config, parse_jaas_file
from support.processes.java import java_command

PACKAGE = "org.apache.kafka.common.security"
MODULE = f"{PACKAGE}.plain.PlainLoginModule"
PIECES = (
    '"', "'", "\\", ";", "=", " ", "\n", "\r", "\t", "/", "//", "/*", "*/", "{", "}", "#", ":", ",", "@", "-", "_", ".",
    "$", "*", "a", "B", "7", "é", "€", "😀", "\x80", "\x9f", "\\n", "\\t", "\\101", "\\8", "\\400", 'x="1"', "y=z ",
    "\0",
)  # fmt: skip
ON_PURPOSE = ("not closed", "${…}", "one login module", "may be a password", "is not supported")


def random_texts(count: int) -> list[tuple[str, str]]:
    """Kind and text: an entry with some random options, within a section for a file."""
    chosen = random.Random(7)
    texts = []
    for _ in range(count):
        options = "".join(chosen.choice(PIECES) for _ in range(chosen.randrange(1, 9)))
        value = "".join(chosen.choice(PIECES) for _ in range(chosen.randrange(5)))
        begin, end = chosen.choice(('""', '"', "")), chosen.choice(('"', ""))
        entry = f"{MODULE} Required user_a={begin[:1]}{value}{end} {options};"
        texts += [("setting", entry), ("file", f"KafkaServer {{ {entry} }};")]
    return texts


def shown(entries: Iterable[JaasEntry]) -> str:
    def encoded(text: str) -> str:
        return urlsafe_b64encode(text.encode()).rstrip(b"=").decode()

    words = ["read"]
    for entry in entries:
        # Java sorts by UTF-16 units, as a TreeMap does.
        names = sorted(entry.options, key=lambda name: name.encode("utf-16-be"))
        options = "".join(f":{encoded(name)}={encoded(entry.options[name])}" for name in names)
        words.append(f"{encoded(entry.module)}:{entry.flag}{options}")
    return " ".join(words)


def ours(kind: str, text: str) -> str:
    try:
        if kind == "setting":
            return shown([parse_jaas_config(text, "PLAIN")])
        return shown(parse_jaas_file(text).get("KafkaServer", ()))
    except JaasError as error:
        return f"refused: {error}"


def test_java_reads_the_same_entries() -> None:
    texts = random_texts(3000)
    given = "".join(f"{kind} {b64encode(text.encode()).decode()}\n" for kind, text in texts)
    command = java_command(str(Path(__file__).parent / "JaasProbe.java"))
    ended = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    read = 0
    for (kind, text), java in zip(texts, ended.stdout.splitlines(), strict=True):
        found = ours(kind, text)
        read += found.startswith("read")
        if found.startswith("read") or java != "refused":
            is_on_purpose = java != "refused" and any(each in found for each in ON_PURPOSE)
            assert found == java or is_on_purpose, (kind, text)
    assert read > 100


@pytest.mark.parametrize("kind", ["setting", "file"])
def test_texts_of_each_kind_are_compared(kind: str) -> None:
    assert sum(ours(each, text).startswith("read") for each, text in random_texts(300) if each == kind) > 5
