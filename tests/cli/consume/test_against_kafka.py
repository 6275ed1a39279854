"""``consume`` and ``produce`` against Apache Kafka 3.9.1."""

from pathlib import Path

import pytest
from support.clients.commands import Pybroker
from support.processes.started_broker import started_broker

JSON = '{"key":"k","value":"v","headers":[{"name":"h","value_base64":"/w=="}]}\n{"key_base64":"/w==","value":null}\n'


@pytest.mark.long
def test_kafka_serves_produce_and_consume(pybroker: Pybroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json").write_text(JSON)
    (tmp_path / "lines").write_text("".join(f"{number}\n" for number in range(20_000)))
    with started_broker(tmp_path, {}, against_kafka=True) as kafka:
        monkeypatch.setenv("PYBROKER_BOOTSTRAP", kafka.bootstrap_servers)
        assert pybroker("topics", "create", "t", "-p", "2", "--wait").code == 0

        def produce(*arguments: str) -> None:
            assert (pybroker("produce", "t", *arguments).err) == ""

        def consume(*arguments: str) -> list[str]:
            ran = pybroker("consume", *arguments)
            assert ran.err == ""
            return ran.out.splitlines()

        produce("-l", str(tmp_path / "lines"), "-p", "0", "--batch", "5000", "--compression", "lz4")
        assert consume("t:0", "--until", "end") == [str(number) for number in range(20_000)]
        assert consume("t:0", "--until", "end", "--filter", "value=17777") == ["17777"]
        assert consume("t:0", "-o", "19990", "-n", "2") == ["19990", "19991"]
        produce("-l", str(tmp_path / "json"), "-p", "1", "--input", "jsonl", "--transactional-id", "x")
        printed = consume("t:1", "-n", "2", "--read-committed", "--format", "jsonl")
        assert ['"headers":[{"name":"h","value_base64":"/w=="}]' in line for line in printed] == [True, False]
        for acks in ("0", "1", "all"):
            produce("-l", str(tmp_path / "json"), "-p", "1", "--acks", acks)
        assert len(consume("t:1", "-n", "8")) == 8
        assert pybroker("consume", "tt", "-n", "1").code == 3
