"""``pybroker configs get``."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...protocol.messages.describe_configs import DescribeConfigsResourceResult
from ..exit_codes import DONE, NOT_THERE
from ..output.columns import Column
from ..verb import Call, Verb
from .found_settings import SOURCES, found_settings
from .resources import FORMS, NamedResource, ResourceKind
from .shapes import Setting

__all__ = ["GET", "is_own", "setting_of"]

_COLUMNS = (
    Column("RESOURCE", lambda row: row.resource),
    Column("SETTING", lambda row: row.name),
    Column("VALUE", lambda row: "(secret)" if row.is_secret else row.value),
    Column("SOURCE", lambda row: row.source),
    Column("READ ONLY", lambda row: row.is_read_only, is_wide=True),
)
_OWN_SOURCES = {
    ResourceKind.TOPIC: (1,),
    ResourceKind.BROKER: (2, 4),
    ResourceKind.BROKER_LOGGER: (6,),
    ResourceKind.GROUP: (8,),
}
_OF_ALL_BROKERS = 3


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("resources", metavar="RESOURCE", nargs="+", help=FORMS)
    add("-n", "--name", metavar="PATTERN", action="append", default=[], help="only these settings, with * and ?")
    add("--non-default", action="store_true", help="only what is set for the resource itself")
    add("--with-docs", action="store_true", help="say what each setting means")


def _run(call: Call) -> int:
    options = call.options
    resources = [NamedResource.read(text) for text in dict.fromkeys(options.resources)]
    found = found_settings(call.cluster, resources, with_docs=options.with_docs)
    rows = [
        setting_of(resource, each)
        for resource, settings in found.items()
        for each in settings
        if (not options.name or any(fnmatchcase(each.name, pattern) for pattern in options.name))
        and (not options.non_default or is_own(resource, each))
    ]
    if options.with_docs and call.output.is_for_people:
        call.output.documents(rows, _lines, name=lambda row: row.name)
    else:
        call.output.rows(rows, _COLUMNS, name=lambda row: row.name)
    if not rows:
        call.output.say("no setting matches" if options.name else "nothing is set")
    return NOT_THERE if options.name and not rows else DONE


def is_own(resource: NamedResource, setting: DescribeConfigsResourceResult) -> bool:
    """Whether the value is set for the resource itself. Brokers before Kafka 1.1 only say "is default"."""
    if setting.config_source < 0:
        return not setting.is_default
    if not resource.name:
        return setting.config_source == _OF_ALL_BROKERS
    return setting.config_source in _OWN_SOURCES[resource.kind]


def setting_of(resource: NamedResource, found: DescribeConfigsResourceResult) -> Setting:
    """The row of a setting."""
    return Setting(
        resource=str(resource),
        name=found.name,
        value=found.value,
        source=SOURCES.get(found.config_source, "unknown"),
        is_default=not is_own(resource, found),
        is_read_only=found.read_only,
        is_secret=found.is_sensitive,
        documentation=found.documentation or None,
    )


def _lines(row: Setting) -> Iterator[str]:
    value = "(secret)" if row.is_secret else row.value
    yield printable(f"{row.resource}  {row.name}={'' if value is None else value}  ({row.source})")
    if row.documentation:
        yield f"  {printable(' '.join(row.documentation.split()))}"


GET = Verb("get", "show settings, and where their values come from", _arguments, _run, row=Setting)
