"""Gathers the facts about a broker's machine: its settings file, limits, log directories and the speed of fsync."""

import os
import resource
import shutil
import tempfile
import time
from pathlib import Path

from .shapes import DirectoryFacts, HostFacts, Unknown

__all__ = ["host_facts"]

_PROBES = 20
_PROBE_BYTES = 4096
_MOUNTS = Path("/proc/self/mounts")
_LOG_FILES = (".log", ".index", ".timeindex")


def host_facts(config: Path | None) -> HostFacts | Unknown:
    """The facts; Unknown without a settings file."""
    if config is None:
        return Unknown("give --config FILE on the broker's machine")
    from ...config.config_error import ConfigError
    from ...config.load import load_config
    from ...config.notices import notices

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    open_files = None if hard == resource.RLIM_INFINITY else hard
    try:
        settings = load_config(config)
    except (ConfigError, OSError) as error:
        return HostFacts(file=str(config), refusal=str(error), open_files=open_files)
    directories = [Path(each) for each in settings.log_dirs]
    return HostFacts(
        file=str(config),
        notices=tuple(notices(settings)),
        open_files=open_files,
        log_files=sum(map(_log_files, directories)),
        directories=tuple(_directory_facts(each) for each in directories),
    )


def _directory_facts(directory: Path) -> DirectoryFacts:
    try:
        usage = shutil.disk_usage(directory)
        times = sorted(_fsync_ms(directory) for _ in range(_PROBES))
    except OSError as error:
        return DirectoryFacts(directory=str(directory), failure=(error.strerror or str(error)).lower())
    return DirectoryFacts(
        directory=str(directory),
        kind=_kind_of(directory.resolve()),
        free=usage.free,
        total=usage.total,
        fsync_ms=tuple(times),
    )


def _fsync_ms(directory: Path) -> float:
    """How long a small write takes to reach the disk. The file has no name in the directory. Raises OSError."""
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(bytes(_PROBE_BYTES))
        file.flush()
        began_s = time.perf_counter()
        os.fsync(file.fileno())
        return (time.perf_counter() - began_s) * 1000


def _log_files(directory: Path) -> int:
    """The files of the logs in a directory; none if it cannot be read."""
    count = 0
    try:
        with os.scandir(directory) as logs:
            for log in logs:
                if log.is_dir(follow_symlinks=False):
                    count += sum(name.endswith(_LOG_FILES) for name in os.listdir(log.path))
    except OSError:
        return count
    return count


def _kind_of(directory: Path) -> str | None:
    """The kind of the file system; None where the system does not tell (it is no Linux)."""
    try:
        lines = _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return None
    kinds = {}
    for line in lines:
        fields = line.split(" ")
        if len(fields) > 2:
            kinds[fields[1].replace("\\040", " ")] = fields[2]
    for place in (directory, *directory.parents):
        if str(place) in kinds:
            return kinds[str(place)]
    return None
