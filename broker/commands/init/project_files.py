"""The files of a cluster in containers, and how they are written."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from ....base.frozen import frozen
from .compose_plan import ADMIN, ComposePlan
from .compose_text import compose_text

__all__ = ["ProjectFile", "existing_files", "project_files", "write_files"]

_PACKAGE = Path(__file__).resolve().parents[3]
_MONITORING = "monitoring"
_PROMETHEUS = "monitoring/prometheus/prometheus.yaml"
_TARGETS = '["broker-1:8092", "broker-2:8092", "broker-3:8092"]'


@frozen
class ProjectFile:
    """A file to write. ``is_secret``: only its owner may read it."""

    text: str
    is_secret: bool = False


def project_files(plan: ComposePlan) -> dict[str, ProjectFile]:
    """The files by their path in the directory."""
    files = {"compose.yaml": ProjectFile(compose_text(plan))}
    if plan.passwords:
        files[".env"] = ProjectFile(_environment(plan), is_secret=True)
    if plan.passwords or plan.has_tls:
        files["client.properties"] = ProjectFile(_client_settings(plan), is_secret=bool(plan.passwords))
    if plan.has_monitoring:
        files |= {path: ProjectFile(text) for path, text in _monitoring(plan).items()}
    return files


def existing_files(directory: Path, files: Mapping[str, ProjectFile]) -> list[str]:
    """The paths of files that exist in the directory."""
    return [path for path in files if os.path.lexists(directory / path)]


def write_files(directory: Path, files: Mapping[str, ProjectFile]) -> None:
    """Write the files, each in one step, over what is there. Raises OSError."""
    for path, file in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f"{target.name}.{os.getpid()}.new")
        mode = 0o600 if file.is_secret else 0o666
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as stream:
                stream.write(file.text)
            new.replace(target)
        finally:
            new.unlink(missing_ok=True)


def _environment(plan: ComposePlan) -> str:
    lines = [f"# {user}\n{variable}={plan.passwords[user]}\n" for user, variable in plan.variables.items()]
    return "".join(lines)


def _client_settings(plan: ComposePlan) -> str:
    """Settings for clients on the host, in the form that Kafka's tools read too."""
    settings = {
        "bootstrap.servers": ",".join(f"localhost:{port}" for port in plan.ports),
        "security.protocol": plan.protocol,
    }
    if plan.has_tls:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": "ca.pem"}
    if plan.passwords:
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        settings["sasl.mechanism"] = "SCRAM-SHA-512"
        settings["sasl.jaas.config"] = f'{module} required username="{ADMIN}" password="{plan.passwords[ADMIN]}";'
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _monitoring(plan: ComposePlan) -> dict[str, str]:
    """The monitoring files of the package, for this number of brokers."""
    paths = sorted(path for ending in ("*.yaml", "*.json") for path in (_PACKAGE / _MONITORING).rglob(ending))
    files = {str(path.relative_to(_PACKAGE)): path.read_text(encoding="utf-8") for path in paths}
    files[_PROMETHEUS] = files[_PROMETHEUS].replace(_TARGETS, json.dumps([f"{name}:8092" for name in plan.names]))
    return files
