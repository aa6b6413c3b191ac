"""A user's folder with modules named like our libraries: the user's are imported there, and ours still work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running.runs import QUERY, write_query
from tests.worlds import toy_disk
from tests.worlds.render_worlds import prior_scenes
from trex.render.blender.blender_renderer import BlenderRenderer

pytestmark = pytest.mark.process


ROOT = Path(__file__).parents[2]
OWN = {
    "scenes": "LABELS = ('0', '1', '2', 'of my own')\n",
    "render": "def brightness(pictures):\n    return pictures.mean(dim=(1, 2, 3))\n",
    "inference": "import scenes\n\nFAVORITE = scenes.LABELS.index('2')\n",
}
MODEL = """
import torch

from inference import FAVORITE
from render import brightness
from scenes import LABELS


class Own(torch.nn.Module):
    labels = LABELS

    def forward(self, pictures):
        import inference  # also long after the module was imported

        logits = torch.zeros(len(pictures), len(LABELS))
        logits[:, inference.FAVORITE] = 9 + brightness(pictures)
        return logits


def factory(question):
    return Own()
"""
WORLD = """
answer = "far"
[generator]
name = "own_world:disk"

[target]
kind = "threshold"
threshold = 0.5
width = 0.1

[search]
prior_scenes = 12
chains = 2
steps = 8
"""
CHECKED = """
import inference
import render
import scenes

assert inference.FAVORITE == 2 and scenes.LABELS and render.brightness
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the user calls `trex`."""
    place = tmp_path / "own"
    place.mkdir()
    for name, source in OWN.items():
        (place / f"{name}.py").write_text(source)
    (place / "my_model.py").write_text(MODEL)
    return place


def find(folder: Path, *options: str) -> dict[str, object]:
    """`trex find` as the installed command runs: Python puts no current folder in front, packages are installed."""
    installed = folder.parent / "installed"
    for name in OWN:
        (installed / name).mkdir(parents=True)
        (installed / name / "__init__.py").write_text(
            "raise ImportError('an installed package of this name')\n"
        )
    path = os.pathsep.join([str(installed), str(ROOT), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-P", "-m", "trex", "find", "query.toml", "--out", "run", "--json", *options],
        cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_users_model_imports_the_users_modules(folder: Path) -> None:
    write_query(folder, QUERY)
    result = find(folder, "--model", "my_model:factory")
    found = result["found"]
    assert isinstance(found, list) and found
    assert {scene["model_answer"] for scene in found} == {"2"}


@pytest.mark.slow
def test_a_users_world_imports_the_users_modules(folder: Path) -> None:
    source = Path(toy_disk.__file__).read_text(encoding="utf-8")
    (folder / "own_world.py").write_text(source + CHECKED)
    write_query(folder, WORLD)
    assert (find(folder)["run"], (folder / "run" / "report.html").is_file()) == ("run", True)


@pytest.mark.blender
@pytest.mark.parametrize("python_path", ["", os.pathsep, f".{os.pathsep}"])
def test_blender_imports_nothing_from_the_users_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, python_path: str
) -> None:
    for name in ("bpy", "mathutils", "numpy", "struct", *OWN):
        (folder / f"{name}.py").write_text(f"raise ImportError('the user's own {name}')\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", python_path)
    with BlenderRenderer("draft", "cpu", threads=1) as blender:
        (picture,) = blender.render(prior_scenes(1))
    assert picture.pixels.std() > 1
