"""Made-up records, and the texts that strangers choose, in the shapes of the console's API."""

import base64
import time
from typing import Any

Json = dict[str, Any]


def now_ms() -> int:
    return int(time.time() * 1000)


def payload(text: str | bytes | None, cut_to: int = 1024) -> Json | None:
    """A key or value as the API shows it."""
    if text is None:
        return None
    data = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    shown = data[:cut_to]
    try:
        return {"size": len(data), "text": shown.decode(), "base64": None, "cut": len(data) > cut_to}
    except UnicodeDecodeError:
        return {"size": len(data), "text": None, "base64": base64.b64encode(shown).decode(), "cut": len(data) > cut_to}


class FakeRecords:
    """Records of any topic. `texts` become keys, values, names of headers and all other texts that strangers choose."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def text(self, number: int, usual: str) -> str:
        """A text that a stranger chose."""
        return self.texts[number % len(self.texts)] if self.texts else usual

    def record(self, topic: str, partition: int, offset: int, cut_to: int = 1024) -> Json:
        usual = '{"id":12345678901234567890,"status":"failed","amount":19.90,"currency":"EUR","lines":[{"n":2}]}'
        value: str | bytes | None = self.text(offset + 1, usual)
        if not self.texts:
            value = {3: b"\x00\x01\xfe\xff" * 30, 4: None, 5: usual * 40}.get(offset % 10, usual)
        name = self.text(offset + 2, "trace")
        return {
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "timestamp_ms": now_ms() - 1000,
            "timestamp_type": "create",
            "key": payload(self.text(offset, f"user-{offset % 97}")),
            "value": payload(value, cut_to),
            "headers": [{"name": name, "value": payload(self.text(offset + 3, "ab31"), 256)}],
            "header_count": 1,
            "size": 300,
            "kind": "record",
            "decoded": None,
        }

    def records(self, topic: str, count: int = 100) -> Json:
        return {
            "records": [self.record(topic, number % 3, 500_000 + number) for number in range(count)],
            "next": "at:0=900,1=900,2=900",
            "previous": "at:0=700,1=700,2=700",
            "ends": {"0": {"start": 0, "end": 900}},
            "cli": f"kafka-console-consumer.sh --bootstrap-server kafka1:9092 --topic {topic} --max-messages 100",
        }

    def record_detail(self, topic: str, partition: int, offset: int) -> Json:
        return {
            **self.record(topic, partition, offset, cut_to=65_536),
            "key_sha256": "ab" * 32,
            "value_sha256": "cd" * 32,
            "batch": {
                "base_offset": offset - 2,
                "record_count": 9,
                "codec": "lz4",
                "producer_id": 4000,
                "producer_epoch": 1,
                "base_sequence": 80,
                "is_transactional": False,
                "leader_epoch": 5,
                "size": 900,
            },
            "cli": f"kafka-console-consumer.sh --topic {topic} --partition {partition} --offset {offset}",
        }


# fmt: off
ONLY_PYBROKER_KNOWS = {
    "rates", "history", "produce_times", "fetch_times", "disk", "local", "verdict", "verdict_text",
    "max_lag_seconds", "lag_seconds", "size_bytes", "size_on_disk_bytes", "messages_in_per_s",
    "bytes_in_per_s", "bytes_out_per_s", "seconds_to_catch_up", "rebalances", "waits_for",
    "last_heartbeat_ms", "session_timeout_ms", "rebalance_timeout_ms", "software", "commit_ms", "expire_ms",
    "is_offset_lost", "threshold_ms", "segments", "oldest_ms", "last_stable_offset", "max_lag", "worst_group",
    "generation", "last_commit_ms", "records", "connections", "partitions_total", "producers_total",
    "controller_id", "rack", "start_offset", "member_id", "doc", "default",
}
# fmt: on
ONLY_PYBROKER_LISTS = {"events", "top_topics", "producers", "followers", "loggers"}


def as_plain_kafka(view: Any) -> Any:
    """The response of plain Kafka brokers: values that only a pybroker knows are null or an empty list."""
    if isinstance(view, list):
        return [as_plain_kafka(each) for each in view]
    if not isinstance(view, dict):
        return view
    return {
        name: None
        if name in ONLY_PYBROKER_KNOWS and not isinstance(value, list)
        else []
        if name in ONLY_PYBROKER_LISTS
        else as_plain_kafka(value)
        for name, value in view.items()
    }
