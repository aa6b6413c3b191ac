"""What the commands import: `trex --help` and `trex check` are quick because they load nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import pytest

from tests.serving.documents import ROOT

pytestmark = pytest.mark.process


HEAVY = {
    "torch",
    "arviz",
    "numpy",
    "scipy",
    "matplotlib",
    "networkx",
    "pydantic",
    "PIL",
    "jinja2",
    "bpy",
    "ray",
    "rich",
}
LOADED = "import json, sys, {module}; print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"


@pytest.mark.parametrize(
    ("module", "needed"),
    [
        ("trex; dir(trex)", set()),
        ("trex.__main__", set()),
        ("trex.commands.shell.app", set()),
        ("trex.commands.shell.question", {"numpy"}),  # what `check` uses for a question
        ("trex.commands.query", {"numpy", "pydantic"}),  # `find`, `resume`, `check` and `report`
        (
            "trex.finding.check, trex.pages.display",
            {"numpy", "pydantic", "rich"},
        ),  # `check`, but for the world
    ],
)
def test_a_command_loads_no_heavy_package_that_it_does_not_need(module: str, needed: set[str]) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    code = LOADED.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, timeout=60, check=True
    )
    assert HEAVY.intersection(json.loads(done.stdout)) == needed


STRUCK = """
import sys

class Struck:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Struck())
sys.argv[1:] = ["check", "query.toml"]
"""


@pytest.mark.parametrize("module", ["trex.commands.shell.app", "typer", "trex.commands.query", "pydantic"])
@pytest.mark.parametrize("end", ["script", "module"])
def test_ctrl_c_during_the_imports_ends_in_one_word(module: str, end: str) -> None:
    """Planted bug: the app was imported by the console script itself, and a traceback was the answer."""
    script = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"][
        "trex"
    ]
    home, name = script.split(":")
    ends = {
        "script": f"from {home} import {name}; {name}()",
        "module": "import runpy; runpy.run_module('trex', run_name='__main__')",
    }
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", STRUCK.format(module=module) + ends[end]],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")
