"""The Kafka modules of testcontainers start the image unchanged.

No Docker daemon is needed: each module's own start script runs as the first process of namespaces whose root directory
is that of the image (`support/processes/image_namespace.py`), with the environment that the module sets. The scripts
are in ``tests/reference/testcontainers``, with their origin.
"""

import re
import struct
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.processes.image_namespace import ImageInNamespace
from support.source_tree import ROOT

MODULES: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "tests/reference/testcontainers/modules.toml").read_text())
METADATA_REQUEST = struct.pack(">hhih", 3, 1, 7, -1) + struct.pack(">i", 0)  # version 1, of no topic
ASKING = """
import socket
with socket.create_connection(("127.0.0.1", {port}), 30) as connection:
    connection.sendall(bytes.fromhex("{question}"))
    print(connection.recv(1000).hex())
"""

SETTING_A_FAULT = """
import json
import socket
from urllib.request import urlopen
faults = "http://127.0.0.1:8092/v1/test/faults"
words = {"api": "Metadata", "drop_request": True, "times": 1}
fault = json.load(urlopen(faults, json.dumps(words).encode()))
for _ in range(2):
    with socket.create_connection(("127.0.0.1", 9092), 30) as connection:
        connection.sendall(bytes.fromhex("QUESTION"))
        print(len(connection.recv(1000)) > 0)
print(json.load(urlopen(f"{faults}/{fault['id']}"))["fired"])
"""

LOGGING_IN = """
from confluent_kafka.admin import AdminClient
login = {login!r}
settings = {{
    "bootstrap.servers": "127.0.0.1:" + login["port"],
    "security.protocol": "SASL_SSL",
    "enable.ssl.certificate.verification": False,
    "sasl.mechanism": login["mechanism"],
    "sasl.username": login["user"],
    "sasl.password": login["password"],
}}
for broker in AdminClient(settings).list_topics(timeout=60).brokers.values():
    print(broker)
"""


@pytest.mark.parametrize("name", MODULES)
def test_start_script_of_the_module_starts_the_broker(name: str, tmp_path: Path) -> None:
    module = MODULES[name]
    listeners = dict(re.findall(r"(\w+)://[\d.]*:(\d+)", module["environment"]["KAFKA_LISTENERS"]))
    image = ImageInNamespace(tmp_path)
    for place, file in module.get("files", {}).items():
        image.holds(place, ROOT / file)
    started = image.runs(module["command"], (module["path"], module["script"]), module["environment"])
    started.begin()

    def ask(port: str, question: bytes) -> bytes:
        return bytes.fromhex(image.beside(started, ASKING.format(port=port, question=question.hex())))

    try:
        assert started.says(module["waits_for"]), started.output
        frame = struct.pack(">i", len(METADATA_REQUEST)) + METADATA_REQUEST
        assert struct.pack(">h", len("localhost")) + b"localhost" + struct.pack(">i", 40093) in ask(
            listeners["PLAINTEXT"], frame
        )
        if "login" in module:
            assert image.beside(started, LOGGING_IN.format(login=module["login"])) == "localhost:40096/1\n"
        if "zookeeper-server-start" in module["script"]:
            assert ask("2181", b"srvr") == b"pybroker stands in for ZooKeeper\n"
    finally:
        started.kill()


@pytest.mark.long
def test_image_of_the_target_test_lets_http_clients_set_faults(tmp_path: Path) -> None:
    (stage,) = re.findall(r"^FROM broker AS test\n(.*?)^#", (ROOT / "Dockerfile").read_text(), re.MULTILINE | re.DOTALL)
    environment = dict(re.findall(r"(KAFKA_\w+)=(\S+)", stage))
    image = ImageInNamespace(tmp_path)
    started = image.runs(["/etc/kafka/docker/run"], ("/start", ""), environment)
    started.begin()
    try:
        assert started.says(r"\[KafkaServer id=\d+\] started"), started.output
        frame = struct.pack(">i", len(METADATA_REQUEST)) + METADATA_REQUEST
        said = image.beside(started, SETTING_A_FAULT.replace("QUESTION", frame.hex()))
        assert said.split() == ["False", "True", "1"]
    finally:
        started.kill()
