"""The broker's settings: sources, precedence, combined checks, refusals, notices."""

from pathlib import Path

import pytest
from pybroker.config.config_error import ConfigError
from pybroker.config.given import Source
from pybroker.config.group_protocols import asks_for_consumer_protocol, asks_for_share_groups
from pybroker.config.load import load_config, unchecked_config, with_overrides
from pybroker.config.notices import notices
from pybroker.config.printed_config import printed_config

PROTOCOLS = "group.coordinator.rebalance.protocols"
CONSUMER = f"{PROTOCOLS}=classic,consumer\n"
SHARE = f"{PROTOCOLS}=classic,share\n"
TWO_NAMES = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,EXT:PLAINTEXT\n"


def test_config_without_any_setting_gives_a_working_broker() -> None:
    config = load_config()
    assert config.uses_embedded_store
    assert [str(listener) for listener in config.listeners()] == ["PLAINTEXT://:9092"]
    assert config.advertised_listeners() is None
    assert config.log_dirs == ("./pybroker-data",)
    assert config.metadata_store_path == Path("pybroker-data/__pybroker_metadata.db")
    assert config.int("broker.id") == -1
    assert config.int("offsets.topic.replication.factor") == 1
    assert config.int("group.initial.rebalance.delay.ms") == 0
    assert notices(config) == []


def test_defaults_with_zookeeper_are_kafkas_except_the_memory_bound() -> None:
    config = unchecked_config("zookeeper.connect=localhost:2181")
    assert not config.uses_embedded_store
    assert config.int("offsets.topic.replication.factor") == 3
    assert config.int("transaction.state.log.min.isr") == 2
    assert config.log_dirs == ("/tmp/kafka-logs",)
    assert config.int("queued.max.request.bytes") == 256 * 1024 * 1024


def test_overrides_precede_the_file_and_the_file_precedes_defaults(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\nnum.io.threads = 4\n", encoding="latin-1")
    config = load_config(file, {"num.io.threads": "5"})
    assert (config.int("num.partitions"), config.source("num.partitions")) == (3, Source.FILE)
    assert (config.int("num.io.threads"), config.source("num.io.threads")) == (5, Source.OVERRIDE)
    assert config.source("background.threads") is Source.DEFAULT
    assert config.given["num.partitions"].place == "server.properties line 1"


def test_with_overrides_does_not_change_the_original_config() -> None:
    first = load_config("num.partitions=3\nbroker.rack=a")
    second = with_overrides(first, {"num.partitions": "4"})
    assert (first.int("num.partitions"), second.int("num.partitions")) == (3, 4)
    assert second.string("broker.rack") == "a"
    with pytest.raises(ConfigError, match=r"num\.partitions=0"):
        with_overrides(first, {"num.partitions": "0"})


def test_config_getters_return_each_type_and_none() -> None:
    config = load_config("log.retention.ms=5\nbroker.rack=r")
    assert config.boolean("auto.create.topics.enable") is True
    assert config.double("log.cleaner.min.cleanable.ratio") == 0.5
    assert config.list("log.cleanup.policy") == ("delete",)
    assert config.optional_list("zookeeper.ssl.cipher.suites") is None
    assert config.optional_int("log.retention.minutes") is None
    assert config.optional_int("log.retention.ms") == 5
    assert config.optional_string("broker.rack") == "r"
    assert config.optional_string("advertised.listeners") is None


def test_a_getter_of_another_type_or_an_unknown_name_is_an_error_of_the_program() -> None:
    config = load_config()
    with pytest.raises(KeyError):
        config.int("no.such.setting")
    for wrong in (
        lambda: config.int("auto.create.topics.enable"),
        lambda: config.int("broker.rack"),
        lambda: config.boolean("num.partitions"),
        lambda: config.string("num.partitions"),
        lambda: config.double("num.partitions"),
        lambda: config.list("broker.rack"),
    ):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("", "retention_ms", 168 * 3_600_000),
        ("log.retention.hours=2", "retention_ms", 2 * 3_600_000),
        ("log.retention.hours=2\nlog.retention.minutes=7", "retention_ms", 7 * 60_000),
        ("log.retention.minutes=7\nlog.retention.ms=9", "retention_ms", 9),
        ("log.retention.ms=-1", "retention_ms", -1),
        ("log.retention.minutes=-3", "retention_ms", -1),
        ("log.retention.hours=2147483647", "retention_ms", 2147483647 * 3_600_000),
        ("log.roll.hours=2", "roll_ms", 2 * 3_600_000),
        ("log.roll.hours=2\nlog.roll.ms=9", "roll_ms", 9),
        ("log.roll.jitter.hours=2", "roll_jitter_ms", 2 * 3_600_000),
        ("log.roll.jitter.ms=9\nlog.roll.jitter.hours=2", "roll_jitter_ms", 9),
        ("", "flush_interval_ms", 2**63 - 1),
        ("log.flush.scheduler.interval.ms=5", "flush_interval_ms", 5),
        ("log.flush.scheduler.interval.ms=5\nlog.flush.interval.ms=6", "flush_interval_ms", 6),
        ("log.dir=/a", "log_dirs", ("/a",)),
        ("log.dir=/a\nlog.dirs=/b , /c,", "log_dirs", ("/b", "/c")),
        ("metadata.store.path=/m.db", "metadata_store_path", Path("/m.db")),
        ("log.dirs=/b,/c", "metadata_store_path", Path("/b/__pybroker_metadata.db")),
        ("inter.broker.listener.name=plaintext", "inter_broker_listener_name", "PLAINTEXT"),
        ("max.connections.per.ip.overrides=h:5, ::1:6", "max_connections_per_ip_overrides", {"h": 5, "::1": 6}),
        ("max.connections.per.ip.overrides=h:-1,i:+7", "max_connections_per_ip_overrides", {"h": -1, "i": 7}),
    ],
)
def test_values_derived_from_several_settings_follow_kafka(text: str, name: str, value: object) -> None:
    assert getattr(load_config(text), name) == value


def test_the_bound_on_requests_follows_a_larger_frame_and_is_checked_when_given() -> None:
    assert load_config("socket.request.max.bytes=500000000").int("queued.max.request.bytes") == 500_000_000
    assert load_config("queued.max.request.bytes=-1").int("queued.max.request.bytes") == -1
    with pytest.raises(ConfigError, match=r"queued.max.request.bytes=1 .*socket.request.max.bytes=104857600"):
        load_config("queued.max.request.bytes=1")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("num.partitions=x", "num.partitions=x"),
        ("num.partitions=0", "num.partitions=0"),
        ("compression.type=GZIP", "compression.type=GZIP"),
        ("log.cleanup.policy=compact,foo", "log.cleanup.policy=compact,foo"),
        ("broker.id=1001", "broker.id=1001"),
        ("broker.id=-2", "broker.id=-2"),
        ("broker.id.generation.enable=false", "broker.id=-1"),
        ("log.dirs=", "log.dirs="),
        ("log.dirs=,", "log.dirs=,"),
        ("log.dirs=/a,/b/../a", "log.dirs=/a,/b/../a"),
        ("log.retention.ms=0", "log.retention.ms=0"),
        ("log.retention.minutes=0", "log.retention.minutes=0"),
        ("log.retention.hours=0", "log.retention.hours=0"),
        ("log.roll.ms=0", "log.roll.ms=0"),
        ("log.roll.jitter.ms=-1", "log.roll.jitter.ms=-1"),
        ("log.cleaner.threads=128", "log.cleaner.dedupe.buffer.size=134217728"),
        ("replica.fetch.wait.max.ms=30001", "replica.fetch.wait.max.ms=30001"),
        ("replica.lag.time.max.ms=400", "replica.fetch.wait.max.ms=500"),
        ("group.min.session.timeout.ms=9000\ngroup.max.session.timeout.ms=8000", "group.min.session.timeout.ms=9000"),
        ("log.cleaner.min.compaction.lag.ms=9\nlog.cleaner.max.compaction.lag.ms=8", "log.cleaner.min.compaction.lag"),
        ("listeners=", "listeners="),
        ("listeners=EXT://h:1\n" + TWO_NAMES, "inter.broker.listener.name=PLAINTEXT"),
        ("advertised.listeners=PLAINTEXT://0.0.0.0:1", "advertised.listeners=PLAINTEXT://0.0.0.0:1"),
        ("advertised.listeners=PLAINTEXT://h:1,EXT://h:2\n" + TWO_NAMES, "advertised.listeners="),
        ("inter.broker.listener.name=OTHER", "inter.broker.listener.name=OTHER"),
        ("inter.broker.listener.name=PLAINTEXT\nsecurity.inter.broker.protocol=PLAINTEXT", "inter.broker.listener."),
        ("control.plane.listener.name=PLAINTEXT", "control.plane.listener.name=PLAINTEXT"),
        ("control.plane.listener.name=C", "control.plane.listener.name=C"),
        ("max.connections.per.ip=0", "max.connections.per.ip=0"),
        ("max.connections.per.ip.overrides=h", "max.connections.per.ip.overrides=h"),
        ("max.connections.per.ip.overrides=h:x", "max.connections.per.ip.overrides=h:x"),
        ("max.connections.per.ip.overrides=[::1]:5", "max.connections.per.ip.overrides="),
        ("connections.max.idle.ms=100", "connections.max.idle.ms=100"),
        ("offsets.commit.required.acks=2", "offsets.commit.required.acks=2"),
        ("offsets.topic.compression.codec=5", "offsets.topic.compression.codec=5"),
        ("group.coordinator.rebalance.protocols=consumer", "group.coordinator.rebalance.protocols="),
        ("group.coordinator.rebalance.protocols=classic,unknown", "group.coordinator.rebalance.protocols="),
        (SHARE + "group.share.heartbeat.interval.ms=4999", "group.share.heartbeat.interval.ms=4999"),
        (SHARE + "group.share.session.timeout.ms=60001", "group.share.session.timeout.ms=60001"),
        (SHARE + "group.share.record.lock.duration.ms=14999", "group.share.record.lock.duration.ms=14999"),
        (
            SHARE + "group.share.heartbeat.interval.ms=45000\ngroup.share.max.heartbeat.interval.ms=45000",
            "group.share.heartbeat.interval.ms=45000",
        ),
        (CONSUMER + "group.consumer.heartbeat.interval.ms=4999", "group.consumer.heartbeat.interval.ms=4999"),
        (CONSUMER + "group.consumer.session.timeout.ms=60001", "group.consumer.session.timeout.ms=60001"),
        (
            CONSUMER + "group.consumer.heartbeat.interval.ms=45000\ngroup.consumer.max.heartbeat.interval.ms=45000",
            "group.consumer.heartbeat.interval.ms=45000",
        ),
        (CONSUMER + "group.consumer.assignors=mine", "group.consumer.assignors=mine"),
        ("inter.broker.protocol.version=2.8", "inter.broker.protocol.version=2.8"),
        ("inter.broker.protocol.version=4.0-IV0", "inter.broker.protocol.version=4.0-IV0"),
        ("listener.name.plaintext.max.connections=-5", "listener.name.plaintext.max.connections=-5"),
        ("pybroker.record.validation=none", "pybroker.record.validation=none"),
        ("zookeeper.connect=zk:port", "zookeeper.connect=zk:port"),
        ("zookeeper.connect=zk1:2181,zk2:65536/kafka", "zookeeper.connect=zk1:2181,zk2:65536/kafka"),
        ("zookeeper.connect=zk:0", "zookeeper.connect=zk:0"),
        ("zookeeper.connect=::1:2181", "zookeeper.connect=::1:2181"),
        ("zookeeper.connect=/kafka", "zookeeper.connect=/kafka"),
        ("zookeeper.connect=,", "zookeeper.connect=,"),
    ],
)
def test_a_bad_value_is_refused_in_one_line_that_begins_with_name_and_value(text: str, name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_config(text)
    assert str(raised.value).startswith(name)
    assert "must" in str(raised.value) or "may" in str(raised.value) or "cannot connect" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_secret_with_a_bad_name_never_shows_its_value() -> None:
    with pytest.raises(ConfigError) as raised:
        load_config("ssl.key.password=hunter2\nlistener.name.x.plain.sasl.jaas.config=hunter3")
    assert "hunter" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@a:9093,2@b:9093",
            "process.roles=broker,controller (settings line 1), and node.id (settings line 2), "
            "controller.quorum.voters (settings line 3): pybroker has no KRaft mode",
        ),
        ("node.id=3", "node.id=3"),
        ("controller.listener.names=CONTROLLER", "controller.listener.names=CONTROLLER"),
        ("zookeeper.metadata.migration.enable=true", "zookeeper.metadata.migration.enable=true"),
    ],
)
def test_kraft_mode_is_refused_with_a_solution(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_config(text)
    assert str(raised.value).startswith(words)
    assert "to run a single broker with its embedded metadata store" in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "authorizer.zookeeper.url=zk:2181",
        "super.userss=User:admin",
        "allow.everyone.if.no.acl.found.=false",
        "ssl.provider=Conscrypt",
        "ssl.no.such.thing=1",
        "listener.name.external.ssl.client.auth=required",
        "listener.name.external.scram-sha-256.sasl.nonsense=x",
        "zookeeper.set.acl=true",
        "zookeeper.ssl.client.enable=true",
        "delegation.token.master.key=k",
        "create.topic.policy.class.name=C",
        "client.quota.callback.class=C",
        "principal.builder.class=C",
    ],
)
def test_security_settings_refuse_the_start(text: str) -> None:
    with pytest.raises(ConfigError, match="does not start without the protection that the settings ask for"):
        load_config(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ssl.keystore.locatoin=/k", "there is no such setting; did you mean ssl.keystore.location?; pybroker does"),
        ("super.userss=User:a", "there is no such setting; did you mean super.users?; "),
        ("ssl.no.such.thing=1", "there is no such setting; pybroker does not start"),
        (
            "listener.name.x.scram-sha-512.sasl.jaas.confg=secret",
            "no such setting; did you mean listener.name.x.scram-sha-512.sasl.jaas.config?; ",
        ),
        ("listener.name.x.ssl.client.auht=none", "no such setting; did you mean listener.name.x.ssl.client.auth?; "),
        ("authorizer.zookeeper.url=z", "not supported: ACLs in another ZooKeeper; "),
        ("delegation.token.master.key=k", "not supported: delegation tokens; "),
        (
            "principal.builder.class=C\nssl.x=1",
            "principal.builder.class (settings line 1): not supported: principals built by Java classes; "
            "ssl.x (settings line 2): there is no such setting; ",
        ),
    ],
)
def test_refusal_of_a_security_setting_tells_a_misspelt_name_from_missing_protection(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_config(text)
    assert says in str(raised.value)
    assert "secret" not in str(raised.value)


def test_password_that_names_another_place_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"ssl\.keystore\.password \(settings line 1\): .*config\.providers"
    ) as raised:
        load_config("ssl.keystore.password=${file:/run/secrets:key}")
    assert "/run/secrets" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "zookeeper.connect=",
        "authorizer.class.name=",
        "ssl.client.auth=none",
        "ssl.keystore.location=",
        "sasl.enabled.mechanisms=GSSAPI",
        "security.inter.broker.protocol=PLAINTEXT",
        "zookeeper.set.acl=false",
        "process.roles=",
        "node.id=-1",
    ],
)
def test_security_setting_that_is_empty_or_kafkas_default_is_accepted(text: str) -> None:
    load_config(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "metrics.num.samples=3",
            "metrics.num.samples (settings line 1) has no effect yet: it needs metrics",
        ),
        ("num.network.threads=3", "num.network.threads (settings line 1) has no effect: one event loop"),
        (
            "inter.broker.protocol.version=3.9",
            "inter.broker.protocol.version (settings line 1) has effect only in part",
        ),
        (
            "listener.name.plaintext.socket.request.max.bytes=5",
            "has no effect yet: socket.request.max.bytes applies to",
        ),
        ("ssl.client.auth=required", "ssl.client.auth (settings line 1) has no effect: the listeners use no TLS"),
        ("listener.name.plaintext.ssl.keystore.location=/k", "(settings line 1) has no effect: the listeners use no"),
        ("port=9093", "port (settings line 1) is ignored: Kafka removed it long ago: use listeners"),
        ("retention.ms=5", "it is a setting of topics; the broker's default for topics is log.retention.ms"),
        ("leader.replication.throttled.rate=5", "set while the broker runs"),
        (
            "num.partition=5",
            "num.partition (settings line 1) is ignored: there is no such setting; did you mean num.partitions",
        ),
        ("confluent.support.metrics.enable=true", "is ignored: there is no such setting"),
        (f"{PROTOCOLS}=classic,streams", "(settings line 1): streams groups are not served"),
        (CONSUMER + "group.share.max.size=50", "no effect: share groups are not served"),
        (CONSUMER + "share.coordinator.write.timeout.ms=9", "no effect: share groups are not served"),
        (CONSUMER + "pybroker.share.states.max.bytes=9", "no effect: share groups are not served"),
        (SHARE + "group.share.max.groups=50", "no effect: as in Kafka 4.2, the number of share groups has no bound"),
        (
            "offsets.topic.replication.factor=3",
            "offsets.topic.replication.factor=3 (settings line 1) with a single broker",
        ),
        ("default.replication.factor=2", "default.replication.factor=2 (settings line 1) with a single broker"),
    ],
)
def test_ineffective_setting_is_reported_once_in_one_line(text: str, words: str) -> None:
    lines = notices(load_config(text))
    assert len(lines) == 1
    assert words in lines[0]
    assert "\n" not in lines[0]


@pytest.mark.parametrize(
    "text",
    [
        "num.partitions=3",
        "log.cleanup.policy=delete",
        "inter.broker.protocol.version=3.9-IV0",
        SHARE + "group.share.max.size=50\nshare.coordinator.write.timeout.ms=9",
        "#x=1",
        "listeners=SSL://:9093,PLAINTEXT://:9092\nssl.keystore.location=/k\nlistener.name.ssl.ssl.client.auth=required",
    ],
)
def test_effective_setting_is_not_reported(text: str) -> None:
    assert notices(load_config(text)) == []


def test_settings_of_one_listener_override_the_common_ones() -> None:
    config = load_config("max.connections=10\nlistener.name.ext.max.connections=5\nlistener.name.ext.plain.x=1")
    assert config.for_listener("EXT").int("max.connections") == 5
    assert config.for_listener("PLAINTEXT").int("max.connections") == 10
    assert list(config.unknown) == ["listener.name.ext.plain.x"]


def test_printed_settings_are_sorted_have_a_source_and_hide_passwords() -> None:
    config = unchecked_config(
        "num.partitions=3\nssl.key.password=hunter2\nbroker.rack=a\\nb\nlistener.name.x.ssl.key.password=hunter2\nfoo=1",
        {"broker.id": "7"},
    )
    lines = printed_config(config).splitlines()
    names = [line.partition("=")[0] for line in lines]
    assert names == sorted(names)
    for line in (
        "num.partitions=3 (file)",
        "broker.id=7 (override)",
        "broker.rack=a\\nb (file)",
        "advertised.listeners=null (default)",
        "ssl.key.password=[hidden] (file)",
        "ssl.keystore.password=null (default)",
        "listener.name.x.ssl.key.password=[hidden] (file)",
        "log.dir=./pybroker-data (default)",
        "log.cleaner.io.max.bytes.per.second=1.7976931348623157E308 (default)",
    ):
        assert line in lines
    assert "hunter" not in "".join(lines)
    assert not any(line.startswith("foo=") for line in lines)


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "[::0]", "[0:0:0:0:0:0:0:0]"])
def test_broker_on_zookeeper_needs_an_advertised_address(host: str) -> None:
    with pytest.raises(ConfigError, match=r"advertised.listeners=None: must be set"):
        load_config(f"zookeeper.connect=zk:2181\nlisteners=PLAINTEXT://{host}:9092")
    load_config(
        f"zookeeper.connect=zk:2181\nlisteners=PLAINTEXT://{host}:9092\nadvertised.listeners=PLAINTEXT://a:9092"
    )


def test_zookeeper_acls_need_credentials() -> None:
    with pytest.raises(ConfigError, match=r"zookeeper.set.acl=true .*: needs pybroker.zookeeper.digest"):
        load_config("zookeeper.connect=zk:2181\nzookeeper.set.acl=true")
    with pytest.raises(ConfigError, match=r"pybroker.zookeeper.digest=\[hidden\] .*: must be user:password"):
        load_config("zookeeper.connect=zk:2181\npybroker.zookeeper.digest=secret")
    load_config("zookeeper.connect=zk:2181\nzookeeper.set.acl=true\npybroker.zookeeper.digest=kafka:secret")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"log.dirs": "a,/b"}, "log.dirs=a,/b (override)"),
        ({"log.dirs": "/b", "metadata.store.path": "store"}, "metadata.store.path=store (override)"),
        ({}, "log.dir="),
    ],
)
def test_relative_path_in_a_deleted_working_directory_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], named: str
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match=r"the working directory was deleted; start .* or name absolute") as raised:
        load_config("", settings)
    assert str(raised.value).startswith(named)


@pytest.mark.parametrize("text", ["group.consumer.heartbeat.interval.ms=1", "group.consumer.assignors=mine"])
def test_settings_of_consumer_groups_are_checked_together_only_when_their_protocol_is_served(text: str) -> None:
    load_config("group.coordinator.rebalance.protocols=classic\n" + text)
    with pytest.raises(ConfigError):
        load_config(CONSUMER + text)


@pytest.mark.parametrize(
    ("settings", "is_served"),
    [
        ({}, (True, True)),
        ({"pybroker.as.version": "4.2"}, (True, True)),
        ({"pybroker.as.version": "4.1"}, (True, False)),
        ({"pybroker.as.version": "4.0"}, (True, False)),
        ({"pybroker.as.version": "3.9"}, (False, False)),
        ({"pybroker.as.version": "3.9", PROTOCOLS: "classic,consumer"}, (True, False)),
        ({"pybroker.as.version": "3.9", PROTOCOLS: "classic,share"}, (False, True)),
        ({PROTOCOLS: "classic"}, (False, False)),
        ({"zookeeper.connect": "zoo:2181", "advertised.listeners": "PLAINTEXT://h:1"}, (False, False)),
    ],
)
def test_single_broker_serves_the_consumer_protocol_and_share_groups_unless_told_otherwise(
    settings: dict[str, str], is_served: tuple[bool, bool]
) -> None:
    config = load_config("", settings)
    assert (asks_for_consumer_protocol(config), asks_for_share_groups(config)) == is_served
