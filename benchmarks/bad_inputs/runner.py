"""Carries out cases, each in a process forked from one that has imported everything, with limits on time and memory.

Tells what is not clear about what a command that met a bad input has left behind.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bad_inputs.cases import Case

LONGEST = 2500  # characters of an error's line
USAGE = re.compile(
    r"^[\s│]*(Invalid value|No such option|Missing|Got unexpected|Option|No such command)", re.M
)
NOTE = re.compile(r"^(note|left out|kept)?.*(damaged|left out|no readable|cannot be read|not)", re.M | re.I)
CODES = (1, 2)  # the run's state, the user's input
SECONDS = 120.0
BYTES = 12 << 30  # of address space: a bomb then fails instead of taking the machine
PAUSE_S = 0.01


@dataclass(frozen=True)
class Ending:
    """How a command ended; `code` is None if it had to be stopped."""

    code: int | None
    out: str
    err: str


def unclear(ending: Ending, *, is_accepted: bool) -> str:
    """What is wrong with the ending, "" if it is clear."""
    if ending.code is None:
        return "hang"
    if "Traceback" in ending.err + ending.out:
        return "traceback"
    if ending.code < 0:
        return f"killed by signal {-ending.code}"
    if is_accepted and ending.code == 0:
        return "" if NOTE.search(ending.err) else "silence"
    if ending.code not in CODES:
        return "accepted" if ending.code == 0 else f"exit code {ending.code}"
    return _unclear_words(ending.err)


def _unclear_words(err: str) -> str:
    if USAGE.search(err):
        return ""
    lines = err.rstrip("\n").split("\n")
    errors = [line for line in lines if line.startswith("error: ")]
    if len(errors) != 1:
        return "silence" if not err.strip() else f"{len(errors)} lines of error"
    if lines[-1] != errors[0]:
        return "the error runs over several lines"
    if len(errors[0]) > LONGEST:
        return f"an error of {len(errors[0])} characters"
    return "" if errors[0].isprintable() else "the error holds characters that cannot be printed"


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
