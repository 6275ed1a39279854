"""Runs command line tools of Apache Kafka and kafka-python."""

import subprocess
import sys

from support.clients.tool_server import run_main

__all__ = ["TOOLS", "run_admin", "run_tool"]

TOOLS = "org.apache.kafka.tools"


def run_tool(main_class: str, *arguments: str, stdin: str = "", expected: int = 0) -> str:
    """Returns the output of a class of Kafka without its logger's lines; it must exit with `expected`."""
    done = run_main(main_class, *arguments, stdin=stdin)
    assert done.returncode == expected, done.stdout + done.stderr
    logged = [line for line in done.stderr.splitlines() if not line.startswith("log4j:")]
    return "\n".join([done.stdout, *logged]).strip()


def run_admin(servers: str, *arguments: str, expected: int = 0) -> str:
    """Returns the output of `python -m kafka.admin`, which must exit with `expected`."""
    command = [sys.executable, "-m", "kafka.admin", "-b", servers, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout + done.stderr
