"""CLEVR's scene JSON: exact round trips, the published files, and damaged ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.references.official_clevr import OFFICIAL, raw, scenes_by_picture
from tests.references.scene_strategies import scenes
from trex.foundation.errors import InputError
from trex.foundation.json_fields import Json
from trex.scenes.clevr_format import json_files
from trex.scenes.clevr_format.json_files import read_items, write_items
from trex.scenes.clevr_format.scene_json import SceneRecord, from_clevr, read_scenes, to_clevr, write_scenes
from trex.scenes.scene import TAU, Nuisances, Scene, SceneObject
from trex.scenes.vocabulary import CLEVR, CONE

SCENE = Scene(
    (
        SceneObject("cube", "large", "red", "rubber", 0.1, -0.2, 1.5),
        SceneObject("sphere", "small", "cyan", "metal", -2.0, 1.0, 6.2),
    ),
    Nuisances(camera=(0.1, 0.2, 0.3), back=(-0.5, 0.25, 1e-9)),
)


@given(scenes(CLEVR.introduce(CONE)))
def test_round_trip_is_exact(scene: Scene) -> None:
    data = json.loads(json.dumps(to_clevr(scene, "a.png", 7, "val")))
    assert from_clevr(data, CLEVR.introduce(CONE)) == scene


def test_rotation_is_read_as_radians() -> None:
    """D6 of the published code: 0 to 360 was handed to Blender, which takes radians."""
    data = _record()
    _first_object(data)["rotation"] = 360.0
    assert from_clevr(data).objects[0].rotation == 360.0 % TAU
    assert not math.isclose(from_clevr(data).objects[0].rotation, 0.0, abs_tol=0.1)


def test_a_tiny_negative_rotation_stays_below_a_full_turn() -> None:
    data = _record()
    _first_object(data)["rotation"] = -1e-20
    assert 0.0 <= from_clevr(data).objects[0].rotation < TAU


@pytest.mark.parametrize("name", OFFICIAL)
def test_published_scenes_come_back(name: str) -> None:
    """All but pixel_coords, which depend on the camera offset that CLEVR did not keep."""
    found = scenes_by_picture((name,))
    for old in raw(name, "scenes"):
        new = to_clevr(
            found[str(old["image_filename"])], str(old["image_filename"]), _int(old), str(old["split"])
        )
        for key in ("split", "image_index", "image_filename", "directions"):
            assert new[key] == old[key]
        for ours, theirs in zip(_objects(new), _objects(old), strict=True):
            assert [ours[key] for key in ("shape", "size", "color", "material")] == [
                theirs[key] for key in ("shape", "size", "color", "material")
            ]
            assert ours["3d_coords"] == pytest.approx(theirs["3d_coords"], abs=1e-7)
            turns = (_float(ours["rotation"]) - _float(theirs["rotation"])) / TAU
            assert abs(turns - round(turns)) < 1e-9


def _set(path: tuple[str | int, ...], value: object) -> Json:
    data: Json = _record()
    at: object = data
    for key in path[:-1]:
        assert isinstance(at, dict | list)
        at = at[key]  # type: ignore[index]
    assert isinstance(at, dict | list)
    if value is KeyError:
        del at[path[-1]]  # type: ignore[arg-type]
    else:
        at[path[-1]] = value  # type: ignore[index]
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("objects",), KeyError, "has no 'objects'"),
        (("objects",), {}, "objects is {}; expected a list"),
        (("objects", 1), 5, "object 1 is 5"),
        (("objects", 1, "shape"), KeyError, "object 1 has no 'shape'"),
        (("objects", 0, "shape"), "cubes", "did you mean 'cube'"),
        (("objects", 0, "size"), 3, "size is 3; expected a string"),
        (("objects", 0, "rotation"), math.nan, "rotation is nan; expected a finite number"),
        (("objects", 0, "rotation"), True, "rotation is True; expected a finite number"),
        (("objects", 0, "3d_coords"), [0, 0], "3d_coords has 2 numbers"),
        (("objects", 0, "3d_coords", 1), math.inf, "3d_coords.y. is inf"),
        (("objects", 0, "3d_coords", 1), None, "3d_coords.y. is None"),
        (("nuisances",), [], "nuisances is "),
        (("nuisances", "kee"), [0, 0, 0], "nuisance 'kee' .* did you mean 'key'"),
        (("nuisances", "key"), [0, 0], "nuisance key has 2 numbers"),
        (("nuisances", "key"), [1, 2, "3"], "key.z. is '3'"),
    ],
)
def test_damaged_scenes_say_what_is_wrong(path: tuple[str | int, ...], value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_clevr(_set(path, value))


def test_files_come_back(tmp_path: Path) -> None:
    records = [SceneRecord(SCENE, f"CLEVR_new_{i:06d}.png", i, "new") for i in range(5)]
    path = tmp_path / "deep" / "CLEVR_new_scenes.json"
    assert write_scenes(path, records, {"split": "new", "version": "1.0"}) == 5
    assert list(read_scenes(path)) == records
    assert json.loads(path.read_text())["info"] == {"split": "new", "version": "1.0"}
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "scenes.json"
    write_items(path, "scenes", [1, 2], {})

    def breaking() -> Iterator[object]:
        yield 1
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space left on device; nothing was changed"):
        write_items(path, "scenes", breaking(), {})
    assert list(read_items(path, "scenes")) == [1, 2]
    assert [p.name for p in tmp_path.iterdir()] == ["scenes.json"]


@given(
    items=st.lists(st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists), max_size=5),
    chunk=st.sampled_from([1, 2, 7, 1000]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_items_are_those_of_the_json_module(
    items: list[object], chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "CHUNK", chunk)
    path = tmp_path / "items.json"
    path.write_text(
        json.dumps({"before": [items], "n": 12345, "scenes": items, "after": {"scenes": 0}}, indent=1)
    )
    assert list(read_items(path, "scenes")) == items


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends in the middle"),
        ("[]", r"expected '\{'"),
        ("{}", "no 'scenes' in it"),
        ('{"scenes": 3}', r"expected '\['"),
        ('{"scenes": [{"a": 1}, {"a"', "if it is truncated"),
        ('{"scenes": [{"a": 1}', "ends in the middle"),
        ('{"scenes": [NaN]}', "NaN is not a JSON number"),
        ('{"scenes": [' + "[" * 100_000, "nested too deep|recursion"),
        ('{"scenes": [1 2]}', "expected ','"),
    ],
)
def test_damaged_files_say_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scenes.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_items(path, "scenes"))


def test_other_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        list(read_scenes(tmp_path / "none.json"))
    binary = tmp_path / "binary.json"
    binary.write_bytes(b'{"scenes": [\xff\xfe')
    with pytest.raises(InputError, match=r"binary\.json is not a JSON file"):
        list(read_scenes(binary))
    (tmp_path / "bad.json").write_text('{"scenes": [{"objects": []}]}')
    with pytest.raises(InputError, match=r"bad\.json: scene 0 has no 'image_filename'"):
        list(read_scenes(tmp_path / "bad.json"))
    with pytest.raises(InputError, match="cannot write"):
        write_items(binary / "scenes.json", "scenes", [], {})


def _record() -> Json:
    data = json.loads(json.dumps(to_clevr(SCENE, "a.png", 0, "new")))
    assert isinstance(data, dict)
    return data


def _objects(record: Json) -> list[Json]:
    items = record["objects"]
    assert isinstance(items, list)
    return items


def _first_object(record: Json) -> Json:
    return _objects(record)[0]


def _float(value: object) -> float:
    assert isinstance(value, float)
    return value


def _int(record: Json) -> int:
    index = record["image_index"]
    assert isinstance(index, int)
    return index
