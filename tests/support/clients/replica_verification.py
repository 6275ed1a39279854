"""Runs `kafka-replica-verification`, which compares all replicas up to the high watermark."""

import re
import subprocess
import threading

from support.clients.kafka_tools import TOOLS
from support.processes.java import java_command
from support.time.patience import await_that

__all__ = ["await_equal_replicas"]

_NEAR = 20


def await_equal_replicas(servers: str, topics: str, partitions: int) -> None:
    """Waits until the tool, which never ends, is near the end of all `partitions` of `topics` (a regular expression).
    Fails if replicas differ.
    """
    command = java_command(
        f"{TOOLS}.ReplicaVerificationTool",
        *("--broker-list", servers, "--topics-include", topics, "--time", "-2", "--report-interval-ms", "200"),
    )
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tool:

        def read() -> None:
            assert tool.stdout is not None
            lines.extend(tool.stdout)

        def has_caught_up() -> bool:
            reported = re.findall(rf"max lag is (\d+) for .* among {partitions} partitions", "".join(lines))
            return any(int(lag) < _NEAR for lag in reported)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            await_that(lambda: tool.poll() is not None or has_caught_up(), "all replicas are read")
        finally:
            tool.kill()
            reader.join()
    assert has_caught_up(), lines
    assert not [line for line in lines if "match" in line or "xception" in line or "rror" in line], lines
