"""Commands of Kafka clients in other languages; skips the test with the reason if one is missing."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from support.processes.java import kafka_libs
from support.processes.java_programs import java_compiler, java_program

__all__ = [
    "CACHE",
    "JAVA_OPTIONS",
    "PROGRAMS",
    "bring",
    "client_command",
    "client_program",
    "java_from_source",
    "kcat_command",
    "running",
    "streams_java",
]

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache"
PROGRAMS = ROOT / "tests" / "interop" / "clients"
SIGTERM_IN_JAVA = 143
JAVA_OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


@cache
def why_not(client: str) -> str | None:
    """Fetches the client by `scripts/fetch-clients` (fast if it exists); returns the reason of a failure, or None."""
    done = subprocess.run(
        ["sh", ROOT / "scripts" / "fetch-clients", client], capture_output=True, text=True, check=False
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else None


def bring(client: str) -> None:
    if reason := why_not(client):
        pytest.skip(reason)


def java_from_source() -> str:
    java = java_compiler()
    if java is None:
        pytest.skip("no Java development kit on PATH")
    return java


def client_command(client: str) -> list[str]:
    """Returns the prefix of a command of clients/README.md, for "java", "go" or "node"."""
    if client == "java":
        return client_program("Client")
    bring(client)
    if client == "go":
        return [str(CACHE / "franz-go" / "client")]
    return ["env", f"NODE_PATH={CACHE / 'kafkajs' / 'node_modules'}", "node", str(PROGRAMS / "node" / "client.js")]


def client_program(name: str) -> list[str]:
    """Returns the command of a Java program of clients/README.md with the client of Kafka 4.1.1."""
    bring("java")
    return java_program(PROGRAMS / "java" / f"{name}.java", CACHE / "kafka-clients-4.1.1" / "libs")


def streams_java() -> list[str]:
    """Returns Java with Apache Kafka, Kafka Streams and the file connectors on its class path."""
    java, libs = java_from_source(), kafka_libs()
    if libs is None:
        pytest.skip("Apache Kafka's jars are not there: scripts/fetch-kafka says why")
    bring("streams")
    return [java, *JAVA_OPTIONS, "-cp", f"{libs}/*:{CACHE / 'kafka-streams-3.9.1' / 'libs'}/*"]


@contextmanager
def running(*arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Runs a Java program of `streams_java`; terminates it at the end, unless it was killed, and waits for its exit."""
    command = [*streams_java(), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        _, complaints = process.communicate()
        assert process.returncode in (SIGTERM_IN_JAVA, -signal.SIGKILL), complaints


def kcat_command() -> str:
    """Returns the name of kcat on this machine; it used to be kafkacat."""
    found = shutil.which("kcat") or shutil.which("kafkacat")
    if found is None:
        pytest.skip("kcat is not on PATH (on Debian: apt install kcat)")
    return found
