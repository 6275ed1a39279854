"""``pybroker configs diff``: compares the settings of two resources, or of a resource in two clusters."""

from argparse import Namespace
from collections.abc import Mapping

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ..connecting.connection_options import client_settings
from ..exit_codes import DONE
from ..output.columns import Column
from ..verb import Call, Verb
from .found_settings import found_settings
from .resources import FORMS, NamedResource
from .shapes import SettingDifference

__all__ = ["DIFF", "differences"]

_NAMES_ITSELF = frozenset({"broker.id", "node.id", "listeners", "advertised.listeners"})
"""Settings that differ between any two brokers."""


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("first", metavar="RESOURCE", help=FORMS)
    add("second", metavar="RESOURCE", nargs="?", help="the resource to compare with; default: the same in --against")
    add(
        "--against",
        "--against-bootstrap",
        metavar="HOST:PORT",
        help="another cluster, which has the second resource; it is reached with the same settings",
    )


def _run(call: Call) -> int:
    options = call.options
    if options.second is None and options.against is None:
        raise CommandError("give a second resource, or --against with another cluster", BAD_INPUT)
    first = NamedResource.read(options.first)
    second = first if options.second is None else NamedResource.read(options.second)
    if first.kind is not second.kind:
        raise CommandError(f"{first} and {second} have different settings", BAD_INPUT)
    one = _values(call.cluster, first)
    if options.against is None:
        other = _values(call.cluster, second)
    else:
        settings = client_settings(Namespace(**{**vars(options), "bootstrap_server": options.against}))
        with AdminCluster(settings, round(options.timeout * 1000)) as cluster:
            other = _values(cluster, second)
    columns = (
        Column("SETTING", lambda row: row.name),
        Column(printable(str(first)), lambda row: row.first),
        Column(printable(f"{second} at {options.against}" if options.against else str(second)), lambda row: row.second),
    )
    rows = differences(one, other)
    call.output.rows(rows, columns, name=lambda row: row.name)
    if not rows:
        call.output.say("the settings are the same")
    return DONE


def differences(one: Mapping[str, str | None], other: Mapping[str, str | None]) -> list[SettingDifference]:
    """The settings with different values, by name. Addresses and ids of brokers are no difference."""
    return [
        SettingDifference(name=name, first=one.get(name), second=other.get(name))
        for name in sorted({*one, *other} - _NAMES_ITSELF)
        if one.get(name) != other.get(name)
    ]


def _values(cluster: AdminCluster, resource: NamedResource) -> dict[str, str | None]:
    return {each.name: each.value for each in found_settings(cluster, [resource])[resource]}


DIFF = Verb("diff", "compare the settings of two resources or clusters", _arguments, _run, row=SettingDifference)
