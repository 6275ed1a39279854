"""``pybroker quotas list``, ``set`` and ``unset``."""

from collections.abc import Iterable, Mapping

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...client.response_error import response_error
from ...protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from ..exit_codes import DONE, NOT_THERE
from ..output.columns import Column
from ..reading.quantities import bytes_in, number_in
from ..verb import Call, Verb
from .entities import KEYS, Entity, add_entity_options, entity_in, entity_text
from .found_quotas import BYTE_RATES, found_quotas, quota_row, value_text
from .shapes import Quota

__all__ = ["LIST", "SET", "UNSET"]

_UNITS = {
    "produce": "bytes a second, such as 1MB",
    "consume": "bytes a second, such as 1MB",
    "request": "percent of one thread's time",
    "mutations": "partitions created and deleted a second",
    "connections": "new connections a second, with --ip only",
}
_COLUMNS = (
    Column("USER", lambda row: row.user),
    Column("CLIENT ID", lambda row: row.client_id),
    Column("IP", lambda row: row.ip),
    Column("QUOTA", lambda row: row.quota),
    Column("VALUE", lambda row: value_text(row)),
)


def _set_arguments(parser: CommandParser) -> None:
    add_entity_options(parser)
    group = parser.add_argument_group("quotas")
    for word, unit in _UNITS.items():
        group.add_argument(f"--{word}", metavar="N", help=unit)


def _unset_arguments(parser: CommandParser) -> None:
    add_entity_options(parser)
    group = parser.add_argument_group("quotas (default: all that are set)")
    for word in _UNITS:
        group.add_argument(f"--{word}", action="store_true")


def _list(call: Call) -> int:
    rows = found_quotas(call.cluster, entity_in(call.options), is_strict=False)
    call.output.rows(rows, _COLUMNS, name=_entity_of)
    if not rows:
        call.output.say("there are no such quotas")
    return DONE


def _set(call: Call) -> int:
    given = {word: getattr(call.options, word) for word in _UNITS if getattr(call.options, word) is not None}
    values = {
        KEYS[word]: bytes_in(text) if KEYS[word] in BYTE_RATES else number_in(text) for word, text in given.items()
    }
    if not values:
        raise CommandError("nothing to set; give at least one quota, such as --produce 1MB", BAD_INPUT)
    return _change(call, values)


def _unset(call: Call) -> int:
    entity = _given_entity(call)
    there = {row.quota for row in found_quotas(call.cluster, entity, is_strict=True)}
    wanted = {KEYS[word] for word in _UNITS if getattr(call.options, word)}
    keys = sorted(there & wanted if wanted else there)
    if not keys:
        raise CommandError(f"{entity_text(entity.items())} has no such quota", NOT_THERE)
    return _change(call, dict.fromkeys(keys))


def _given_entity(call: Call) -> Entity:
    entity = entity_in(call.options)
    if not entity:
        raise CommandError("whose quota? give --user, --client, --ip or their -default forms", BAD_INPUT)
    return entity


def _change(call: Call, values: Mapping[str, float | None]) -> int:
    """None removes a quota."""
    entity = _given_entity(call)
    request = AlterClientQuotasRequest(
        entries=[
            RequestEntryData(
                entity=[RequestEntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
                ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()],
            )
        ],
        validate_only=call.options.dry_run,
    )
    for entry in call.cluster.ask_any(request).entries:
        if entry.error_code:
            raise response_error(entry, entity_text(entity.items()))
    call.output.rows([quota_row(entity, *each) for each in values.items()], _COLUMNS, name=_entity_of)
    if call.options.dry_run:
        call.output.say("nothing was changed (--dry-run)")
    return DONE


def _entity_of(row: Quota) -> str:
    parts: Iterable[tuple[str, str | None]] = (("user", row.user), ("client-id", row.client_id), ("ip", row.ip))
    return entity_text(each for each in parts if each[1] is not None)


LIST = Verb("list", "list quotas", add_entity_options, _list, row=Quota)
SET = Verb("set", "set quotas", _set_arguments, _set, changes=True, row=Quota)
UNSET = Verb("unset", "remove quotas", _unset_arguments, _unset, changes=True, row=Quota)
