"""Reads the MBeans of an Apache Kafka broker with Kafka's own JmxTool."""

import re
from collections.abc import Mapping
from pathlib import Path

from support.clients.kafka_tools import TOOLS, run_tool
from support.processes.java import QUICK_TO_START
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port

__all__ = ["KafkaWithJmx"]

_LINE = re.compile(r"(?P<bean>.+):(?P<attribute>[^:=]+)=(?P<value>[^=]*)")


class KafkaWithJmx(KafkaProcess):
    """A Kafka that answers JMX on a port of loopback."""

    def __init__(self, directory: Path, zookeeper: ZooKeeperProcess, settings: Mapping[str, str]) -> None:
        self._jmx_port = free_port()
        options = (
            f"-Dcom.sun.management.jmxremote.port={self._jmx_port}",
            f"-Dcom.sun.management.jmxremote.rmi.port={self._jmx_port}",
            "-Dcom.sun.management.jmxremote.host=127.0.0.1",
            "-Dcom.sun.management.jmxremote.authenticate=false",
            "-Dcom.sun.management.jmxremote.ssl=false",
            "-Djava.rmi.server.hostname=127.0.0.1",
        )
        super().__init__(directory, zookeeper, settings, jvm_options=(*QUICK_TO_START, *options))

    def start(self) -> "KafkaWithJmx":
        super().start()
        return self

    def beans(self) -> dict[tuple[str, str], float]:
        """The numbers by the name of the MBean, as Kafka writes it, and the attribute."""
        url = f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{self._jmx_port}/jmxrmi"
        text = run_tool(f"{TOOLS}.JmxTool", "--jmx-url", url, "--one-time", "--report-format", "properties")
        found = {}
        for line in text.splitlines():
            match = _LINE.fullmatch(line)
            if match is not None:
                try:
                    found[match["bean"], match["attribute"]] = float(match["value"])
                except ValueError:
                    continue
        return found
