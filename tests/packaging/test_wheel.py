"""The wheel: what is in it, and what it does in an environment of its own, called from another folder."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.packaging.conftest import Trex, build
from tests.running.runs import QUERY

pytestmark = pytest.mark.process


FEW = "from pathlib import Path; import trex; print(Path(trex.__file__).parent)"


def names(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        return archive.namelist()


def expected(tree: Path) -> set[str]:
    """Every module and data file of the tree under its name below `trex`, links followed."""
    package = tree / "trex"
    data = (
        "py.typed", "queries/*.toml", "queries/repair/*.toml", "pages/templates/*", "*_models/weights/*",
        "clevr_models/relation_network/*.json", "blender_assets/*.blend", "blender_assets/manifest.json",
        "blender_assets/shapes/*", "render/analytic/weights.json",
    )  # fmt: skip
    folders = [package, *(path for path in package.iterdir() if path.is_dir())]
    modules = {file for path in folders for file in path.resolve().rglob("*.py")}
    named = {file: file.relative_to(package if file.is_relative_to(package) else tree) for file in modules}
    found = {f"trex/{name}" for name in named.values()}
    for pattern in data:
        files = {str(file.relative_to(tree)) for file in package.glob(pattern)}
        assert files, pattern
        found |= files
    return found


def test_the_wheel_holds_every_module_and_data_file_once_and_nothing_else(wheel: Path, tree: Path) -> None:
    held = names(wheel)
    assert len(held) == len(set(held))
    files = {name for name in held if not name.startswith("bayes_trex-")}
    assert {name.partition("/")[0] for name in files} == {"trex"}
    assert files == expected(tree)


def test_what_is_no_part_of_the_package_is_seen(wheel: Path, tree: Path) -> None:
    """The control of the test above: the built tree has more folders, and the wheel has links followed."""
    assert (
        all((tree / name).is_dir() for name in ("tests", "benchmarks", "reproduce"))
        and (tree / "trex" / "scenes").is_symlink()
    )
    assert "trex/scenes/scene.py" in names(wheel)
    assert not any(
        name.startswith(("tests/", "benchmarks/", "reproduce/", "scenes/")) for name in names(wheel)
    )


@pytest.mark.slow
def test_an_sdist_gives_the_same_wheel(wheel: Path, tree: Path, tmp_path: Path) -> None:
    with tarfile.open(build(tree, "sdist", tmp_path / "sdist")) as archive:
        assert all(member.isfile() or member.isdir() for member in archive)
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("bayes_trex-*")
    again = build(unpacked, "wheel", tmp_path / "wheel")
    with ZipFile(wheel) as file, ZipFile(again) as other:
        sums = [{item.filename: item.CRC for item in archive.infolist()} for archive in (file, other)]
    assert sums[0] == sums[1]


def test_an_editable_installation_adds_one_name_too(tree: Path, tmp_path: Path) -> None:
    """As `make` installs: the top of the repository is not put on the path, so its folders are not imported."""
    with ZipFile(build(tree, "editable", tmp_path / "editable")) as archive:
        sources = {name: archive.read(name).decode() for name in archive.namelist() if "/" not in name}
    (finder,) = (source for name, source in sources.items() if name.endswith("_finder.py"))
    (path_file,) = (source for name, source in sources.items() if name.endswith(".pth"))
    assert f"{{'trex': {str(tree / 'trex')!r}}}" in finder
    assert path_file.startswith("import ") and str(tree) not in path_file


def test_the_command_and_the_module_say_the_version(trex: Trex, python: Path, tree: Path) -> None:
    (package,) = trex("-c", FEW, command=("python",)).stdout.split()
    assert Path(package).is_relative_to(python.parents[1])
    version = trex("--version").stdout
    assert version == trex("--version", command=("python", "-m", "trex")).stdout
    assert f'version = "{version.removeprefix("trex ").strip()}"' in (tree / "pyproject.toml").read_text()


@pytest.mark.slow
def test_a_query_is_checked_searched_and_reported(trex: Trex, tmp_path: Path) -> None:
    assert "demo.toml is valid" in trex("check", "demo").stdout
    (tmp_path / "own.toml").write_text(QUERY)
    found = json.loads(
        trex("find", str(tmp_path / "own.toml"), "--out", str(tmp_path / "run"), "--json").stdout
    )
    assert found["found"]
    page = tmp_path / "page.html"
    trex("report", str(tmp_path / "run"), "--out", str(page))
    assert "<svg" in page.read_text() and page.read_bytes() == Path(found["report"]).read_bytes()


@pytest.mark.slow
def test_digits_are_searched_with_their_own_decoder_and_classifier(trex: Trex, tmp_path: Path) -> None:
    """So with the weights that the wheel has."""
    small = ("prior_scenes=12", "chains=2", "steps=8", "warmup=2")
    settings = [word for key in small for word in ("--set", f"search.{key}")]
    found = json.loads(
        trex("find", "mnist_1_or_7", *settings, "--out", str(tmp_path / "out"), "--json").stdout
    )
    assert Path(found["report"]).is_file()


def test_shapes_are_read_from_the_wheel(trex: Trex, tmp_path: Path) -> None:
    (tmp_path / "cones.toml").write_text(QUERY.replace("[scene]", '[scene]\nintroduce = ["cone"]'))
    assert "cone" in trex("check", str(tmp_path / "cones.toml")).stdout
