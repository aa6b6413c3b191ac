"""Training of the shipped model on a tiny drawn data set: it learns, resumes to the same bits, reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.clevr_models.percept_worlds import chain
from trex.artifacts.card import read_card
from trex.artifacts.precision import half_precision
from trex.clevr_models.interface.question import ATTRIBUTE_VALUES
from trex.clevr_models.percept import train as train_percept
from trex.clevr_models.percept.calibrate import match
from trex.clevr_models.percept.evaluate import Share, evaluate, question_type, write_card
from trex.clevr_models.percept.network import PerceptNetwork, find_peaks
from trex.clevr_models.percept.options import TrainOptions
from trex.clevr_models.percept.train import Labels, grid_loss
from trex.clevr_models.percept.training_data import BEHIND, RIGHT, disturb, load_scenes, mirror, to_pixels
from trex.foundation.errors import InputError, RunError
from trex.foundation.progress import silent

pytestmark = pytest.mark.usefixtures("one_thread")

SCENES = 26
RED, BLUE = (173, 35, 35), (42, 75, 215)


def _scene(root: Path, split: str, index: int, rng: np.random.Generator) -> dict[str, object]:
    """Two squares, red left and blue right, drawn and described."""
    pixels = np.full((160, 240, 3), 150, np.uint8)
    objects = []
    for right, rgb, color in ((-1.5, RED, "red"), (1.5, BLUE, "blue")):
        behind = rng.uniform(-2, 2)
        across, down = int(120 + 30 * right), int(80 - 20 * behind)
        pixels[down - 8 : down + 8, across - 8 : across + 8] = rgb
        x, y = np.array([right, behind]) @ np.array([RIGHT, BEHIND])
        values = {"shape": "cube", "size": "small", "color": color, "material": "rubber"}
        place = {"3d_coords": [x, y, 0.35], "pixel_coords": [2 * across, 2 * down, 10.0], "rotation": 0.0}
        objects.append({**values, **place})
    name = f"CLEVR_{split}_{index:06d}.png"
    Image.fromarray(pixels).save(root / "images" / split / name)
    return {"image_index": index, "image_filename": name, "split": split, "objects": objects}


def _write(root: Path, split: str, count: int) -> None:
    for folder in (f"images/{split}", "scenes", "questions"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(count)
    scenes = [_scene(root, split, index, rng) for index in range(count)]
    (root / "scenes" / f"CLEVR_{split}_scenes.json").write_text(json.dumps({"scenes": scenes}))
    program = [
        {"function": s.function, "inputs": s.inputs, "value_inputs": s.value_inputs}
        for s in chain("scene", "count")
    ]
    questions = [{"image_index": index, "program": program, "answer": "2"} for index in range(count)]
    (root / "questions" / f"CLEVR_{split}_questions.json").write_text(json.dumps({"questions": questions}))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clevr")
    _write(root, "train", SCENES)
    _write(root, "val", 3)
    return root


def run(dataset: Path, out: Path, seed: int = 1, progress: Callable[..., None] = silent) -> Path:
    options = TrainOptions(dataset=dataset, out=out, seed=seed, epochs=2, device="cpu", batch_size=8)
    return train_percept.train(options, progress)


class _Killed(Exception):
    pass


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_weights(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbroken = run(dataset, tmp_path / "unbroken")
    assert read_card(unbroken)["sha256"] != ""

    def dies(step: str, done: int, *_: object) -> None:
        if done == 5:  # the checkpoint is of the step before
            raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(train_percept, "CHECKPOINT_S", -1.0)
        patch.setattr(train_percept, "EVERY", 1)
        with pytest.raises(_Killed):
            run(dataset, tmp_path / "broken", progress=dies)
    assert not (tmp_path / "broken" / "percept.safetensors").exists()
    numbers: list[int] = []
    resumed = run(dataset, tmp_path / "broken", progress=lambda _, done, *facts: numbers.append(done))
    assert numbers == [4, 6]  # it goes on after the fourth step, and does not begin anew
    assert read_card(resumed)["sha256"] == read_card(unbroken)["sha256"]
    with pytest.raises(RunError, match="other settings"):
        run(dataset, tmp_path / "broken", seed=2)
    report = evaluate(resumed, dataset)
    write_card(resumed, dataset, report)
    figures = json.loads(resumed.with_suffix(".json").read_text())["figures"]
    assert figures["questions"] == 3 and set(figures["accuracy"]) == {"all", "count"}


def test_the_loss_falls_and_only_the_truth_has_none(dataset: Path) -> None:
    torch.manual_seed(0)
    scenes = load_scenes(dataset, "train", 4)
    labels = Labels(
        *(torch.from_numpy(a) for a in (scenes.numbers, scenes.cells, scenes.attributes, scenes.positions))
    )
    network = PerceptNetwork()
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    pixels = to_pixels(scenes.pictures)
    losses = []
    for _ in range(8):
        loss = grid_loss(network(pixels), labels).total
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.7 * losses[0]
    truth = _true_maps(labels)
    assert float(grid_loss(truth, labels).total) < 1e-3
    assert float(grid_loss(truth.roll(2, dims=3), labels).total) > 1.0  # planted: everything two cells aside
    items = match(find_peaks(truth), scenes)
    assert sorted(items[0][items[0] >= 0]) == [0, 1]


def _true_maps(labels: Labels) -> torch.Tensor:
    """Maps that say exactly what the labels say, also in the cells beside each center."""
    maps = torch.zeros(len(labels.numbers), 18, 40, 60)
    maps[:, 0] = -20.0
    for picture, number in enumerate(labels.numbers.tolist()):
        for item in range(number):
            row, column = labels.cells[picture, item].tolist()
            near = (picture, slice(None), slice(row - 1, row + 2), slice(column - 1, column + 2))
            maps[near][-2:] = labels.positions[picture, item][:, None, None]
            maps[picture, 0, row, column] = 20.0
            first = 1
            for slot, values in enumerate(ATTRIBUTE_VALUES.values()):
                maps[near][first + labels.attributes[picture, item, slot]] = 20.0
                first += len(values)
    return maps


def test_a_mirrored_scene_keeps_its_truth(dataset: Path) -> None:
    scenes = load_scenes(dataset, "train", 12)
    turned = mirror(scenes, np.random.default_rng(3))
    changed = (turned.positions != scenes.positions).any(axis=(1, 2))
    assert 0 < changed.sum() < 12
    for row in range(12):
        for item, rgb in enumerate((RED, BLUE)):
            down, across = turned.cells[row, item] * 4 + 2
            assert tuple(turned.pictures[row, down, across]) == rgb
            assert np.sign(turned.positions[row, item, 0]) == np.sign(across - 120)
    pixels = to_pixels(scenes.pictures)
    noisy = disturb(pixels, torch.Generator().manual_seed(1))
    assert 0 < float((noisy - pixels).abs().mean()) < 0.1
    assert noisy.min() >= 0 and noisy.max() <= 1


def test_scenes_are_read_while_they_are_rendered(dataset: Path, tmp_path: Path) -> None:
    records = json.loads((dataset / "scenes" / "CLEVR_train_scenes.json").read_text())["scenes"]
    (tmp_path / "scenes").mkdir()
    (tmp_path / "images").symlink_to(dataset / "images")
    lines = "\n".join(json.dumps(record) for record in records[:3])
    (tmp_path / "scenes" / "train.jsonl").write_text(lines[:-1])  # the third line is not finished
    growing, whole = load_scenes(tmp_path, "train"), load_scenes(dataset, "train", 2)
    assert len(growing.numbers) == 2
    assert np.array_equal(growing.pictures, whole.pictures) and np.array_equal(growing.cells, whole.cells)


def test_a_folder_without_scenes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="CLEVR data set"):
        train_percept.train(TrainOptions(dataset=tmp_path, out=tmp_path / "out", device="cpu"))
    with pytest.raises(InputError, match="device 'tpu'"):
        train_percept.train(TrainOptions(dataset=tmp_path, out=tmp_path / "out", device="tpu"))


def test_wilson_interval_and_question_types() -> None:
    low, high = Share(8, 10).interval()
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)  # Wilson (1927), the worked textbook case
    assert Share(0, 0).interval() == (0.0, 1.0)
    assert question_type(chain("scene", "count")) == "count"
    assert question_type(chain("scene", "unique", "query_size")) == "query_size"


@pytest.mark.parametrize(("has_bfloat16", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_a_processor_that_only_emulates_bfloat16_computes_in_float32(
    has_bfloat16: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: has_bfloat16)
    layer = torch.nn.Linear(2, 2)
    with half_precision("cpu"):
        assert layer(torch.zeros(1, 2)).dtype == dtype
    assert layer.weight.dtype == torch.float32
