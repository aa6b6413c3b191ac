"""Where Blender is: the module `bpy` of this Python, or the program that TREX_BLENDER names.

That program is a Blender executable, or a Python that has `bpy`, such as one of another version. A query cannot name
it: queries come from outside, and what they name would be run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from trex.foundation.errors import InputError

VARIABLE = "TREX_BLENDER"
OLDEST, NEWEST = (4, 2), (5, 99)  # 4.2 is the first whose Python (3.11) runs the render process
SOURCE = str(Path(__file__).absolute().parents[3])  # contains the package; links are not resolved
ASK_S = 120.0  # the first start of Blender on a cold disk takes tens of seconds
_VERSION = "from importlib.metadata import version; print('Blender', version('bpy'))"


@dataclass(frozen=True, slots=True)
class Program:
    """A Blender: the path of the program, its version, and whether it is Blender itself rather than a Python."""

    path: str
    version: str
    is_executable: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it is the `bpy` of the Python that runs this."""
        return self.path == sys.executable

    @property
    def key(self) -> str:
        """The version in a renderer's key; builds of one version that differ in their libraries stay apart."""
        return f"{self.version} executable" if self.is_executable else self.version

    def command(self, module: str, *arguments: str, threads: int | None = None) -> list[str]:
        """The command that calls `main` of a module of this package inside Blender; the arguments end `sys.argv`."""
        if self.is_own:
            return [self.path, "-P", "-m", module, *arguments]
        # The package goes to the end: beside it may lie packages that were built for another Python.
        start = f"import sys; sys.path.append({SOURCE!r}); from {module} import main; main()"
        if not self.is_executable:
            return [self.path, "-P", "-c", start, *arguments]
        options = ["--background", "--factory-startup", "--disable-autoexec", "--python-exit-code", "1"]
        cores = [] if threads is None else ["--threads", str(threads)]
        return [self.path, *options, *cores, "--python-expr", start, "--", *arguments]

    def environment(self) -> dict[str, str]:
        """What Blender needs of this process's environment; PYTHONPATH holds the package for this Python alone."""
        if not self.is_own:
            return _without_python()
        # Absolute folders only: an empty entry means the current folder, which may hold a user's own modules.
        users = filter(os.path.isabs, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        return {**render_environment(), "PYTHONPATH": os.pathsep.join([SOURCE, *users])}


def blender_program() -> Program:
    """The Blender that renders here; starts the program that TREX_BLENDER names, once, to ask for its version.

    Raises InputError if there is none, if it cannot be started, or if its version is not supported.
    """
    named = os.environ.get(VARIABLE, "")
    return _named_program(named) if named else _own_program()


def _own_program() -> Program:
    try:
        return _supported(Program(sys.executable, metadata.version("bpy")))
    except metadata.PackageNotFoundError as error:
        python = ".".join(map(str, sys.version_info[:2]))
        raise InputError(
            f"there is no Blender: this Python {python} has no module bpy, and {VARIABLE} is not set; install trex "
            f"with Python 3.13 or 3.11, which bring it along, or set {VARIABLE} to a Blender executable "
            f"({_range()}) or to a Python that has bpy; `trex doctor` shows what is there"
        ) from error


@lru_cache(maxsize=4)
def _named_program(named: str) -> Program:
    path = shutil.which(named)
    if path is None:
        raise InputError(
            f"{VARIABLE} is {named!r}, which is no program; name a Blender executable, or a Python that has bpy"
        )
    path = os.path.abspath(path)
    text = _answer([path, "--version"])
    if re.match(r"Python \d", text):
        return _supported(Program(path, _version(path, _answer([path, "-P", "-c", _VERSION]))))
    return _supported(Program(path, _version(path, text), is_executable=True))


def _without_python() -> dict[str, str]:
    """The environment of a render process without what is meant for this Python."""
    return {name: value for name, value in render_environment().items() if not name.startswith("PYTHON")}


def _answer(command: list[str]) -> str:
    """What a program prints; InputError if it fails or does not end."""
    try:
        done = subprocess.run(
            command,
            env=_without_python(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ASK_S,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{VARIABLE}: {command[0]} cannot be asked for its version: {error}") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise InputError(f"{VARIABLE}: {command[0]} has no Blender: {lines[-1][:300]}")
    return done.stdout


def _version(path: str, text: str) -> str:
    """The version in what Blender prints, e.g. "Blender 4.5.1 LTS"."""
    found = re.search(r"^Blender (\d+\.\d+\.\d+)", text, re.MULTILINE)
    if found is None:
        raise InputError(f"{VARIABLE}: {path} is neither Blender nor a Python that has bpy")
    return found[1]


def _supported(program: Program) -> Program:
    major, minor = map(int, program.version.split(".")[:2])
    if not OLDEST <= (major, minor) <= NEWEST:
        raise InputError(f"{program.path} has Blender {program.version}; {_range()} are supported")
    return program


def _range() -> str:
    return f"versions {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.x"


NAMES = {
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "TEMP", "TMP", "DISPLAY",
    "WAYLAND_DISPLAY", "XAUTHORITY", "OCIO", "VIRTUAL_ENV", "CONDA_PREFIX", "SOURCE_DATE_EPOCH",
}  # fmt: skip
PREFIXES = (
    # the system, Python, ours
    "LC_", "LD_", "DYLD_", "XDG_", "GLIBC_", "MALLOC_", "TCMALLOC_", "PYTHON", "COVERAGE_", "TREX_",
    # Blender and its libraries
    "BLENDER", "CYCLES_", "EMBREE_", "OIDN_", "OIIO_", "OPENIMAGEIO_", "USD_", "PXR_", "TBB_",
    # drivers: NVIDIA, AMD, Intel, Mesa, Apple
    "CUDA_", "NVIDIA_", "NV_", "__NV", "__GL", "__EGL", "__VK", "OPTIX", "HIP_", "HSA_", "ROCR_", "ROCM_", "AMD_",
    "GPU_", "ONEAPI_", "SYCL_", "ZE_", "ZES_", "IGC_", "INTEL_", "OCL_", "LIBVA_", "LIBGL_", "MESA_", "GALLIUM_",
    "EGL_", "GBM_", "VK_", "DRI_", "MTL_", "METAL_",
    # threads of numerical libraries
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "NUMEXPR_",
)  # fmt: skip
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH(?!ORITY)|COOKIE|PRIVATE", re.IGNORECASE)


def render_environment() -> dict[str, str]:
    """This process's environment, as far as a render process may see it."""
    return {name: value for name, value in os.environ.items() if _is_needed(name)}


def _is_needed(name: str) -> bool:
    return name in NAMES or (name.startswith(PREFIXES) and not SECRET.search(name))
