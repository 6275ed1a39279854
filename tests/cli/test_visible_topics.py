"""Commands of a user who may see no topic, and those of a broker that does not answer."""

import socket

from pybroker import Broker
from pybroker.cli.cluster.shapes import ClusterHealth
from pybroker.cli.doctor.shapes import Diagnosis
from pybroker.config.authorization import ACL_AUTHORIZER
from support.clients.commands import rows_of, run

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "security.inter.broker.protocol": "PLAINTEXT",
    "authorizer.class.name": ACL_AUTHORIZER,
    "super.users": "User:ANONYMOUS;User:admin",
}


def login(user: str) -> list[str]:
    jaas = f'sasl.jaas.config={MODULE} username="{user}" password="x";'
    return ["-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN", "-X", jaas]


def test_cluster_is_not_judged_healthy_by_a_user_who_sees_none_of_it() -> None:
    with Broker(SETTINGS, users={"admin": "x", "eve": "x"}) as broker:
        secured = str(broker.config.text("listeners")).split("SASL_PLAINTEXT://")[1]
        assert run(secured, "topics", "list", *login("admin")).err == "there are no topics\n"
        assert run(secured, "cluster", "health", *login("admin")).code == 0, "a super user sees that there is none"
        assert run(broker.bootstrap_servers, "topics", "create", "hidden", "--wait").code == 0
        for noun, what in (("topics", "topics"), ("groups", "groups")):
            listed = run(secured, noun, "list", *login("eve"))
            assert (listed.code, listed.err) == (0, f"there are no {what} that this user may see\n")
        health = run(secured, "cluster", "health", *login("eve"))
        assert health.code == 4
        assert health.out == "NOT JUDGED: 1 broker, 0 partitions\n  there is no topic that this user may see\n"
        (view,) = rows_of(run(secured, "cluster", "health", "-o", "json", *login("eve")).out, ClusterHealth)
        assert (view["is_healthy"], view["problems"][0]["kind"]) == (False, "not allowed")
        rows = rows_of(run(secured, "doctor", "-o", "json", *login("eve")).out, Diagnosis)
        skipped = {row["check"] for row in rows if row["verdict"] == "skipped"}
        assert {"D11", "D12", "D13", "D14", "D15", "D16", "D18"} <= skipped


def test_broker_that_does_not_answer_in_time_has_an_exit_code_of_its_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ran = run(f"127.0.0.1:{listening.getsockname()[1]}", "topics", "list", "--timeout", "0.2")
    assert (ran.code, ran.err.count("\n")) == (5, 1)
    assert "timed out" in ran.err
