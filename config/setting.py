"""One row of the table of settings."""

from enum import Enum

from ..base.frozen import frozen
from .checks import ValueCheck
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
    """Whether a setting can be changed while brokers run, and for which of them (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"
    PER_TOPIC = "per-topic"
    PER_GROUP = "per-group"


READ_ONLY = Scope.READ_ONLY
PER_BROKER = Scope.PER_BROKER
CLUSTER_WIDE = Scope.CLUSTER_WIDE
PER_TOPIC = Scope.PER_TOPIC
PER_GROUP = Scope.PER_GROUP


class SupportKind(Enum):
    """The effect of a setting in pybroker."""

    ACTED_ON = "acted on"
    PARTLY = "partly"
    NOT_YET = "not yet"
    NO_MEANING = "no meaning"
    REFUSED = "refused"
    OTHER_MODE = "other mode"


@frozen
class Support:
    """The effect of a setting, and a note: what is missing, or why it has no effect."""

    kind: SupportKind
    note: str = ""


ACTED_ON = Support(SupportKind.ACTED_ON)


def partly(note: str) -> Support:
    """The setting has effect, with the limitation in ``note``."""
    return Support(SupportKind.PARTLY, note)


def not_yet(what: str) -> Support:
    """The setting is read and checked, but ``what`` is not built; a warning says so when it is set."""
    return Support(SupportKind.NOT_YET, what)


def no_meaning(why: str) -> Support:
    """The setting is for a mechanism of Kafka that pybroker does not have; a warning says so when it is set."""
    return Support(SupportKind.NO_MEANING, why)


def refused(what: str) -> Support:
    """The setting asks for missing protection: any value but Kafka's default refuses the start."""
    return Support(SupportKind.REFUSED, what)


def other_mode(what: str) -> Support:
    """The setting belongs to a mode of Kafka that is missing: any value but Kafka's default refuses the start."""
    return Support(SupportKind.OTHER_MODE, what)


class AppliesWhen(Enum):
    """When pybroker's own default replaces Kafka's."""

    EMBEDDED_STORE = "embedded store"
    ALWAYS = "always"


@frozen
class OwnDefault:
    """A default that differs from Kafka's: its text, when it applies, and why (for ``docs/operator/deviations.md``)."""

    text: str
    when: AppliesWhen
    why: str


@frozen
class Setting:
    """A setting. Documentation, checks, defaults and DescribeConfigs all come from here.

    Attributes:
        default: Kafka's default as text; None is null.
        check: restricts the values of the type, or None.
        doc: one sentence.
        own_default: pybroker's default if it differs from Kafka's.
        internal: Kafka does not document it.
        synonyms: for a topic's setting, the broker settings that give its default. Only the first is used, except for
            retention.ms, segment.ms, segment.jitter.ms and flush.ms, where `Config` picks the first that is set.
            A new setting may have one synonym.
    """

    name: str
    type: ValueType
    default: str | None
    check: ValueCheck | None
    importance: Importance
    scope: Scope
    support: Support
    doc: str
    own_default: OwnDefault | None = None
    internal: bool = False
    synonyms: tuple[str, ...] = ()

    def parse(self, text: str) -> Value:
        """The value of ``text``.

        Raises:
            BadValueError: the text is no value of the type, or not allowed; the error says what is allowed.
        """
        value = parse_value(self.type, text)
        if self.check is not None:
            self.check(value)
        return value

    def default_text(self, embedded_store: bool) -> str | None:
        """The default that applies, as text."""
        own = self.own_default
        if own is not None and (embedded_store or own.when is AppliesWhen.ALWAYS):
            return own.text
        return self.default

    def default_value(self, embedded_store: bool) -> Value | None:
        """The default that applies, as a value."""
        text = self.default_text(embedded_store)
        return None if text is None else parse_value(self.type, text)

    @property
    def is_secret(self) -> bool:
        """Whether the value must not be shown."""
        return self.type is ValueType.PASSWORD
