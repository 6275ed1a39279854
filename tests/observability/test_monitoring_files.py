"""The boards and alerts in `monitoring/` use series that exist, and the alerts fire when they should."""

import json
import re
from pathlib import Path

import pytest
from monitoring_files.__main__ import DIRECTORY, files
from monitoring_files.alerts import ALERTS
from monitoring_files.boards import BOARDS
from monitoring_files.expressions import UnknownNameError, checked, series_in
from pybroker.broker.events.table import EVENTS
from support.monitoring.alert_cases import CASES, AlertCase
from support.monitoring.prometheus_process import promtool
from support.processes.compose_file import merged

ROOT = Path(__file__).parents[2]
RENEW = "run: scripts/monitoring"
RULES = DIRECTORY / "prometheus" / "alerts.yaml"


@pytest.mark.parametrize("name", files())
def test_files_of_monitoring_are_those_that_the_table_of_series_gives(name: str) -> None:
    assert (DIRECTORY / name).read_text(encoding="utf-8") == files()[name], RENEW


def test_expression_with_an_unknown_series_or_label_is_refused() -> None:
    for expression in ("sum(kafka_no_such_series)", 'kafka_brokers{topic="a"}', "sum by (topic) (kafka_brokers)"):
        with pytest.raises(UnknownNameError):
            checked(expression)
    assert checked('rate(pybroker_request_duration_seconds_bucket{request="Produce"}[1m])')


def test_boards_have_unique_panels_that_fit_the_width() -> None:
    for name in BOARDS:
        board = json.loads((DIRECTORY / "grafana" / f"{name}.json").read_text())
        places = [panel["gridPos"] for panel in board["panels"]]
        assert all(place["x"] + place["w"] <= 24 for place in places)
        cells = [
            (x, y)
            for at in places
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        ]
        assert len(cells) == len(set(cells)), f"panels of {name} overlap"
        assert all(panel.get("description") for panel in board["panels"] if panel["type"] != "row")


def test_alerts_name_events_that_exist() -> None:
    assert [name for alert in ALERTS for name in alert.events if name not in EVENTS] == []


def test_prometheus_finds_nothing_wrong_with_the_rules() -> None:
    assert f"{len(ALERTS)} rules found" in promtool("check", "rules", str(RULES))


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_is_quiet() -> None:
    for alert in ALERTS:
        assert {bool(case.fires) for case in CASES if case.alert == alert.name} == {True, False}, alert.name
        read = {series.name for series in series_in(alert.expression)}
        for case in CASES:
            if case.alert == alert.name:
                assert {re.split(r"[{ ]", name)[0] for name in case.series} == read


def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(
        json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [*map(_test, CASES)]})
    )
    promtool("test", "rules", str(file))


def test_compose_file_scrapes_every_broker_and_mounts_every_board() -> None:
    services = merged(ROOT / "compose.yaml", ROOT / "compose.monitoring.yaml")["services"]
    brokers = sorted(name for name in services if name.startswith("broker-"))
    ports = [services[name]["environment"]["KAFKA_PYBROKER_HTTP_LISTENERS"].rpartition(":")[2] for name in brokers]
    targets = re.findall(r'"([\w-]+):(\d+)"', (DIRECTORY / "prometheus" / "prometheus.yaml").read_text())
    assert targets == list(zip(brokers, ports, strict=True))
    mounted = [volume.split(":") for volume in services["grafana"]["volumes"] if volume.startswith("./")]
    assert all((ROOT / place).exists() for place, *_ in mounted)
    provider = (DIRECTORY / "grafana" / "provisioning" / "dashboards" / "pybroker.yaml").read_text()
    (path,) = re.findall(r"path: (.*)", provider)
    shown = {Path(inside).name for _, inside, _ in mounted if inside.startswith(path)}
    assert shown == {f"{name}.json" for name in BOARDS}


def test_prometheus_accepts_its_configuration() -> None:
    assert "SUCCESS" in promtool("check", "config", str(DIRECTORY / "prometheus" / "prometheus.yaml"))


def _test(case: AlertCase) -> dict[str, object]:
    alert = next(each for each in ALERTS if each.name == case.alert)
    labels = {"alertname": alert.name, "alertstate": "firing", "severity": alert.severity, **case.labels}
    text = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "promql_expr_test": [
            {
                "expr": f'ALERTS{{alertname="{alert.name}",alertstate="firing"}}',
                "eval_time": case.at,
                "exp_samples": [{"labels": f"ALERTS{{{text}}}", "value": 1}] if case.fires else [],
            }
        ],
    }
