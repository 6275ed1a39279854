"""Tests with kcat, the command line client on librdkafka."""

import json
import subprocess

from pybroker import Broker
from support.clients.foreign_clients import kcat_command
from support.security.sasl_broker import SASL_SETTINGS


def kcat(servers: str, *arguments: str, stdin: str = "") -> str:
    """Returns the output of kcat, which must exit with 0."""
    command = [kcat_command(), "-b", servers, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def produce(servers: str, topic: str, lines: list[str], *options: str) -> None:
    kcat(servers, "-P", "-t", topic, "-p", "0", "-K", ":", *options, stdin="".join(f"{line}\n" for line in lines))


def consume(servers: str, topic: str, *options: str) -> list[str]:
    """Returns the lines from the first record to the end of partition 0."""
    return kcat(servers, "-C", "-t", topic, "-p", "0", "-e", "-q", *options).splitlines()


def test_kcat_reads_keys_values_and_headers_as_sent(servers: str, topic: str) -> None:
    produce(servers, topic, ["k1:one", "k2:two"], "-H", "trace=abc", "-H", "trace=def", "-z", "snappy")
    produce(servers, topic, ["k3:three"], "-z", "lz4", "-X", "enable.idempotence=true")
    lines = consume(servers, topic, "-f", "%p %o %k %s %h\\n")
    assert lines == ["0 0 k1 one trace=abc,trace=def", "0 1 k2 two trace=abc,trace=def", "0 2 k3 three "]


def test_kcat_writes_empty_values_as_null_on_request(servers: str, topic: str) -> None:
    produce(servers, topic, ["gone:", "kept:x"], "-Z")
    records = [json.loads(line) for line in consume(servers, topic, "-J")]
    assert [(record["key"], record["payload"]) for record in records] == [("gone", None), ("kept", "x")]


def test_kcat_reads_the_last_records_from_the_end(servers: str, topic: str) -> None:
    produce(servers, topic, [f"k:{n}" for n in range(100)])
    assert consume(servers, topic, "-o", "-3") == ["97", "98", "99"]
    assert consume(servers, topic, "-o", "42", "-c", "2") == ["42", "43"]


def test_kcat_lists_brokers_topics_and_partitions(servers: str, topic: str) -> None:
    produce(servers, topic, ["k:v"])
    metadata = json.loads(kcat(servers, "-L", "-J"))
    (broker,) = metadata["brokers"]
    assert broker["name"] == servers
    assert metadata["controllerid"] == broker["id"]
    (mine,) = [one for one in metadata["topics"] if one["topic"] == topic]
    replicas = [{"id": broker["id"]}]
    assert mine["partitions"] == [{"partition": 0, "leader": broker["id"], "replicas": replicas, "isrs": replicas}]


def test_kcat_finds_offsets_by_time(servers: str, topic: str) -> None:
    produce(servers, topic, ["k:a", "k:b"])
    (first, second) = [json.loads(line)["ts"] for line in consume(servers, topic, "-J")]

    def query(timestamp: int) -> str:
        return kcat(servers, "-Q", "-t", f"{topic}:0:{timestamp}").strip()

    assert query(first) == f"{topic} [0] offset 0"
    assert query(first - 1000) == f"{topic} [0] offset 0"
    assert query(second + 1) == f"{topic} [0] offset -1"
    assert query(-1) == f"{topic} [0] offset 2"


def test_kcat_group_reads_each_record_once_over_two_runs(servers: str, topic: str, group: str) -> None:
    produce(servers, topic, [f"k:{n}" for n in range(10)])
    options = ("-G", group, "-q", "-X", "auto.offset.reset=earliest", topic)
    assert kcat(servers, "-c", "4", *options).split() == ["0", "1", "2", "3"]
    assert kcat(servers, "-c", "6", *options).split() == ["4", "5", "6", "7", "8", "9"]


def test_kcat_logs_in_by_a_token_without_a_signature() -> None:
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": "principal=alice",
    }
    options = [argument for name, value in login.items() for argument in ("-X", f"{name}={value}")]
    with Broker(SASL_SETTINGS) as broker:
        produce(broker.bootstrap_servers, "by-token", ["k:v"], *options)
        assert consume(broker.bootstrap_servers, "by-token", *options) == ["v"]
