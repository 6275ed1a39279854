"""The versions of the inter-broker protocol that Kafka 3.9 knows (``MetadataVersion``, IBP), and Kafka's releases."""

from .values import BadValueError, Value

# Each release with the number of its intermediate versions (IV0 …); 0: only the name of the release.
_RELEASES = (
    *(("0.8.0", 0), ("0.8.1", 0), ("0.8.2", 0), ("0.9.0", 0), ("0.10.0", 2), ("0.10.1", 3), ("0.10.2", 1)),
    *(("0.11.0", 3), ("1.0", 1), ("1.1", 1), ("2.0", 2), ("2.1", 3), ("2.2", 2), ("2.3", 2), ("2.4", 2), ("2.5", 1)),
    *(("2.6", 1), ("2.7", 3), ("2.8", 2), ("3.0", 2), ("3.1", 1), ("3.2", 1), ("3.3", 4), ("3.4", 1), ("3.5", 3)),
    *(("3.6", 3), ("3.7", 5), ("3.8", 1), ("3.9", 1), ("4.0", 2)),
)

METADATA_VERSIONS: tuple[str, ...] = tuple(
    version
    for release, count in _RELEASES
    for version in ([f"{release}-IV{number}" for number in range(count)] or [release])
)
RELEASES_TO_ANSWER_AS = (
    *("0.10.2", "0.11", "1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2"),
)
"""Values of ``pybroker.as.version``; `protocol/releases/` has what clients see of each."""
_LAST_OF_RELEASE = {version.partition("-")[0]: version for version in METADATA_VERSIONS}


def metadata_version(text: str) -> str:
    """The full name of a version: ``3.9``, ``3.9.1`` and ``3.9-IV0`` are all ``3.9-IV0``.

    Raises:
        BadValueError: Kafka 3.9 knows no such version.
    """
    if text in METADATA_VERSIONS:
        return text
    release = ".".join(text.split(".")[: 3 if text.startswith("0.") else 2])
    full = release if release in METADATA_VERSIONS else _LAST_OF_RELEASE.get(release)
    if full is None:
        raise BadValueError("must be a version of Kafka from 0.8.0 to 4.0, like 3.9 or 3.9-IV0")
    return full


def is_at_least(version: str, other: str) -> bool:
    """Whether ``version`` is ``other`` or a later version, in any spelling."""
    return METADATA_VERSIONS.index(metadata_version(version)) >= METADATA_VERSIONS.index(metadata_version(other))


class MetadataVersionCheck:
    """A version of Kafka in any spelling."""

    __slots__ = ()

    def __call__(self, value: Value | None) -> None:
        metadata_version(str(value))

    def __str__(self) -> str:
        return f"[{', '.join(METADATA_VERSIONS)}]"


def release_to_answer_as(text: str) -> str:
    """The release in ``RELEASES_TO_ANSWER_AS`` that a version belongs to: ``2.8.1`` belongs to ``2.8``.

    Raises:
        BadValueError: there is no such release.
    """
    parts = text.split(".")
    is_version = len(parts) <= (4 if text.startswith("0.") else 3) and all(map(str.isdecimal, parts)) and text.isascii()
    for release in RELEASES_TO_ANSWER_AS:
        if is_version and parts[: release.count(".") + 1] == release.split("."):
            return release
    raise BadValueError(f"must be one of {', '.join(RELEASES_TO_ANSWER_AS)}")


class ReleaseCheck:
    """Null, or a release of Kafka that pybroker can answer as; a patch of it stands for the release."""

    __slots__ = ()

    def __call__(self, value: Value | None) -> None:
        if value is not None:
            release_to_answer_as(str(value))

    def __str__(self) -> str:
        return f"[{', '.join(RELEASES_TO_ANSWER_AS)}]"
