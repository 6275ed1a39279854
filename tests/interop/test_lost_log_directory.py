"""A broker without a log directory serves nothing: it stops, for whoever watches it to see."""

import shutil
from contextlib import suppress
from pathlib import Path

from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError
from support.processes.broker_process import BrokerProcess


def test_a_broker_that_has_lost_its_last_log_directory_ends_with_one_plain_line(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "broker", {"metadata.store.path": str(tmp_path / "metadata.db")}).start()
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    admin.create_topics([NewTopic("topic", 1, 1)])
    shutil.rmtree(broker.log_directory)
    with suppress(KafkaError):  # the broker may be gone before it answers
        admin.delete_topics(["topic"])
    assert broker.wait() == 1
    admin.close()
    (critical,) = (line for line in broker.lines if "the broker cannot go on" in line)
    assert "no log directory is online any more" in critical
    assert str(broker.log_directory) in critical
    assert "Traceback" not in broker.output
