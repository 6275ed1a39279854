"""A broker without a log directory serves nothing: it stops, for whoever watches it to see."""

import shutil
from pathlib import Path

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from support.broker_process import BrokerProcess


def test_a_broker_that_has_lost_its_last_log_directory_ends_with_one_plain_line(tmp_path: Path) -> None:
    settings = {
        "metadata.store.path": str(tmp_path / "metadata.db"),
        "log.flush.offset.checkpoint.interval.ms": "20",
        "replica.high.watermark.checkpoint.interval.ms": "20",
    }
    broker = BrokerProcess(tmp_path / "broker", settings).start()
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    admin.create_topics([NewTopic("topic", 1, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, retries=0)
    producer.send("topic", b"value").get()
    shutil.rmtree(broker.log_directory)
    producer.send("topic", b"the high watermark moves, and cannot be noted")
    assert broker.wait() == 1
    producer.close(0)
    (critical,) = (line for line in broker.lines if "the broker cannot go on" in line)
    assert "no log directory is online any more" in critical
    assert str(broker.log_directory) in critical
    assert "Traceback" not in broker.output
