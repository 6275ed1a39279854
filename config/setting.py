"""One row of the table of settings."""

from dataclasses import dataclass
from enum import Enum

from .checks import Check
from .values import Value, ValueType, parse_value


class Importance(Enum):
    """Kafka's rank of a setting."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


HIGH = Importance.HIGH
MEDIUM = Importance.MEDIUM
LOW = Importance.LOW


class Scope(Enum):
    """Who can change a setting while brokers run (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"
    PER_TOPIC = "per-topic"


READ_ONLY = Scope.READ_ONLY
PER_BROKER = Scope.PER_BROKER
CLUSTER_WIDE = Scope.CLUSTER_WIDE
PER_TOPIC = Scope.PER_TOPIC


class SupportKind(Enum):
    """What pybroker does about a setting that somebody set."""

    ACTED_ON = "acted on"
    PARTLY = "partly"
    NOT_YET = "not yet"
    NO_MEANING = "no meaning"
    REFUSED = "refused"
    OTHER_MODE = "other mode"


@dataclass(frozen=True, slots=True)
class Support:
    """What pybroker does about a setting, and a few words on it (what is missing, or why nothing is owed).

    When a part of the broker lands, the rows that name its constant become ``ACTED_ON``: nothing else changes.
    """

    kind: SupportKind
    note: str = ""


ACTED_ON = Support(SupportKind.ACTED_ON)


def partly(note: str) -> Support:
    """Acted on, but for what the note says."""
    return Support(SupportKind.PARTLY, note)


def not_yet(what: str) -> Support:
    """Known, read and checked, but what it steers is not built; one line at the start says so when it is set."""
    return Support(SupportKind.NOT_YET, what)


def no_meaning(why: str) -> Support:
    """Steers a machine of Kafka's that pybroker is built without; one line at the start says so when it is set."""
    return Support(SupportKind.NO_MEANING, why)


def refused(what: str) -> Support:
    """Promises protection that is not there: any value but Kafka's default refuses the start."""
    return Support(SupportKind.REFUSED, what)


def other_mode(what: str) -> Support:
    """Belongs to a way of running Kafka that is not there: any value but Kafka's default refuses the start."""
    return Support(SupportKind.OTHER_MODE, what)


class AppliesWhen(Enum):
    """Where a default of pybroker's own takes the place of Kafka's."""

    EMBEDDED_STORE = "with the embedded metadata store"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class OwnDefault:
    """A default that differs from Kafka's: its text, where it holds, and why (for ``docs/operator/deviations.md``)."""

    text: str
    when: AppliesWhen
    why: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: everything that is said of it anywhere comes from here.

    Attributes:
        default: Kafka's default as text; None is null.
        check: what a value may be beyond its type, or None.
        doc: one sentence.
        own_default: the default here where it differs from Kafka's.
        internal: Kafka keeps it out of its documentation.
        synonyms: a topic's setting: the broker settings that give its default, first found first.
    """

    name: str
    type: ValueType
    default: str | None
    check: Check | None
    importance: Importance
    scope: Scope
    support: Support
    doc: str
    own_default: OwnDefault | None = None
    internal: bool = False
    synonyms: tuple[str, ...] = ()

    def parse(self, text: str) -> Value:
        """The value that a text gives.

        Raises:
            BadValueError: the text is no value of the type, or the value is not allowed; says what is.
        """
        value = parse_value(self.type, text)
        if self.check is not None:
            self.check(value)
        return value

    def default_text(self, embedded_store: bool) -> str | None:
        """The default in force here, as text."""
        own = self.own_default
        if own is not None and (embedded_store or own.when is AppliesWhen.ALWAYS):
            return own.text
        return self.default

    def default_value(self, embedded_store: bool) -> Value | None:
        """The default in force here, as a value."""
        text = self.default_text(embedded_store)
        return None if text is None else parse_value(self.type, text)

    @property
    def is_secret(self) -> bool:
        """Whether the value must not be shown."""
        return self.type is ValueType.PASSWORD
