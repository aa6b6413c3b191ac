"""`python -m reproduce trex` is trex with signs and svhn, which trex alone does not know."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SIGNS = ("check", "mnist_1_or_7", "--set", "generator.name=signs-beta-vae", "--set", 'answer="Stop"')
ANSWERS = {  # what a command says of the world of signs, whose decoder was not trained
    "trex": "use clevr",
    "reproduce trex": "digit model 'signs-beta-vae' is neither shipped nor in",
}


@pytest.mark.process
@pytest.mark.parametrize("command", ANSWERS)
def test_the_world_of_signs_is_known_to_trex_of_the_checkout_alone(command: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", *command.split(), *SIGNS]
    environment = os.environ | {"TREX_CACHE": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 2 and ANSWERS[command] in done.stderr, done.stderr
    assert command != "trex" or "`python -m reproduce trex` also has signs and svhn" in done.stderr
