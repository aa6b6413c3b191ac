"""A render process sees what Blender, its drivers and Python need, and none of the user's secrets."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.render.test_blender_program import executable, other_python
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.blender.program import VARIABLE, Program, blender_program, render_environment
from trex.render.presets import PRESETS
from trex.scenes.prior import ScenePrior

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
