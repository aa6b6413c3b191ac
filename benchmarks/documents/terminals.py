"""Pictures of commands and what they print. Each works in this folder and gives an SVG."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.documents.pages import demo
from benchmarks.documents.tools import run, terminal, write_files
from tests.serving.chat_server import Replies, chat_server


def ci() -> str:
    """`trex suite run`: the failures of the demo, asked again."""
    demo()
    if not Path("failures").exists():
        run("trex suite add runs/demo --to failures")
    command = "trex suite run failures --model shipped"
    printed = run(f"{command} --no-record").stdout
    return terminal(command, re.sub(r"([0-9a-f]{6})[0-9a-f]{26}/", r"\1…/", printed), 118)


def bank() -> str:
    """`trex cache banks` after two banks were rendered."""
    banks = str(Path("banks").resolve())
    for words in (
        "clevr --scenes 30 --preset fast",
        "demo --scenes 1500 --spread 150 --preset fast",
    ):
        run(f"trex render bank {words}", TREX_BANK=banks)
    command = "trex cache banks"
    printed = run(command, TREX_BANK=banks).stdout
    return terminal(command, printed.replace(banks, "~/.cache/bayes-trex/banks"), 118)


def chat_models() -> str:
    """A search; the test suite's chat server replies what the how-to's answerer.py says."""
    write_files("own-model")
    shutil.rmtree("runs/chat", ignore_errors=True)  # of a server at another port
    ask = runpy.run_path("answerer.py")["ask"]

    def planted(picture: NDArray[np.uint8]) -> Replies:
        (row,) = ask(picture[None].astype(np.float32) / np.float32(255), None)
        return {(label,): float(share) for label, share in zip(ask.labels, row, strict=True)}

    with chat_server(planted) as server:
        command = f"trex find red.toml --model openai:planted --endpoint {server.url} --out runs/chat"
        done = run(command, stderr=subprocess.PIPE)
    printed = f"{done.stdout}{done.stderr.rstrip().splitlines()[-1]}"
    command, printed = (text.replace(server.url, "http://localhost:8000/v1") for text in (command, printed))
    return terminal(command, printed)
