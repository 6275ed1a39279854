"""The verbs of ``pybroker cluster``."""

from ..verb import Noun
from .describe_cluster import BROKERS, INFO
from .elect_leaders import ELECT
from .features import FEATURES
from .health import HEALTH, WAIT
from .log_directories import LOG_DIRS
from .reassign import REASSIGN

__all__ = ["CLUSTER"]

CLUSTER = Noun(
    "cluster",
    "Checks a cluster, waits for it, and moves its partitions.",
    (INFO, HEALTH, WAIT, BROKERS, LOG_DIRS, ELECT, REASSIGN, FEATURES),
)
