"""One Blender process from its parent's side: start, request, detect death or hanging, end."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError, RenderError
from trex.foundation.json_fields import finite, listed, whole
from trex.foundation.locked_folder import make_owned, sweep
from trex.render.blender.program import Program
from trex.render.blender.settings import BLEND, TEMPORARY, Settings
from trex.render.blender.wire import Closed, Garbled, Header, TimedOut, read_frame, write_frame
from trex.render.picture import Picture
from trex.scenes.scene import Scene, scene_id, scene_to_dict

log = logging.getLogger(__name__)
CHILD = "trex.render.blender_child.main"
START_S = 180.0
MAX_LOG_BYTES, LOG_TAIL = 1 << 20, 1500
SETTLED_AFTER = 50  # pictures, after which a process has nearly its final size (reproduce/LOG.md)
MAX_GROWTH = 0.5  # of the size at that time


@dataclass(frozen=True, slots=True)
class RenderStats:
    """A picture's cost: its CPU seconds over all threads, resident bytes, attempts."""

    cpu_s: float
    rss_bytes: int
    attempts: int


class Worker:
    """A running Blender process. All methods raise a ChannelError if the process misbehaves."""

    def __init__(self, settings: Settings, program: Program) -> None:
        """Start the process; it builds its stage while the caller continues (see `wait_ready`)."""
        self.settings, self.program = settings, program
        with contextlib.ExitStack() as undo:
            # The child loads no user add-ons from this folder, and Blender's temporary files are deleted with it.
            self.folder = make_owned(TEMPORARY, Path(tempfile.gettempdir()))
            undo.callback(self.folder.remove)
            self.log = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
            undo.callback(self.log.close)
            request_read, self.request_fd = os.pipe()
            ends = undo.enter_context(contextlib.ExitStack())
            ends.callback(os.close, request_read)
            undo.callback(os.close, self.request_fd)
            self.answer_fd, answer_write = os.pipe()
            ends.callback(os.close, answer_write)
            undo.callback(os.close, self.answer_fd)
            self.process = self._launch(request_read, answer_write)
            ends.close()
            undo.pop_all()
        self.requests = 0
        self.settled_bytes = 0  # its maximum during the first SETTLED_AFTER pictures
        self.device = ""
        self.device_names: tuple[str, ...] = ()
        self.denoiser = ""
        with contextlib.suppress(Closed):  # detected again when the answer is read
            write_frame(self.request_fd, settings.header())

    def _launch(self, request_read: int, answer_write: int) -> subprocess.Popen[bytes]:
        own = {"BLENDER_USER_RESOURCES": str(self.folder.path), "TMPDIR": str(self.folder.path)}
        return subprocess.Popen(
            self.program.command(CHILD, str(request_read), str(answer_write), threads=self.settings.threads),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.log,
            pass_fds=(request_read, answer_write, self.folder.lock_fd),  # the child owns the folder too
            env=self.program.environment() | own,
            start_new_session=True,  # Ctrl-C reaches only the parent, which then ends this process itself
        )

    def wait_ready(self) -> None:
        """Wait until the stage is built; InputError or RenderError if that fails."""
        header, _ = read_frame(self.answer_fd, time.monotonic() + START_S)
        if "refused" in header:
            raise InputError(str(header["refused"]))
        if "broken" in header:
            raise RenderError(f"Blender could not build the base scene: {header['broken']}")
        if str(header["ready"]).split()[0] != self.program.version:
            raise RenderError(
                f"{self.program.path} said that it is Blender {self.program.version}, but rendered as {header['ready']}"
            )
        self.device = str(header["device"])
        self.device_names = tuple(map(str, listed(header["device_names"], "device_names")))
        self.denoiser = str(header["denoiser"])

    def ask(self, scene: Scene) -> None:
        """Send a scene; `take` reads its picture."""
        self.requests += 1
        write_frame(self.request_fd, {"request": self.requests, "scene": scene_to_dict(scene)})

    def blend_file(self, scene: Scene, deadline: float) -> bytes:
        """A scene as a .blend file; a ChannelError with the process's own message if that failed."""
        self.requests += 1
        request = {"request": self.requests, "scene": scene_to_dict(scene), "form": BLEND}
        write_frame(self.request_fd, request)
        header, payload = read_frame(self.answer_fd, deadline)
        if "failed" in header:
            raise Garbled(str(header["failed"]))
        if header.get("request") != self.requests or not payload:
            raise Garbled(f"the answer is no .blend file: {header!r}, {len(payload)} bytes")
        return bytes(payload)

    def take(self, scene: Scene, deadline: float, attempts: int) -> tuple[Picture, RenderStats]:
        """The picture of the last scene sent; a ChannelError with the process's own message if it failed."""
        header, payload = read_frame(self.answer_fd, deadline)
        if "failed" in header:
            raise Garbled(str(header["failed"]))
        height, width = self.settings.preset.height, self.settings.preset.width
        expected = (self.requests, [height, width], height * width * 4)
        if (header.get("request"), header.get("size"), len(payload)) != expected:
            raise Garbled(
                f"the answer belongs to another request or has another size: {header!r}, {len(payload)} bytes"
            )
        flat = np.frombuffer(payload, dtype=np.uint8)
        pixels = flat[: height * width * 3].reshape(height, width, 3)
        mask = flat[height * width * 3 :].reshape(height, width)
        stats = _stats(header, attempts)
        if self.requests <= SETTLED_AFTER:
            self.settled_bytes = max(self.settled_bytes, stats.rss_bytes)
        return Picture(pixels, mask, scene_id(scene)), stats

    def has_grown_to(self, rss_bytes: int) -> bool:
        """Whether this many resident bytes are too many, compared with its settled size."""
        is_settled = self.requests > SETTLED_AFTER
        return is_settled and rss_bytes > (1.0 + MAX_GROWTH) * self.settled_bytes

    def stop(self) -> None:
        """End the process at once and free its resources."""
        for fd in (self.request_fd, self.answer_fd):
            with contextlib.suppress(OSError):
                os.close(fd)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()
        self.folder.remove()

    def cpu_s(self) -> float:
        """CPU seconds of all threads so far; 0 if the system does not report them."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]  # proc(5): utime and stime
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def describe(self, error: Exception) -> str:
        """What happened, in words: how the process ended, or that it hangs, and the last lines of its log."""
        if isinstance(error, TimedOut):
            what = "did not answer in time"
        elif isinstance(error, Closed):
            what = f"ended ({self._ending()})"
        else:
            what = f"failed: {error}"
        tail = self.log_tail()
        return f"Blender {what}" + (f"; it wrote: {tail}" if tail else "")

    def log_tail(self) -> str:
        """The last characters of the process's standard error."""
        end = os.fstat(self.log.fileno()).st_size
        return os.pread(self.log.fileno(), LOG_TAIL, max(0, end - LOG_TAIL)).decode(errors="replace").strip()

    def trim_log(self) -> None:
        """Truncate the log of a long-lived process, so that it cannot fill the disk."""
        if os.fstat(self.log.fileno()).st_size > MAX_LOG_BYTES:
            os.ftruncate(self.log.fileno(), 0)
            os.lseek(self.log.fileno(), 0, os.SEEK_SET)  # the offset is shared with the process

    def _ending(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5.0)
        code = self.process.returncode
        if code is None:
            return "closed its pipe but still runs"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _stats(header: Header, attempts: int) -> RenderStats:
    return RenderStats(finite(header["cpu_s"], "cpu_s"), whole(header["rss"], "rss"), attempts)


def sweep_folders() -> None:
    """Delete the folders of Blender processes that were killed together with their parent."""
    for path in sweep(TEMPORARY, Path(tempfile.gettempdir())):
        log.info("deleted %s, which a killed Blender process left behind", path)
