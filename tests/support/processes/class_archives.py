"""Archives of the classes of Apache Kafka's programs (class data sharing), with which a JVM starts in half the time.

`scripts/test` makes them; `java_command` uses those that exist.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from support.clients.kafka_tools import TOOLS
from support.processes.java import QUICK_TO_START, archive_of, java_command, java_executable, kafka_libs
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

__all__ = ["make_archives"]


def make_archives() -> None:
    """Makes the archives unless they exist for this Java: of a broker, of ZooKeeper and of a tool.

    Each is written by a JVM at its end, with the classes that it has loaded.
    """
    java, libs = java_executable(), kafka_libs()
    if java is None or libs is None:
        return
    folder = archive_of("kafka.Kafka", libs).parent
    stamp = folder / "java"
    identity = _identity(java, libs)
    if stamp.exists() and stamp.read_text() == identity:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with tempfile.TemporaryDirectory() as directory:
        _run_each_program(Path(directory), libs)
    stamp.write_text(identity)


def _identity(java: str, libs: Path) -> str:
    path = os.path.realpath(java)
    return f"{path} {os.stat(path).st_mtime_ns} {libs}"


def _run_each_program(directory: Path, libs: Path) -> None:
    zookeeper = ZooKeeperProcess(directory / "zookeeper", jvm_options=_writing("org.apache.zookeeper.", libs)).start()
    kafka = KafkaProcess(directory / "kafka", zookeeper, jvm_options=_writing("kafka.Kafka", libs)).start()
    tool = (f"{TOOLS}.TopicCommand", "--bootstrap-server", kafka.bootstrap_servers)
    create = ("--create", "--topic", "t")
    subprocess.run(java_command(*tool, *create, options=_writing(TOOLS, libs)), check=True, stdout=subprocess.DEVNULL)
    kafka.stop()
    zookeeper.stop()


def _writing(main_class: str, libs: Path) -> tuple[str, ...]:
    return (*QUICK_TO_START, f"-XX:ArchiveClassesAtExit={archive_of(main_class, libs)}", "-Xlog:disable")
