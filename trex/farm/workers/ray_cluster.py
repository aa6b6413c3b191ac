"""Starts Ray on this machine or connects to a cluster, checks that it is alive, and starts workers as Ray actors."""

from __future__ import annotations

import logging
import os
import platform
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from trex.farm.workers.identity import Identity, identity
from trex.farm.workers.tasks import Answer, Work
from trex.farm.workers.worker import Worker, worker_log
from trex.foundation.errors import InputError, RunError
from trex.foundation.extensions import import_extra
from trex.foundation.home import can_hold_files, prepare_packages

MAX_TEMP_LENGTH = 40  # characters: Unix limits the paths of sockets in the folder to 107
STORE_BYTES = 80 << 20  # Ray's minimum; messages to and from workers are small
CONNECT_S = 2.0
PROBE_S = 5.0
STARTS = 3  # attempts to start Ray on this machine
CLIENT, CLIENT_PORT = "ray://", 10001  # Ray's own default
# Disable usage reports to Ray's makers; a cluster on this machine listens on the loopback address only.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
log = logging.getLogger(__name__)


class Cluster:
    """A connection to Ray; without an address, to Ray processes on this machine that end with this process."""

    def __init__(self, address: str | None, cores: int, temp: Path | None) -> None:
        self._address, self._cores = address, cores
        self._own_temp = temp is None and address is None
        self._temp = temp
        if address is not None:
            check_reachable(address)
        elif temp is not None and len(str(temp)) > MAX_TEMP_LENGTH:
            raise InputError(
                f"--ray-temp {temp} has more than {MAX_TEMP_LENGTH} characters, too long for sockets in it; "
                "give a shorter path"
            )

    @property
    def is_local(self) -> bool:
        """Whether this process starts Ray, and can therefore restart it."""
        return self._address is None

    def connect(self) -> None:
        """Connect; starting Ray takes 5 to 15 s. RunError if that fails."""
        ray = import_ray(is_local=self.is_local)
        failures: list[str] = []
        while not self._connected(ray, failures):
            if len(failures) >= (STARTS if self.is_local else 1):
                place = f"at {self._address}" if self._address else f"on this machine ({STARTS} attempts)"
                raise RunError(
                    f"cannot start or reach Ray {place}: {failures[-1]}{self._hint()}; see docs/how-to/farm.md"
                )
        address = self._address or ""
        self._head = address if address.startswith(CLIENT) else str(ray.get_runtime_context().gcs_address)

    def is_alive(self) -> bool:
        """Whether the head of the cluster accepts connections."""
        return _answers(*_host_and_port(self._head))

    def disconnect(self) -> None:
        """Disconnect; stops a Ray that this process has started."""
        import ray

        with _own_signals():
            ray.shutdown()
        if self._own_temp and self._temp is not None:
            shutil.rmtree(self._temp, ignore_errors=True)
            self._temp = None

    def start_worker(self, runs: Path, name: str, gpus: float) -> Any:
        """Ray's handle of a new actor: a worker with one core, which Ray never restarts."""
        import ray

        options = {"num_cpus": 1, "num_gpus": gpus, "max_restarts": 0, "max_task_retries": 0}
        return ray.remote(RayWorker).options(**options).remote(str(runs), name)

    def end_worker(self, actor: Any) -> None:
        """Kill a worker on any machine."""
        import ray

        try:
            ray.kill(actor)
        except Exception as error:  # Ray raises various errors for an actor that has already ended
            log.debug("%s", error)

    def _connected(self, ray: ModuleType, failures: list[str]) -> bool:
        try:
            with _own_signals():
                ray.init(**self._settings())
        except (RuntimeError, ConnectionError, OSError, TimeoutError, ImportError, AssertionError) as error:
            failures.append(str(error))
            ray.shutdown()
            return False
        return True

    def _hint(self) -> str:
        """Advice about tokens: Ray reports only a timeout if the client lacks one."""
        is_without = os.environ.get("RAY_AUTH_MODE") != "token"
        return (
            ""
            if self.is_local or not is_without
            else " (if the head requires a token, set RAY_AUTH_MODE=token here too)"
        )

    def _settings(self) -> dict[str, object]:
        common: dict[str, object] = {"log_to_driver": False, "logging_level": "ERROR"}
        if self._address is not None:
            return {**common, "address": self._address}
        if self._temp is None:
            self._temp = Path(tempfile.mkdtemp(prefix="trex-", dir="/tmp"))
        return common | {
            "address": "local",
            "num_cpus": self._cores,
            "include_dashboard": False,
            "object_store_memory": STORE_BYTES,
            "_temp_dir": str(self._temp),
            "_node_ip_address": "127.0.0.1",
        }


def import_ray(*, is_local: bool) -> ModuleType:
    """The `ray` module, with its settings made before the import; InputError if it is not installed."""
    for name, value in (QUIET | (LOOPBACK | _token() if is_local else {})).items():
        os.environ.setdefault(name, value)
    return import_extra("ray", "farm", "--workers needs Ray")


def _token() -> dict[str, str]:
    """A token for Ray on this machine, if it could not write one of its own into the home folder."""
    place = Path.home() / ".ray"
    if (place / "auth_token").is_file() or can_hold_files(place) or os.environ.get("RAY_AUTH_TOKEN_PATH"):
        return {}
    return {"RAY_AUTH_TOKEN": secrets.token_hex(32)}


def check_reachable(address: str) -> None:
    """Raise InputError if nothing answers at an address such as ray://10.0.0.1:10001 or 10.0.0.1:6379."""
    if address == "auto":
        return
    host, port = _host_and_port(address)
    if not host or not 0 < port < 1 << 16:
        raise InputError(
            f"--address {address!r} is not an address; give auto, HOST:PORT as ray start prints it (port 6379), or "
            f"ray://HOST:{CLIENT_PORT}"
        )
    if not _answers(host, port, PROBE_S):
        raise InputError(
            f"nothing answers at {address} within {PROBE_S:g} s; check that the head runs there (ray start --head) and "
            "that no firewall blocks this machine"
        )


def _host_and_port(address: str) -> tuple[str, int]:
    """Host and port; port 0 if there is none or it is not a number."""
    host, colon, port = address.removeprefix(CLIENT).rpartition(":")
    if not colon and address.startswith(CLIENT):
        return port, CLIENT_PORT
    return host.strip("[]"), int(port) if port.isdigit() else 0


def _answers(host: str, port: int, seconds: float = CONNECT_S) -> bool:
    try:
        with socket.create_connection((host, port), timeout=seconds):
            return True
    except OSError:
        return False


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore the SIGTERM handler that Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


ONE_THREAD = {
    "TREX_CORES": "1",
    "OMP_NUM_THREADS": "1",
    "GOMP_SPINCOUNT": "0",
}  # parallelism comes from more workers, not more threads


@dataclass(frozen=True)
class Hello:
    """A worker's process, its machine, and the versions that it runs."""

    host: str
    pid: int
    identity: Identity


class RayWorker:
    """Created by Ray with one core; its open worlds end with its process."""

    def __init__(self, runs: str, name: str) -> None:
        os.environ.update(ONE_THREAD)  # before torch is imported
        prepare_packages()
        self._worker = Worker(worker_log(Path(runs), name), processes=1)

    def hello(self) -> Hello:
        """The worker's identity; answers once the worker is ready."""
        return Hello(platform.node(), os.getpid(), identity())

    def do(self, work: Work) -> Answer:
        """The result of a task, or why it failed; see `trex.farm.workers.worker.Worker.do`."""
        return self._worker.do(work)
