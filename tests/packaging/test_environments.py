"""The ways to install trex say the same: pyproject.toml, the Dockerfile, the preflight."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from trex.doctor.preflight import LIBRARIES, NEWEST, OF_BPY, OLDEST, dotted

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SUPPORTED = [f"3.{k}" for k in range(30) if SpecifierSet(PROJECT["requires-python"]).contains(f"3.{k}.5")]


def holds(requirement: Requirement, python: str) -> bool:
    """Whether it is one for this version of Python."""
    place = {"python_version": python, "python_full_version": f"{python}.1"}
    return requirement.marker is None or requirement.marker.evaluate(place)


def requirements(path: Path) -> list[Requirement]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def test_digits_need_everything_but_blender() -> None:
    script = str(ROOT / "trex" / "doctor" / "preflight.py")
    printed = subprocess.run([sys.executable, script, "--digits"], capture_output=True, text=True, check=True)
    light = set(printed.stdout.splitlines())
    assert {Requirement(line).name for line in set(PROJECT["dependencies"]) - light} == {"bpy"}
    assert light < set(PROJECT["dependencies"])


def test_the_extra_worlds_is_of_this_version_and_a_licensed_package_of_its_own() -> None:
    other = tomllib.loads((ROOT / "worlds" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert PROJECT["optional-dependencies"]["worlds"] == [f"{other['name']}=={PROJECT['version']}"]
    assert other["version"] == PROJECT["version"] and other["license"] == PROJECT["license"]


def test_the_table_of_extras_has_each_once_with_a_star_if_the_tests_have_it() -> None:
    text = (ROOT / "docs" / "start" / "install.md").read_text(encoding="utf-8")
    table = re.split(r"^## ", text.partition("\n## Extras\n")[2], flags=re.MULTILINE)[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    extras = PROJECT["optional-dependencies"]
    assert sorted(listed) == sorted(extras)
    starred = {name for row in rows if "*" in row for name in re.findall(r"`(\w+)`", row)}
    assert starred == {name for name in extras if name != "dev" and set(extras[name]) <= set(extras["dev"])}


def test_dev_has_what_the_tested_extras_have() -> None:
    extras = PROJECT["optional-dependencies"]
    for extra in ("arviz", "export", "farm", "hf", "onnx", "saliency"):
        assert set(extras[extra]) <= set(extras["dev"]), extra


def test_the_container_has_the_libraries_that_the_preflight_asks_for_and_a_python_that_bpy_is_built_for() -> (
    None
):
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"\blib[a-z0-9]+\d\b", text)) == set(LIBRARIES.values())
    (python,) = re.findall(r"^FROM python:(3\.\d+)-", text, re.MULTILINE)
    assert python == dotted(next(iter(OF_BPY))) and re.search(r"^USER trex$", text, re.MULTILINE)


def test_the_makefile_takes_the_pythons_that_bpy_is_built_for_the_default_first() -> None:
    named = re.findall(r"call starts,python([\d.]+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert named == [dotted(version) for version in OF_BPY]


def test_each_python_has_the_bpy_that_is_built_for_it() -> None:
    wanted = {}
    for requirement in map(Requirement, PROJECT["dependencies"]):
        for version in SUPPORTED:
            if requirement.name == "bpy" and holds(requirement, version):
                (pin,) = requirement.specifier
                wanted[version] = pin.version.rpartition(".")[0]
    assert wanted == {dotted(version): bpy for version, bpy in OF_BPY.items()}


def test_supported_pythons_are_the_same_everywhere() -> None:
    assert (SUPPORTED[0], SUPPORTED[-1]) == (dotted(OLDEST), dotted(NEWEST))
    classified = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if " :: Python :: 3." in line]
    assert classified == SUPPORTED


def test_constraints_pin_one_version_of_every_dependency_for_each_python() -> None:
    pinned = requirements(ROOT / "constraints.txt")
    for python in SUPPORTED:
        for requirement in map(Requirement, PROJECT["dependencies"]):
            if not holds(requirement, python):
                continue
            pins = [p for p in pinned if p.name.lower() == requirement.name.lower()]
            fitting = [p for p in pins if holds(p, python)]
            assert len(fitting) == 1, f"{requirement.name} on {python}: {len(fitting)} pins"
            (version,) = fitting[0].specifier
            assert requirement.specifier.contains(version.version)


WITHOUT = """
import sys

ABSENT = {"bpy", "captum", "arviz", "pandas", "xarray", "h5netcdf"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from trex.commands.shell.app import app
app(sys.argv[1:])
"""


@pytest.mark.process
@pytest.mark.slow
def test_digits_are_searched_without_blender_and_the_extras(tmp_path: Path) -> None:
    short = ["--set", "search.prior_scenes=20", "--set", "search.steps=4", "--set", "search.warmup=2"]
    query = str(ROOT / "queries" / "mnist_sure_of_7.toml")
    command = [sys.executable, "-c", WITHOUT, "find", query, *short, "--out", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").is_file()
