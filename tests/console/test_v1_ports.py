"""The console and the HTTP ports that --v1 names: tokens, certificates, and a line about a port that tells nothing."""

import asyncio
import logging
import os
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from pybroker import Broker
from pybroker.broker.library.settings_from_mapping import config_from_mapping
from pybroker.broker.network.settings import Endpoint
from pybroker.broker.process.console_child import console_arguments
from pybroker.client.asynchronous.cluster import AsyncCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.given_options import GivenOptions
from pybroker.console.cluster_views import group_views, v1_client
from pybroker.console.cluster_views.overlay import overlaid
from pybroker.console.cluster_views.token_file import TokenFile
from pybroker.console.cluster_views.v1_client import V1Client
from pybroker.console.cluster_views.v1_lists import V1Lists
from pybroker.console.command import console_command, console_parser, console_settings
from support.console.console_process import ConsoleProcess
from support.in_process.tls_ends import STORES
from support.processes.ports import free_port

TOKEN = "the-token-of-this-test"
HTTPS = {
    "pybroker.http.listeners": "HTTPS://127.0.0.1:0",
    "listener.name.https.ssl.keystore.type": "PEM",
    "listener.name.https.ssl.keystore.location": str(STORES / "server.pem"),
}


async def test_port_with_tls_is_asked_when_its_authority_is_trusted(caplog: pytest.LogCaptureFixture) -> None:
    async with Broker(HTTPS) as broker:
        assert broker.http_url is not None
        url = broker.http_url.replace("127.0.0.1", "localhost")
        assert len(await V1Client((url,), None, str(STORES / "authority.pem")).documents("/v1/cluster")) == 1
        with caplog.at_level(logging.WARNING, "pybroker.console"):
            assert await V1Client((url,), None).documents("/v1/cluster") == []
        assert "certificate verify failed" in caplog.text


async def test_log_says_once_why_a_port_tells_nothing(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"\n{TOKEN}\nan-older-token-of-this-test\n")
    settings = {"pybroker.http.listeners": "HTTP://127.0.0.1:0", "pybroker.http.token.file": str(file)}
    async with Broker(settings) as broker:
        assert broker.http_url is not None
        dead = f"http://127.0.0.1:{free_port()}"
        wrong = tmp_path / "wrong"
        wrong.write_text("a-wrong-token-of-this-test\n")
        client = V1Client((broker.http_url, dead), TokenFile(wrong))
        with caplog.at_level(logging.INFO, "pybroker.console"):
            for _ in range(2):
                assert await client.documents("/v1/cluster") == []
        said = [record.getMessage() for record in caplog.records if record.name.startswith("pybroker.console")]
        assert len(said) == 2
        assert any(line.startswith(f"{broker.http_url} tells nothing: it wants a valid token") for line in said)
        assert any(line.startswith(f"{dead} tells nothing: ") and "Connect call failed" in line for line in said)
        options = console_parser().parse_args(["--v1-token-file", str(file)])
        token = console_settings(options).v1_token
        assert len(await V1Client((broker.http_url,), token).documents("/v1/cluster")) == 1


async def test_token_is_read_again_when_its_file_has_changed(tmp_path: Path) -> None:
    file, own = tmp_path / "tokens", tmp_path / "own"
    file.write_text(f"{TOKEN}\n")
    own.write_text("an-older-token-of-this-test\n")
    settings = {"pybroker.http.listeners": "HTTP://127.0.0.1:0", "pybroker.http.token.file": str(file)}
    async with Broker(settings) as broker:
        assert broker.http_url is not None
        client = V1Client((broker.http_url,), TokenFile(own))
        assert await client.documents("/v1/cluster") == []
        own.write_text("")  # a file that is being written keeps the last token
        assert await client.documents("/v1/cluster") == []
        own.write_text(f"{TOKEN}\n")
        assert len(await client.documents("/v1/cluster")) == 1
        own.unlink()
        assert len(await client.documents("/v1/cluster")) == 1


async def test_token_that_a_port_refused_is_read_again_though_its_file_seems_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("old\n")
    token, before = TokenFile(file), file.stat()
    file.write_text("new\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert token.token() == "old"
    token.doubt()
    assert token.token() == "new"


async def test_port_of_another_cluster_is_left_out_with_one_line() -> None:
    settings = {"pybroker.http.listeners": "HTTP://127.0.0.1:0"}
    async with Broker(settings) as ours, Broker(settings) as other:
        ports = [part for each in (ours, other) for part in ("--v1", str(each.http_url))]
        with ConsoleProcess(ours.bootstrap_servers, *ports) as console:
            for _ in range(2):
                view = await asyncio.to_thread(console.get, "/api/cluster")
                assert view["source"]["brokers"] == 1
            lines = [line for line in console.output.splitlines() if "tells nothing" in line]
        assert len(lines) == 1
        assert f"{other.http_url} tells nothing: it belongs to another cluster, " in lines[0]
        assert f"and not to {view['cluster_id']!r}" in lines[0]


async def test_brokers_set_up_anew_as_another_cluster_tell_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(v1_client, "_AWAY_S", 0.0)
    async with Broker({"pybroker.http.listeners": "HTTP://127.0.0.1:0"}) as broker:
        assert broker.http_url is not None
        client = V1Client((broker.http_url,), None)
        wanted = [client.wants_cluster_id]
        (told,) = await client.documents("/v1/cluster")
        client.set_cluster_id("the cluster that was here before")
        wanted.append(client.wants_cluster_id)
        assert await client.documents("/v1/cluster") == []
        assert [*wanted, client.wants_cluster_id] == [True, False, True]
        client.set_cluster_id(told["cluster_id"])
        assert len(await client.documents("/v1/cluster")) == 1


async def test_numbers_that_a_long_list_of_groups_leaves_out_come_from_v1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_views, "WITH_LAG", 0)
    async with Broker({"pybroker.http.listeners": "HTTP://127.0.0.1:0"}) as broker:
        assert broker.http_url is not None
        await commit(broker.bootstrap_servers, "readers")
        cluster = AsyncCluster(
            take_client_settings(GivenOptions({"bootstrap.servers": broker.bootstrap_servers}), "test")
        )
        lists = V1Lists(V1Client((broker.http_url,), None))
        (row,), told = await group_views.group_rows(cluster), await lists.groups.get()
        lists.close()
        cluster.close()
        numbers = ("topics", "partitions", "lag", "max_lag_seconds", "verdict")
        assert [row[name] for name in numbers] == [None] * 5
        assert [overlaid(row, told.rows["readers"])[name] for name in numbers] == [1, 1, 0, 0.0, "ok"]


def test_groups_whose_lag_is_not_asked_for_are_counted_unless_pybrokers_told_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_views, "WITH_LAG", 2)
    assert group_views.without_lag(["d", "b", "a", "c"], ()) == 2
    assert group_views.without_lag(["d", "b", "a", "c"], {"d": 1, "a": 2}) == 1
    assert group_views.without_lag(["b", "a"], ()) == 0


async def commit(bootstrap_servers: str, group: str) -> None:
    place = TopicPartition("orders", 0)
    async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers) as producer:
        await producer.send_and_wait("orders", b"1", partition=0)
    async with AIOKafkaConsumer(
        bootstrap_servers=bootstrap_servers, group_id=group, enable_auto_commit=False
    ) as reader:
        reader.assign([place])
        await reader.commit({place: 1})


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ("--certificate", None, "No such file"),
        ("--certificate", "no PEM", "PEM"),
        ("--v1-ca", None, "No such file"),
        ("--v1-ca", "no PEM", "no certificate"),
        ("--v1-token-file", None, "No such file"),
        ("--v1-token-file", "\n", "there is no token in it"),
        ("--v1-token-file", "tökén", "ASCII"),
    ],
)
def test_file_that_cannot_be_used_refuses_the_start_in_one_line(
    option: str, content: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    if content is not None:
        file.write_text(content)
    assert console_command(["--http", "127.0.0.1:0", option, str(file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"pybroker console: {option} {file}: ")
    assert said in error
    assert error.count("\n") == 1


def test_child_of_a_broker_asks_the_port_without_tls_with_the_token_of_its_file() -> None:
    kafka = [Endpoint("PLAINTEXT", "127.0.0.1", 9092)]
    plain, encrypted = Endpoint("HTTP", "127.0.0.1", 8092), Endpoint("HTTPS", "127.0.0.1", 8443, "SSL")
    settings = {"listeners": "PLAINTEXT://127.0.0.1:9092", "pybroker.console": "127.0.0.1:8093"}
    with_token = config_from_mapping({**settings, "pybroker.http.token.file": "/tokens"}, "test")
    arguments = console_arguments(with_token, kafka, [encrypted, plain])
    assert arguments is not None
    at = arguments.index("--v1")
    assert arguments[at : at + 4] == ["--v1", "http://127.0.0.1:8092", "--v1-token-file", "/tokens"]
    alone = console_arguments(config_from_mapping(settings, "test"), kafka, [encrypted])
    assert alone is not None
    assert "--v1" not in alone
