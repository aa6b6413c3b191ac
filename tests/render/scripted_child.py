"""Stands in for the Blender process and misbehaves as planned: each request takes the next word of the plan.

The plan is a file named by TREX_TEST_PLAN; it outlives the processes. When it is used up, all goes well.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from importlib import metadata

from trex.render.blender.wire import Closed, read_frame, write_frame

GARBAGE = b"Fra:1 Mem:12.00M | Rendering 1/2 samples, and so on and on"


def next_word(plan: str = "TREX_TEST_PLAN") -> str:
    with open(os.environ[plan], "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        words = file.read().split()
        file.seek(0)
        file.truncate()
        file.write(" ".join(words[1:]))
        file.flush()
    return words[0] if words else "well"


def main() -> None:
    read_fd, write_fd = map(int, sys.argv[-2:])
    settings, _ = read_frame(read_fd)
    preset = settings["preset"]
    assert isinstance(preset, dict)
    size = [preset["height"], preset["width"]]
    if os.environ.get("TREX_TEST_START") == "refuse":
        write_frame(write_fd, {"refused": "device 'cuda' does not exist on this machine"})
    if os.environ.get("TREX_TEST_START") == "die":
        print("no libegl here", file=sys.stderr, flush=True)
        os._exit(3)
    device = "cpu"
    if "TREX_TEST_DEVICES" in os.environ:  # the next word is what this machine has now
        device = next_word("TREX_TEST_DEVICES")
        if settings["device"] not in ("auto", device):
            write_frame(
                write_fd, {"refused": f"device {settings['device']!r} does not exist on this machine"}
            )
            return
    denoiser = next_word("TREX_TEST_DENOISERS") if "TREX_TEST_DENOISERS" in os.environ else "cpu"
    ready = {"ready": metadata.version("bpy"), "device": device, "device_names": [], "denoiser": denoiser}
    write_frame(write_fd, ready)
    while True:
        request, _ = read_frame(read_fd)
        act(next_word(), request, size, write_fd)


def act(word: str, request: dict[str, object], size: list[int], write_fd: int) -> None:
    scene = request["scene"]
    assert isinstance(scene, dict)
    payload = bytes([len(scene["objects"])]) * (size[0] * size[1] * 4)
    header = {"request": request["request"], "size": size, "cpu_s": 0.5, "rss": 1 << 20}
    if word == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "segfault":
        print("segfault in libfoo", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "hang":
        signal.pause()  # until the parent kills this process
    if word == "garbage":
        os.write(write_fd, GARBAGE)
    if word == "half":
        os.write(write_fd, b"TRX1" + bytes(7))
        os._exit(0)
    if word == "failed":
        header = {"failed": "KeyError: 'Combined'"}
    if word == "full":
        header = {"failed": "RuntimeError: Error: System is out of GPU memory"}
    if word == "stale":
        header["request"] = 0
    if word == "small":
        payload = payload[:-1]
    if word in ("plump", "grown"):
        header["rss"] = (1 << 20) * {"plump": 14, "grown": 16}[word] // 10
    if word == "fat":
        header["rss"] = 1 << 40
    write_frame(write_fd, header, payload)


if __name__ == "__main__":
    try:
        main()
    except Closed:
        os._exit(0)
