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

LARGEST_BYTES = 8_000_000  # weights of what works without an extra, 5.5 MB of it
FEW = "from pathlib import Path; import trex; print(Path(trex.__file__).parent)"


def names(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        return archive.namelist()


def sums(wheel: Path) -> dict[str, int]:
    with ZipFile(wheel) as archive:
        return {item.filename: item.CRC for item in archive.infolist()}


def expected(tree: Path) -> set[str]:
    """Every module and data file of the tree under its name below `trex`, links followed."""
    package = tree / "trex"
    data = (
        "py.typed", "queries/*.toml", "queries/repair/*.toml", "pages/templates/*", "clevr_models/weights/*",
        "mnist_models/weights/*.json", "mnist_models/weights/mnist-[!g]*", "clevr_models/relation_network/*.json",
        "blender_assets/*.blend", "blender_assets/manifest.json", "blender_assets/shapes/*",
        "render/analytic/weights.json", "commands/starter/*",
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


def test_the_wheel_is_small_and_the_extra_has_the_weights_that_it_leaves_out(
    wheel: Path, worlds: Path, tree: Path
) -> None:
    assert wheel.stat().st_size < LARGEST_BYTES
    weights = {path.name for path in (tree / "mnist_models" / "weights").glob("*.safetensors")}
    ours, extra = ({Path(name).name for name in names(each)} & weights for each in (wheel, worlds))
    assert ours | extra == weights and not ours & extra
    left = {Path(name) for name in names(worlds) if not name.startswith("bayes_trex_worlds-")}
    cards = {f"{Path(name).stem}.json" for name in extra}
    assert {path.name for path in left} == extra | cards | {"__init__.py"}
    assert {path.parent.name for path in left if path.name in weights} == {"weights"}


@pytest.mark.slow
def test_an_sdist_of_the_extra_gives_the_same_wheel(worlds: Path, tree: Path, tmp_path: Path) -> None:
    with tarfile.open(build(tree / "worlds", "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("bayes_trex_worlds-*")
    assert sums(build(unpacked, "wheel", tmp_path / "wheel")) == sums(worlds)


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
    assert sums(again) == sums(wheel)


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


def test_a_world_of_the_extra_is_refused_with_the_words_that_install_it_and_works_with_it(
    trex: Trex, python: Path, worlds: Path, tmp_path: Path
) -> None:
    code = "from trex.mnist_models.load import left_out, load_decoder; {}"
    missing = "fashion-classifier fashion-gan fashion-vae mnist-gan"
    assert trex("-c", code.format("print(*left_out())"), command=("python",)).stdout.strip() == missing
    refusal = "try: load_decoder('mnist-gan')\nexcept Exception as error: print(error)"
    said = trex("-c", code.format("") + "\n" + refusal, command=("python",)).stdout
    assert "pip install 'bayes-trex[worlds]'" in said
    with ZipFile(worlds) as archive:
        archive.extractall(tmp_path)
    use = f"import sys; sys.path.append({str(tmp_path)!r}); {code}"
    drawn = use.format("print(left_out(), load_decoder('mnist-gan').key.split()[0])")
    assert trex("-c", drawn, command=("python",)).stdout.split() == ["[]", "mnist-gan"]


def test_shapes_are_read_from_the_wheel(trex: Trex, tmp_path: Path) -> None:
    (tmp_path / "cones.toml").write_text(QUERY.replace("[scene]", '[scene]\nintroduce = ["cone"]'))
    assert "cone" in trex("check", str(tmp_path / "cones.toml")).stdout
