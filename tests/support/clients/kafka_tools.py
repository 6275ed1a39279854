"""Apache Kafka's command line tools, and kafka-python's, run as a person would run them."""

import subprocess
import sys

from support.processes.java import java_command

__all__ = ["TOOLS", "run_admin", "run_tool"]

TOOLS = "org.apache.kafka.tools"


def run_tool(main_class: str, *arguments: str, stdin: str = "", expected: int = 0) -> str:
    """What one of Kafka's classes printed, but for its logger's complaints; it must end with the ``expected`` code."""
    done = subprocess.run(
        java_command(main_class, *arguments), input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == expected, done.stdout + done.stderr
    logged = [line for line in done.stderr.splitlines() if not line.startswith("log4j:")]
    return "\n".join([done.stdout, *logged]).strip()


def run_admin(servers: str, *arguments: str, expected: int = 0) -> str:
    """What ``python -m kafka.admin`` printed; it must end with the ``expected`` code."""
    command = [sys.executable, "-m", "kafka.admin", "-b", servers, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout + done.stderr
