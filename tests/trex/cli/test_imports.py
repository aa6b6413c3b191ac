"""What the commands import: `trex --help` and `trex check` are quick because they load nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


HEAVY = {"torch", "numpy", "scipy", "matplotlib", "networkx", "pydantic", "PIL", "jinja2", "bpy", "ray"}
LOADED = "import json, sys, {module}; print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"


@pytest.mark.parametrize(
    ("module", "needed"),
    [
        ("trex.cli.app", set()),
        ("trex.cli.question", {"numpy"}),  # what `check` uses for a question
        ("trex.cli.search", {"numpy", "pydantic", "PIL", "jinja2"}),  # what `find`, `check`, `report` use
    ],
)
def test_a_command_loads_no_heavy_package_that_it_does_not_need(module: str, needed: set[str]) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    code = LOADED.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, timeout=60, check=True
    )
    assert HEAVY.intersection(json.loads(done.stdout)) == needed
