"""A broker in a process of its own, for tests that send it signals."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

from ..broker.library.cluster.cluster_acts import RemoteDisk
from ..broker.library.cluster.kit_client import KitClient
from ..broker.library.cluster.members import BrokerMember
from ..broker.library.cluster.ports import HOST, free_ports
from ..broker.library.cluster.remote_faults import RemoteFaults
from ..broker.test_kit.act_error import ActError
from ..broker.test_kit.acts import Acts
from ..broker.test_kit.blocking_acts import BlockingActs
from ..config.http_listeners import HTTP_LISTENERS, TEST_KIT
from .failure_report import Section, last_lines
from .process_clock import ProcessClock
from .process_data import ProcessData

__all__ = ["ProcessBroker"]

_ID = 0
_PLACES_OF_METADATA = ("zookeeper.connect", "metadata.store.path")


class ProcessBroker(ProcessData):
    """A broker in a process of its own.

    Its test kit has the faults, the acts and the clock. ``aio`` raises RuntimeError.
    """

    def __init__(self, directory: Path, settings: Mapping[str, Any], preferred_client: str | None = None) -> None:
        port, http_port = free_ports(2)
        has_metadata = settings.keys().isdisjoint(_PLACES_OF_METADATA)
        super().__init__(f"{HOST}:{port}", directory / "data", preferred_client, has_metadata=has_metadata)
        given = {name: str(value) for name, value in settings.items()}
        self._has_kit = given.keys().isdisjoint((TEST_KIT, HTTP_LISTENERS))
        kit = (
            {TEST_KIT: "true", HTTP_LISTENERS: f"HTTP://{HOST}:{http_port}"} if self._has_kit else {HTTP_LISTENERS: ""}
        )
        own = {"listeners": f"PLAINTEXT://{HOST}:{port}", "log.dirs": str(self._data)}
        self._member = BrokerMember(_ID, directory, {**kit, **given, **own}, http_port if self._has_kit else None)
        self.faults = RemoteFaults(self._kits)
        """As `BrokerOnThread.faults`. ``times`` and ``after`` are counted anew after a restart."""
        self.acts = BlockingActs(cast("Acts", _RemoteActs(self._member)), lambda act: cast("Callable[[], Any]", act)())
        """As `BrokerOnThread.acts`."""
        self.clock = ProcessClock(self._running_kit)
        """As `BrokerOnThread.clock`."""
        self.start()

    @property
    def pid(self) -> int | None:
        """The process id; None while it does not run."""
        return self._member.pid

    @property
    def is_running(self) -> bool:
        """Whether the process runs; also True while it is paused."""
        return self._member.is_running

    @property
    def log_file(self) -> Path:
        """The file with its output."""
        return self._member.log_file

    def start(self) -> None:
        """Start it with the same data and port; return when it is ready. Raises StartError."""
        self._member.begin()
        self._member.wait_until_ready()
        self.faults.broker_started(_ID)
        self.clock.broker_started()

    def stop(self) -> None:
        """Stop it by SIGTERM."""
        self.faults.broker_ends(_ID)
        self._member.stop()

    def kill(self) -> None:
        """Stop it by SIGKILL."""
        self.faults.broker_ends(_ID)
        self._member.kill()

    def restart(self) -> None:
        """Stop it, then start it with the same data and port."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Stop its work by SIGSTOP; its connections stay."""
        self._member.pause()

    def resume(self) -> None:
        """End a pause."""
        self._member.resume()

    def end_troubles(self) -> None:
        """End a pause, the faults and the trouble of the disk, because the end of clients would wait for them. A frozen
        clock goes on.
        """
        if self.is_running:
            self.resume()
        self.faults.clear()
        with suppress(ActError):  # it ends
            if self._has_kit and self.is_running:
                self._member.kit.reset()
            self.clock.unfreeze()

    def report(self, since_ms: int) -> list[Section]:
        """The last lines of its output."""
        return [("output of the process", last_lines(self.log_file))]

    def close(self) -> None:
        """Close the clients and kill the process."""
        self.end_troubles()
        self.close_clients()
        self._member.kill()
        self._copies.remove_all()

    def _now_ms(self) -> int:
        return self.clock.clock_ms()

    def _refuse(self, name: str) -> NoReturn:
        raise RuntimeError(f"{name} needs a broker in this process: not with mode='process'")

    def _running_kit(self) -> KitClient | None:
        if self.is_running and not self._member.is_responsive:
            raise ActError(f"{self._member.name} is paused")
        return self._member.kit if self.is_running else None

    def _kits(self) -> Mapping[int, KitClient]:
        return {_ID: self._member.kit} if self._member.is_responsive else {}


class _RemoteActs:
    """Has the methods of `Acts`. They return functions that do the act over HTTP."""

    def __init__(self, member: BrokerMember) -> None:
        self._member = member
        self.disk = RemoteDisk(member)

    def __getattr__(self, name: str) -> Callable[..., Callable[[], Any]]:
        parameters = list(inspect.signature(getattr(Acts, name)).parameters)[1:]

        def begin(*values: object) -> Callable[[], Any]:
            given = {name: value for name, value in zip(parameters, values, strict=False) if value is not None}
            return partial(self._member.act, name, **given)

        return begin
