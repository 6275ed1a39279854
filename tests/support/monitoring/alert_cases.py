"""For each alert: series with which it fires, and series with which it must be quiet."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["CASES", "AlertCase"]


class AlertCase(NamedTuple):
    """``series``: values of each minute by series, in promtool's notation. ``labels``: of the alert that fires."""

    alert: str
    fires: bool
    at: str
    series: dict[str, str]
    labels: Mapping[str, str] = MappingProxyType({})


_ONE = {"instance": "a"}
_GROUP = {"group": "billing"}


def _cases(
    alert: str,
    at: str,
    firing: dict[str, str],
    quiet: dict[str, str],
    labels: dict[str, str] | None = None,
) -> tuple[AlertCase, AlertCase]:
    return AlertCase(alert, True, at, firing, labels or {}), AlertCase(alert, False, at, quiet)


_CONTROLLER = 'kafka_controller_kafkacontroller_activecontrollercount{instance="a"}'
_OFFLINE = 'kafka_controller_kafkacontroller_offlinepartitionscount{instance="a"}'
_UNDER_MIN = 'kafka_server_replicamanager_underminisrpartitioncount{instance="a"}'
_UNDER = 'kafka_server_replicamanager_underreplicatedpartitions{instance="a"}'
_DIRECTORY = 'kafka_log_logmanager_offlinelogdirectorycount{instance="a"}'
_FREE = 'pybroker_log_directory_free_bytes{instance="a",directory="/d"}'
_SIZE = 'pybroker_log_directory_size_bytes{instance="a",directory="/d"}'
_SHRINKS = 'kafka_server_replicamanager_isrshrinks_total{instance="a"}'
_UNCLEAN = 'kafka_controller_controllerstats_uncleanleaderelections_total{instance="a"}'
_VERDICT = 'pybroker_group_verdict{instance="a",group="billing",verdict="stopped"}'
_SECONDS = 'kafka_consumergroup_group_max_lag_seconds{instance="a",cluster_name="c",group="billing"}'
_STALL = 'pybroker_loop_stall_seconds{instance="a"}'
_CLEANER = 'kafka_log_logcleanermanager_time_since_last_run_ms{instance="a"}'
_END = 'pybroker_certificate_end_seconds{instance="a",listener="SSL"}'

CASES = (
    *_cases("KafkaNoController", "3m", {_CONTROLLER: "0x9"}, {_CONTROLLER: "1x9"}),
    *_cases("KafkaOfflinePartitions", "3m", {_OFFLINE: "2x9"}, {_OFFLINE: "0x9"}),
    *_cases("KafkaUnderMinIsr", "3m", {_UNDER_MIN: "2x9"}, {_UNDER_MIN: "0x9"}),
    *_cases("KafkaUnderReplicated", "8m", {_UNDER: "2x9"}, {_UNDER: "2 2 2 0 2 2 2 2 0 0"}, _ONE),
    *_cases("KafkaLogDirectoryOffline", "1m", {_DIRECTORY: "1x9"}, {_DIRECTORY: "0x9"}, _ONE),
    *_cases(
        "KafkaDiskFull",
        "8m",
        {_FREE: "10x9", _SIZE: "90x9"},
        {_FREE: "20x9", _SIZE: "80x9"},
        {**_ONE, "directory": "/d"},
    ),
    *_cases("KafkaIsrFlapping", "15m", {_SHRINKS: "0+1x20"}, {_SHRINKS: "0 1 2 3x20"}, _ONE),
    *_cases("KafkaUncleanLeaderElection", "5m", {_UNCLEAN: "0 0 1x9"}, {_UNCLEAN: "3x9"}, _ONE),
    *_cases("KafkaGroupStopped", "8m", {_VERDICT: "1x9"}, {_VERDICT: "0x9"}, _GROUP),
    *_cases("KafkaGroupLag", "8m", {_SECONDS: "400x9"}, {_SECONDS: "200x9"}, _GROUP),
    *_cases("KafkaLoopStall", "5m", {_STALL: "0.8x9"}, {_STALL: "0 0.8 0x9"}, _ONE),
    *_cases("KafkaCleanerStopped", "1m", {_CLEANER: "4000000x9"}, {_CLEANER: "15000x9"}, _ONE),
    *_cases("KafkaCertificateEnding", "1m", {_END: "1200000x9"}, {_END: "1300000x9"}, {**_ONE, "listener": "SSL"}),
)
