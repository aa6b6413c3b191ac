"""Carries out cases, each in a process forked from one that has imported everything, with limits on time and memory."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.bad_inputs.cases import Case
from benchmarks.bad_inputs.verdict import Ending, unclear

SECONDS = 120.0
BYTES = 12 << 30  # of address space: a bomb then fails instead of taking the machine
PAUSE_S = 0.01


def judge(cases: Iterable[Case], place: Path) -> Iterator[tuple[Case, str, Ending]]:
    """Each case with what is unclear about its ending ("" if nothing), and the ending."""
    _import_all()
    for number, case in enumerate(cases):
        folder = place / f"{number:04d}"
        folder.mkdir()
        case.make(folder)
        ending = run_to_end(case.words, folder)
        yield case, unclear(ending, is_accepted=case.is_accepted), ending


def run_to_end(words: tuple[str, ...], folder: Path) -> Ending:
    """`trex WORDS` in a folder, in a process of its own."""
    out, err = folder / ".out", folder / ".err"
    child = os.fork()
    if child == 0:
        _child(words, folder, out, err)
    code = _wait(child)
    return Ending(code, _tail(out), _tail(err))


def _import_all() -> None:
    import torch

    import trex.mnist_models.training.train  # noqa: F401

    torch.set_num_threads(1)


def _child(words: tuple[str, ...], folder: Path, out: Path, err: Path) -> None:
    """Never returns."""
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        for number, path in ((0, Path(os.devnull)), (1, out), (2, err)):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(path, flags, 0o644), number)
        os.chdir(folder)
        code = _run(words)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(words: tuple[str, ...]) -> int:
    from trex.commands.shell.app import app

    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    try:
        app(args=list(words), prog_name="trex")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _wait(child: int) -> int | None:
    """The exit code, negative for a signal; None if its time ran out."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(PAUSE_S)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _tail(path: Path) -> str:
    return path.read_bytes()[-20_000:].decode("utf-8", errors="replace") if path.exists() else ""
