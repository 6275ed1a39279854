"""``pybroker configs set`` and ``pybroker configs unset``."""

from collections.abc import Mapping

from ...base.command_parser import CommandParser, named_values
from ..output.columns import Column
from ..results import print_results
from ..verb import Call, Verb
from .alter_settings import alter_settings
from .found_settings import found_settings
from .resources import FORMS, NamedResource
from .shapes import SettingChange

__all__ = ["SET", "UNSET"]

_COLUMNS = (
    Column("RESOURCE", lambda row: row.resource),
    Column("SETTING", lambda row: row.name),
    Column("OLD VALUE", lambda row: row.old_value),
    Column("NEW VALUE", lambda row: "(reset)" if row.new_value is None else row.new_value),
)


def _set_arguments(parser: CommandParser) -> None:
    parser.add_argument("resource", metavar="RESOURCE", help=FORMS)
    parser.add_argument("settings", metavar="NAME=VALUE", nargs="+", help="a setting and its new value")


def _unset_arguments(parser: CommandParser) -> None:
    parser.add_argument("resource", metavar="RESOURCE", help=FORMS)
    parser.add_argument("settings", metavar="NAME", nargs="+", help="a setting that gets its default again")


def _set(call: Call) -> int:
    return _change(call, named_values(call.options.settings))


def _unset(call: Call) -> int:
    return _change(call, dict.fromkeys(call.options.settings))


def _change(call: Call, changes: Mapping[str, str | None]) -> int:
    resource = NamedResource.read(call.options.resource)
    found = {each.name: each for each in found_settings(call.cluster, [resource])[resource]}
    alter_settings(call.cluster, resource, changes, validate_only=call.options.dry_run)
    rows = []
    for name, value in changes.items():
        old = found.get(name)
        rows.append(
            SettingChange(
                resource=str(resource),
                name=name,
                old_value=None if old is None else old.value,
                new_value="(secret)" if value is not None and old is not None and old.is_sensitive else value,
                is_dry_run=call.options.dry_run,
            )
        )
    if call.options.dry_run:
        call.output.say("nothing was changed (--dry-run)")
    return print_results(call.output, rows, _COLUMNS, lambda row: row.name, ())


SET = Verb("set", "set settings of a resource", _set_arguments, _set, changes=True, row=SettingChange)
UNSET = Verb("unset", "give settings their defaults again", _unset_arguments, _unset, changes=True, row=SettingChange)
