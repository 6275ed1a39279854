"""The data source and the decoders in a client of Spark Connect."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.clients.topics import create_topic
from support.spark.spark_home import spark_home

CLIENT = Path(__file__).with_name("connect_client.py")
TIMEOUT_S = 1200


@pytest.mark.long
@pytest.mark.timeout(TIMEOUT_S)
def test_client_of_spark_connect_reads_writes_and_decodes_topics(servers: str, topic: str, tmp_path: Path) -> None:
    for needed in ("pyspark", "pandas", "grpc", "grpc_status", "google.rpc"):
        pytest.importorskip(needed, reason=f"pyspark[connect] is not installed: there is no {needed}")
    create_topic(servers, topic, 2)
    create_topic(servers, f"{topic}-copy", 1)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["SPARK_HOME"] = str(spark_home(tmp_path / "home"))
    command = [sys.executable, str(CLIENT), servers, topic, f"{topic}-copy", str(tmp_path / "checkpoint")]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found == {"schema": "struct<Id:bigint>", "decoded": [[number, None] for number in range(20)]}
