"""`pybroker init compose` writes files that describe the same clusters as the compose files of the repository."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from pybroker.broker.commands.command_line import main
from pybroker.broker.commands.init.compose_plan import ComposePlan
from pybroker.broker.commands.init.compose_text import compose_text
from pybroker.broker.commands.init.project_files import project_files
from pybroker.client.client_settings import take_client_settings
from pybroker.client.given_options import GivenOptions
from pybroker.config.properties import read_properties
from support.processes.compose_cluster import ComposeCluster, config_of
from support.processes.compose_config import resolved_by_compose
from support.processes.compose_file import merged, parse, read

ROOT = Path(__file__).resolve().parents[4]
PASSWORDS = {"broker": "one", "admin": "two"}
VARIABLES = {"BROKER_PASSWORD": "one", "ADMIN_PASSWORD": "two", "USER_1_PASSWORD": "three"}
SIZES = (1, 3, 5)


def without_image(project: dict[str, Any]) -> dict[str, Any]:
    """The services without what says how the image is made, and the volumes' names."""
    services = {
        name: {key: value for key, value in service.items() if key not in ("build", "pull_policy")}
        for name, service in project["services"].items()
    }
    return {"services": services, "volumes": sorted(project["volumes"])}


@pytest.mark.parametrize(
    ("plan", "files"),
    [
        (ComposePlan(3), []),
        (ComposePlan(3, has_tls=True), ["tls"]),
        (ComposePlan(3, has_tls=True, passwords=PASSWORDS), ["tls", "sasl"]),
        (ComposePlan(3, has_monitoring=True), ["monitoring"]),
        (ComposePlan(3, has_tls=True, has_monitoring=True, passwords=PASSWORDS), ["tls", "sasl", "monitoring"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_written_services_equal_those_of_the_repository(plan: ComposePlan, files: list[str], tmp_path: Path) -> None:
    written = tmp_path / "compose.yaml"
    written.write_text(compose_text(plan))
    here = merged(written, variables=VARIABLES)
    there = merged(ROOT / "compose.yaml", *(ROOT / f"compose.{name}.yaml" for name in files), variables=VARIABLES)
    assert without_image(here) == without_image(there)
    assert {service.get("pull_policy") for service in here["services"].values() if service["image"] == "pybroker"} == {
        "never"
    }


@pytest.mark.parametrize(
    ("brokers", "has_tls", "passwords"),
    [(1, False, {}), (1, True, {}), (1, False, PASSWORDS), (5, True, PASSWORDS)],
)
def test_brokers_of_every_size_get_valid_settings(
    brokers: int, has_tls: bool, passwords: dict[str, str], tmp_path: Path
) -> None:
    plan = ComposePlan(brokers, has_tls, has_monitoring=True, passwords=passwords)
    (tmp_path / "compose.yaml").write_text(compose_text(plan))
    services = merged(tmp_path / "compose.yaml", variables=VARIABLES)["services"]
    assert [name for name in services if name.startswith("broker-")] == plan.names
    for number, name in enumerate(plan.names, 1):
        config = config_of(services[name])
        advertised = {listener.name: listener for listener in config.advertised_listeners() or ()}
        assert not config.unknown
        assert config.int("broker.id") == number
        assert config.int("default.replication.factor") == min(brokers, 3)
        assert advertised["EXTERNAL"].port == 9091 + number
        assert {listener.security_protocol for listener in config.listeners()} == {plan.protocol}
        assert ("zookeeper" in services) == bool(config.optional_string("zookeeper.connect"))


def test_compose_accepts_the_file_with_every_option(tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    passwords = {**PASSWORDS, "alice": "three"}
    file.write_text(compose_text(ComposePlan(5, has_tls=True, has_monitoring=True, passwords=passwords)))
    resolved = resolved_by_compose(file, variables=VARIABLES)["services"]
    ours = merged(file, variables=VARIABLES)["services"]
    assert list(resolved) == sorted(ours)
    for name, service in ours.items():
        assert (resolved[name].get("environment") or {}) == service.get("environment", {})
    assert 'echo "$USER_1_PASSWORD" | pybroker user set alice' in ours["users"]["command"][-1]


def test_command_writes_files_with_secrets_that_only_the_owner_reads(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "cluster"
    assert main(["init", "compose", str(directory), "--tls", "--user", "alice=secret", "--user", "bob"]) == 0
    given = dict(line.split("=", 1) for line in (directory / ".env").read_text().splitlines() if line[0] != "#")
    assert given["USER_1_PASSWORD"] == "secret"
    assert len(set(given.values())) == len(given) == 4
    for name in (".env", "client.properties"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
    (directory / "ca.pem").touch()
    found = {name: value.value for name, value in read_properties(directory / "client.properties").items()}
    found["ssl.truststore.location"] = str(directory / "ca.pem")
    assert take_client_settings(GivenOptions(found), "test")
    assert f'password="{given["ADMIN_PASSWORD"]}"' in found["sasl.jaas.config"]


def test_files_are_never_overwritten_without_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".env").write_text("mine")
    command = ["init", "compose", str(tmp_path), "--user", "alice"]
    assert main(command) == main([*command, "--dry-run"]) == 1
    assert f"{tmp_path}/.env: exists; nothing was written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [".env"]
    assert (tmp_path / ".env").read_text() == "mine"
    assert main([*command, "--force"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [".env", "client.properties", "compose.yaml"]
    assert "mine" not in (tmp_path / ".env").read_text()


def test_dry_run_names_the_files_and_writes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "compose", str(tmp_path / "new"), "--monitoring", "--dry-run"]) == 0
    named = re.findall(r"would write (.*)", capsys.readouterr().out)
    assert named == [str(tmp_path / "new" / path) for path in project_files(ComposePlan(3, has_monitoring=True))]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("brokers", SIZES)
def test_monitoring_files_are_those_of_the_repository_for_this_many_brokers(brokers: int) -> None:
    files = project_files(ComposePlan(brokers, has_monitoring=True))
    there = {str(path.relative_to(ROOT)) for path in (ROOT / "monitoring").rglob("*") if path.is_file()}
    assert {path for path in files if path.startswith("monitoring/")} == there
    changed = {path for path in there if files[path].text != (ROOT / path).read_text()}
    assert changed == (set() if brokers == 3 else {"monitoring/prometheus/prometheus.yaml"})
    (targets,) = re.findall(r"targets: (.*)", files["monitoring/prometheus/prometheus.yaml"].text)
    assert json.loads(targets) == [f"broker-{number}:8092" for number in range(1, brokers + 1)]
    for service in parse(files["compose.yaml"].text)["services"].values():
        for volume in service.get("volumes", []):
            place = volume.partition(":")[0].removeprefix("./")
            assert not volume.startswith(".") or any(path.startswith(place) for path in files)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--brokers", "2"], "invalid choice: 2"),
        (["--user", "a b=c"], "'a b': a user's name must be"),
        (["--user", "a=$(id)"], "the password of a must be"),
        (["--user", 'a=";'], "the password of a must be"),
        (["--user", "a=x", "--user", "a=y"], "user a is given twice"),
        (["--users", "/nowhere/users"], "--users /nowhere/users: "),
    ],
)
def test_bad_input_gets_one_line_and_writes_nothing(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "compose", str(tmp_path / "new"), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_users_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("# people\nalice=secret\n\nadmin=root\n")
    assert main(["init", "compose", str(tmp_path / "new"), "--users", str(tmp_path / "users")]) == 0
    lines = (tmp_path / "new" / ".env").read_text().splitlines()
    assert {"ADMIN_PASSWORD=root", "USER_1_PASSWORD=secret"} < set(lines)
    assert read(tmp_path / "new" / "compose.yaml")["services"]["users"]


def test_a_single_broker_runs_without_zookeeper(tmp_path: Path) -> None:
    services = parse(compose_text(ComposePlan(1)))["services"]
    assert list(services) == ["broker-1"]
    with ComposeCluster(services, "", tmp_path) as cluster:
        cluster.start("broker-1")
        assert main(["topics", "create", "demo", "-b", cluster.bootstrap_servers]) == 0
