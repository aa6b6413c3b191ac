"""Which Blender renders: this Python's bpy, another Python's, or Blender itself, as TREX_BLENDER says.

A render process sees what Blender, its drivers and Python need, and none of the user's secrets.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.worlds.render_worlds import crowd
from trex.foundation.errors import InputError, RenderError
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.blender.program import VARIABLE, Program, blender_program, render_environment
from trex.render.presets import PRESETS
from trex.scenes.prior import ScenePrior

try:
    OWN = version("bpy")
except PackageNotFoundError:
    pytest.skip("this Python has no bpy", allow_module_level=True)
# As Blender itself: says its version, and runs the expression with its whole command line in sys.argv.
EXECUTABLE = f"""#!{sys.executable} -P
import sys
if sys.argv[1] == "--version":
    print("Blender {{version}} LTS\\n\\tbuild date: 2026-01-01")
    sys.exit()
assert sys.argv[1:4] == ["--background", "--factory-startup", "--disable-autoexec"]
exec(sys.argv[sys.argv.index("--python-expr") + 1])
"""


def script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def executable(folder: Path, its_version: str = OWN) -> str:
    return script(folder / f"blender-{its_version}", EXECUTABLE.format(version=its_version))


def other_python(folder: Path) -> str:
    """A Python at another path, which has the same packages."""
    return script(folder / "python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')


def test_without_a_name_it_is_the_module_of_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    program = blender_program()
    assert program.is_own and program.key == OWN
    assert program.environment()["PYTHONPATH"]


@pytest.mark.process
def test_each_kind_of_program_is_told_by_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/a/folder/of/this/python")
    monkeypatch.setenv(VARIABLE, other_python(tmp_path))
    program = blender_program()
    assert (program.version, program.is_executable, program.is_own) == (OWN, False, False)
    assert "PYTHONPATH" not in program.environment()
    monkeypatch.setenv(VARIABLE, executable(tmp_path, "4.2.9"))
    program = blender_program()
    assert (program.version, program.is_executable, program.key) == ("4.2.9", True, "4.2.9 executable")


@pytest.mark.process
@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("#!/bin/sh\necho Blender 3.6.5\n", "has Blender 3.6.5; versions 4.2 to 5.x are supported"),
        ("#!/bin/sh\necho Blender 6.0.0\n", "has Blender 6.0.0; versions 4.2"),
        ("#!/bin/sh\necho ls 9.1\n", "is neither Blender nor a Python that has bpy"),
        ("#!/bin/sh\necho no display >&2; exit 3\n", "has no Blender: no display"),
        ('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.13.0 || exit 1\n', "has no Blender: exit code 1"),
        ("no script", "cannot be asked for its version"),
    ],
)
def test_what_is_no_blender_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, output: str
) -> None:
    monkeypatch.setenv(VARIABLE, script(tmp_path / "program", text))
    with pytest.raises(InputError, match=output):
        BlenderRenderer("draft", "cpu")


def test_a_name_without_a_program_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "blender"))
    with pytest.raises(InputError, match="which is no program; name a Blender executable"):
        blender_program()


def test_without_any_blender_the_error_says_where_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("importlib.metadata.version", missing)
    with pytest.raises(InputError, match=r"has no module bpy, and TREX_BLENDER is not set.*trex doctor"):
        blender_program()


@pytest.mark.slow
@pytest.mark.blender
@pytest.mark.process
def test_all_kinds_render_the_same_with_one_version_and_executables_stay_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = picture()
    monkeypatch.setenv(VARIABLE, other_python(tmp_path))
    assert picture() == own
    monkeypatch.setenv(VARIABLE, executable(tmp_path))
    key, rendered = picture()
    assert rendered == own[1] and key != own[0]


def picture() -> tuple[str, bytes]:
    with BlenderRenderer("draft", "cpu", threads=1) as blender:
        (rendered,) = blender.render([crowd(2)])
        return blender.key, rendered.pixels.tobytes() + rendered.mask.tobytes()


@pytest.mark.blender
@pytest.mark.process
def test_a_program_that_renders_as_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "4.5.1" is not "4.5.15", nor "5.2.31" "5.2.3"."""
    other = f"{OWN}1" if OWN[-2] == "." else OWN[:-1]
    monkeypatch.setenv(VARIABLE, executable(tmp_path, other))
    with (
        BlenderRenderer("draft", "cpu", threads=1) as blender,
        pytest.raises(RenderError, match="rendered as"),
    ):
        blender.render([crowd(1)])


@pytest.mark.blender
@pytest.mark.process
def test_a_blend_file_holds_the_scene_alone_and_renders_to_the_same_picture(tmp_path: Path) -> None:
    scene = crowd(3)
    with BlenderRenderer("draft", "cpu", threads=1) as blender:
        path = tmp_path / "scene.blend"
        path.write_bytes(blender.blend_file(scene))
        (ours,) = blender.render([scene])  # the process still has its pool
    theirs, names = rendered_by_blender(path, tmp_path / "again.png")
    assert np.abs(theirs.astype(int) - ours.pixels).max() <= 1
    assert sum(name.endswith((" 0", " 1", " 2")) for name in names) == len(scene.objects)


OPEN = """
import bpy, sys
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
bpy.context.scene.render.filepath = sys.argv[2]
bpy.ops.render.render(write_still=True)
print("NAMES", [one.name for one in bpy.data.objects])
"""


def rendered_by_blender(path: Path, picture: Path) -> tuple[NDArray[np.uint8], list[str]]:
    command = [sys.executable, "-P", "-c", OPEN, str(path), str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    line = next(line for line in done.stdout.splitlines() if line.startswith("NAMES"))
    with Image.open(picture) as image:
        return np.asarray(image.convert("RGB")), ast.literal_eval(line.removeprefix("NAMES "))


SECRETS = (
    "OPENAI_API_KEY", "TREX_MODEL_TOKEN", "TREX_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "GH_PAT", "WANDB_API_KEY", "MLFLOW_TRACKING_PASSWORD",
    "DATABASE_URL", "https_proxy", "HTTPS_PROXY", "SSH_AUTH_SOCK", "GOOGLE_APPLICATION_CREDENTIALS", "NETRC",
    "PGPASSWORD", "AZURE_CLIENT_SECRET", "ANTHROPIC_API_KEY", "KUBECONFIG", "RAY_AUTH_TOKEN", "MY_OWN_THING",
    "CUDA_LICENSE_KEY",
    "NVIDIA_API_KEY", "PYTHON_KEYRING_PASSWORD", "AMD_SECRET",
)  # fmt: skip
NEEDED = (
    "HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES", "OPTIX_CACHE_PATH", "XDG_CACHE_HOME", "PYTHONPATH", "BLENDER_SYSTEM_SCRIPTS",
    "OMP_NUM_THREADS", "TREX_CORES", "DISPLAY", "XAUTHORITY", "HIP_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR",
    "LIBGL_ALWAYS_SOFTWARE", "__GLX_VENDOR_LIBRARY_NAME", "VK_ICD_FILENAMES", "OCIO", "LD_PRELOAD", "MALLOC_ARENA_MAX",
)  # fmt: skip
SECRET = "sk-a-secret-that-nothing-else-has"


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, SECRET)


def test_what_is_needed_stays_and_no_secret_does(crowded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NEEDED:
        monkeypatch.setenv(name, os.environ.get(name) or f"/{name}")
    seen = render_environment()
    assert {name: seen.get(name) for name in NEEDED} == {name: os.environ[name] for name in NEEDED}
    assert not set(SECRETS) & set(seen) and SECRET not in seen.values()


@pytest.mark.parametrize("kind", ["own", "another Python", "an executable"])
def test_every_kind_of_program_gets_it(
    kind: str, crowded: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if kind != "own":
        named = other_python(tmp_path) if kind == "another Python" else executable(tmp_path)
        monkeypatch.setenv(VARIABLE, named)
    program = blender_program() if kind != "own" else Program(sys.executable, "4.5.0")
    assert SECRET not in program.environment().values()
    assert program.environment()["PATH"] == os.environ["PATH"]


@pytest.mark.blender
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system shows no environments")
def test_a_running_blender_has_no_secret(crowded: None) -> None:
    """As another program of this user sees it, and the extensions of a .blend file would."""
    with BlenderRenderer(PRESETS["draft"], "cpu", processes=1) as renderer:
        renderer.render([ScenePrior().sample(np.random.default_rng(0))])
        (pid,) = renderer.process_ids()
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"PYTHONPATH=" in environment and SECRET.encode() not in environment
