"""Tests that a broker without any log directory stops, so that its supervisor notices."""

import shutil
from contextlib import suppress
from pathlib import Path

from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError
from support.processes.broker_process import BrokerProcess


def test_broker_that_lost_its_last_log_directory_stops_with_one_line(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "broker", {"metadata.store.path": str(tmp_path / "metadata.db")}).start()
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    admin.create_topics([NewTopic("topic", 1, 1)])
    shutil.rmtree(broker.log_directory)
    with suppress(KafkaError):  # the broker may stop before it responds
        admin.delete_topics(["topic"])
    assert broker.wait() == 1
    admin.close()
    (critical,) = (line for line in broker.lines if "the broker cannot go on" in line)
    assert "the last log directory went offline" in critical
    assert str(broker.log_directory) in critical
    assert "Traceback" not in broker.output
