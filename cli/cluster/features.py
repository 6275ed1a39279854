"""``pybroker cluster features``."""

from collections.abc import Collection, Mapping

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...client.response_error import response_error
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ...protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from ..exit_codes import DONE
from ..output.columns import Column
from ..output.confirmation import confirm
from ..results import print_results
from ..verb import Call, Verb
from .shapes import ClusterFeature, FeatureChange

__all__ = ["FEATURES"]

_UPGRADE, _SAFE_DOWNGRADE = 1, 2
_LAST_LEVEL = 2**15 - 1
_FEATURES_OF_SETTINGS = ("group.version", "share.version")
"""pybroker refuses to change them where its settings do not name their protocols, and where there is no cluster."""
_PROTOCOLS = "group.coordinator.rebalance.protocols"
_COLUMNS = (
    Column("FEATURE", lambda row: row.feature),
    Column("LEVEL", lambda row: row.level),
    Column("LOWEST", lambda row: row.lowest),
    Column("HIGHEST", lambda row: row.highest),
)
_CHANGES = (
    Column("FEATURE", lambda row: row.feature),
    Column("OLD LEVEL", lambda row: row.old_level),
    Column("NEW LEVEL", lambda row: row.new_level),
    Column("CHANGE", lambda row: f"would be {row.change}" if row.is_dry_run else row.change),
)


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("levels", metavar="FEATURE=LEVEL", nargs="*", help="a new level, such as group.version=1; none: list them")
    add("-y", "--yes", action="store_true", help="do not ask before a level is lowered")


def _run(call: Call) -> int:
    wanted = dict(_level_in(text) for text in call.options.levels)
    if len(wanted) < len(call.options.levels):
        raise CommandError("a feature is named twice", BAD_INPUT)
    brokers = [each.node_id for each in call.cluster.metadata().brokers]
    request = ApiVersionsRequest(client_software_name="pybroker", client_software_version="cluster-features")
    features = _features_in(call.cluster.ask_brokers(dict.fromkeys(brokers, request)))
    return _change(call, wanted, {each.feature: each.level for each in features}) if wanted else _list(call, features)


def _level_in(text: str) -> tuple[str, int]:
    name, _, level = text.rpartition("=")
    if not name or not level.isascii() or not level.isdecimal() or int(level) > _LAST_LEVEL:
        raise CommandError(f"{text!r} must be FEATURE=LEVEL, such as group.version=1", BAD_INPUT)
    return name, int(level)


def _features_in(told: Mapping[int, ApiVersionsResponse]) -> list[ClusterFeature]:
    """The features by name. The broker that has followed the most changes tells their levels."""
    for response in told.values():
        if response.error_code:
            raise error_for(response.error_code)
    newest = max(told.values(), key=lambda response: response.finalized_features_epoch)
    levels = {each.name: each.max_version_level for each in newest.finalized_features}
    ranges = [{each.name: each for each in response.supported_features} for response in told.values()]
    features = []
    for name in sorted(levels.keys() | {name for each in ranges for name in each}):
        offered = [each[name] for each in ranges if name in each]
        is_offered = len(offered) == len(ranges)
        features.append(
            ClusterFeature(
                feature=name,
                level=levels.get(name, 0),
                lowest=max(each.min_version for each in offered) if is_offered else None,
                highest=min(each.max_version for each in offered) if is_offered else None,
            )
        )
    return features


def _list(call: Call, features: list[ClusterFeature]) -> int:
    call.output.rows(features, _COLUMNS, _name)
    if not features:
        call.output.say("the brokers list no feature; those of a cluster on ZooKeeper list none until one has a level")
    return DONE


def _change(call: Call, wanted: Mapping[str, int], known: Mapping[str, int]) -> int:
    old = {name: known.get(name, 0) for name in wanted}
    changes = {name: _change_of(old[name], level) for name, level in wanted.items()}
    lowered = [name for name, change in changes.items() if change == "lowered"]
    if lowered and not call.options.dry_run and not call.options.yes:
        confirm(f"Lower {', '.join(f'{name} from {old[name]} to {wanted[name]}' for name in lowered)}?")
    refused = _refused(call, {name: level for name, level in wanted.items() if level != old[name]}, lowered)
    rows = [
        FeatureChange(
            feature=name,
            old_level=old[name],
            new_level=wanted[name],
            change=change,
            is_dry_run=call.options.dry_run,
        )
        for name, change in changes.items()
        if name not in refused
    ]
    failures = [error_for(code, f"{name} not {changes[name]}: {reason}") for name, (code, reason) in refused.items()]
    return print_results(call.output, rows, _CHANGES, _name, failures)


def _change_of(old: int, new: int) -> str:
    if new == old:
        return "kept"
    return "raised" if new > old else "lowered"


def _refused(call: Call, wanted: Mapping[str, int], lowered: Collection[str]) -> Mapping[str, tuple[int, str]]:
    """Ask for the levels. Returns the error code and the reason for each feature whose level is refused."""
    if not wanted:
        return {}
    updates = [
        FeatureUpdateKey(
            feature=name, max_version_level=level, upgrade_type=_SAFE_DOWNGRADE if name in lowered else _UPGRADE
        )
        for name, level in wanted.items()
    ]
    timeout_ms = round(call.options.timeout * 1000)
    request = UpdateFeaturesRequest(timeout_ms=timeout_ms, feature_updates=updates, validate_only=call.options.dry_run)
    response = call.cluster.ask_controller(request)
    if response.error_code:
        raise response_error(response, "no level was changed")
    return {
        each.feature: (each.error_code, _reason(each.feature, each.error_code, each.error_message))
        for each in response.results
        if each.error_code
    }


def _reason(feature: str, code: int, message: str | None) -> str:
    said = message or str(error_for(code))
    is_by_settings = code == ErrorCode.INVALID_REQUEST and feature in _FEATURES_OF_SETTINGS
    return f"{said} See {_PROTOCOLS} in the brokers' settings." if is_by_settings else said


def _name(row: ClusterFeature | FeatureChange) -> str:
    return row.feature


FEATURES = Verb(
    "features",
    "list the feature levels of the cluster, or change them",
    _arguments,
    _run,
    changes=True,
    row=ClusterFeature,
    other_rows=(FeatureChange,),
)
