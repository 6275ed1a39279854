"""Checks of a broker's machine: settings file, open files, disks, fsync. Pure."""

from ..output.columns import bytes_text
from .judgement import Judgement, listed_names, ok, skipped
from .shapes import DirectoryFacts, Facts, HostFacts, Unknown

__all__ = ["disks_have_room", "enough_files_may_be_open", "fsync_is_quick", "settings_file_is_valid"]

_LEAST_FREE = 0.1
_FEW_FILES = 10_000
_SPARE_FILES = 1000
"""For connections and all that is no log."""
_SLOW_FSYNC_MS = 20.0
_STUCK_FSYNC_MS = 1000.0
_PASSING = {"tmpfs": "memory: its data is lost with the machine", "ramfs": "memory: its data is lost with the machine"}
_PASSING["overlay"] = "a container's own layer: its data is lost with the container"
_OVER_A_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p")


def settings_file_is_valid(facts: Facts) -> Judgement:
    """D23."""
    host = facts.host
    if isinstance(host, Unknown):
        return skipped(host)
    if host.refusal is not None:
        return Judgement("FAIL", host.refusal, f"correct it in {host.file}")
    if host.notices:
        return Judgement("warn", listed_names(host.notices), "remove what has no effect, or correct the name")
    return ok(host.file)


def enough_files_may_be_open(facts: Facts) -> Judgement:
    """D24."""
    host = facts.host
    if isinstance(host, Unknown):
        return skipped(host)
    if host.open_files is None:
        return ok("there is no limit")
    wanted = host.log_files + _SPARE_FILES
    if host.open_files < max(wanted, _FEW_FILES):
        text = f"ulimit -n is {host.open_files}, and the logs have {host.log_files} files"
        remedy = f"ulimit -n {max(2 * wanted, 100_000)} in the broker's shell, LimitNOFILE= of its systemd unit"
        return Judgement("FAIL" if host.open_files < _SPARE_FILES else "warn", text, remedy)
    return ok(f"{host.open_files}, and the logs have {host.log_files} files")


def disks_have_room(facts: Facts) -> Judgement:
    """D25."""
    host = _examined(facts)
    if isinstance(host, Unknown):
        return skipped(host)
    broken = [f"{each.directory}: {each.failure}" for each in host.directories if each.failure is not None]
    if broken:
        return Judgement("FAIL", listed_names(broken), "make the directory, and let the broker's user write there")
    full = [each for each in host.directories if each.free < each.total * _LEAST_FREE]
    if full:
        text = listed_names([f"{each.directory} has {_room(each)}" for each in full])
        return Judgement("warn", text, "make room: a shorter retention.ms, a larger disk, or another broker")
    odd = [f"{each.directory} is {odd}" for each in host.directories if (odd := _oddness(each)) is not None]
    if odd:
        return Judgement("warn", listed_names(odd), "log.dirs of a local disk, or of a volume")
    return ok(listed_names([f"{each.directory} has {_room(each)}" for each in host.directories]))


def fsync_is_quick(facts: Facts) -> Judgement:
    """D26."""
    host = _examined(facts)
    if isinstance(host, Unknown):
        return skipped(host)
    timed = [each for each in host.directories if each.fsync_ms]
    if not timed:
        return skipped(Unknown("no log directory can be written"))
    slowest = max(timed, key=lambda each: each.fsync_ms[-1])
    median_ms, worst_ms = slowest.fsync_ms[len(slowest.fsync_ms) // 2], slowest.fsync_ms[-1]
    text = f"{slowest.directory}: {median_ms:.1f} ms, the slowest of {len(slowest.fsync_ms)} {worst_ms:.1f} ms"
    if median_ms > _SLOW_FSYNC_MS or worst_ms > _STUCK_FSYNC_MS:
        return Judgement("warn", text, "look what else writes to that disk; a disk of the network may be too slow")
    return ok(text)


def _examined(facts: Facts) -> HostFacts | Unknown:
    if isinstance(facts.host, HostFacts) and facts.host.refusal is not None:
        return Unknown("the settings file is not valid")
    return facts.host


def _room(directory: DirectoryFacts) -> str:
    return f"{bytes_text(directory.free)} of {bytes_text(directory.total)} free"


def _oddness(directory: DirectoryFacts) -> str | None:
    kind = directory.kind or ""
    if kind in _PASSING:
        return f"on {kind}, {_PASSING[kind]}"
    return f"on {kind}, a disk of the network" if kind in _OVER_A_NETWORK else None
