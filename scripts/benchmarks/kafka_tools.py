"""Runs Kafka's own tools and small Java programs, with the JIT that they have in production."""

import subprocess
from pathlib import Path

from support.processes.java import java_command

__all__ = ["create_topic", "create_topic_on", "run_tool"]


def run_tool(main_class: str | Path, *arguments: str, heap: str = "512m", libs: Path | None = None) -> str:
    """Runs a tool, or a program in one source file; returns its output. ``libs``: a folder of other jars than Kafka
    3.9.1's. Raises RuntimeError if it fails."""
    command = java_command(str(main_class), *arguments, heap=heap, options=(), libs=libs)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{main_class} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def create_topic(servers: str, topic: str, partitions: int) -> None:
    run_tool(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", servers, "--create", "--topic", topic),
        *("--partitions", str(partitions), "--replication-factor", "1", "--if-not-exists"),
    )


def create_topic_on(servers: str, topic: str, replicas: str) -> None:
    """Creates a topic with one partition on the brokers `replicas` (`1:2:3`), led by the first."""
    run_tool(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", servers, "--create", "--topic", topic, "--replica-assignment", replicas),
    )
