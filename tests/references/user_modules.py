"""Writes the files of a user into a folder, and makes that the current one: a query, and a module of models."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

QUERY = """
question = "How many red things are there?"
answer = "2"

[render]
preset = "fake"
"""
NET = """
import torch


def logits(p):
    red = (p[:, 0] - p[:, 1:].amax(dim=1)).clamp(min=0).mean(dim=(1, 2))
    return -10 * ((red[:, None] * 100 - torch.arange(4.0)) ** 2)


class Net(torch.nn.Module):
    labels = ("0", "1", "2", "3")

    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(1))

    def forward(self, p):
        return logits(p) * self.gain

"""


def user_folder(
    folder: Path, patch: pytest.MonkeyPatch, code: str, query: str = QUERY, name: str = "m"
) -> str:
    """The name of the module in the folder, which no other test has; NET comes before its code."""
    module = re.sub(r"\W", "_", f"{name}_{folder.name}")
    (folder / f"{module}.py").write_text(NET + textwrap.dedent(code), encoding="utf-8")
    (folder / "q.toml").write_text(query, encoding="utf-8")
    patch.chdir(folder)
    patch.syspath_prepend(str(folder))
    return module
