"""Checkpoints in the released layout, made here: they load, run and convert; others are refused with a reason."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.references.iep_reference import (
    ATTENTION_KWARGS,
    BASELINE_KWARGS,
    CNN_KWARGS,
    ENGINE_KWARGS,
    GENERATOR_KWARGS,
    VOCABULARY,
    as_bytes,
    baseline_shapes,
    checkpoint,
    engine_logits,
    engine_shapes,
    generated,
    generator_shapes,
    random_state,
    save_as_2017,
)
from trex.artifacts.card import card_path, sha256_of
from trex.artifacts.weights import write_safetensors
from trex.clevr_models.iep.checkpoint import BASELINE, ENGINE, GENERATOR, Part, read_parts, write_part
from trex.clevr_models.iep.model import put_together
from trex.clevr_models.iep.vocabulary import calls_of
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.scenes.questions.programs import Step

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = ENGINE_KWARGS | {
    "feature_dim": (12, 6, 6), "module_dim": 8, "classifier_proj_dim": 10, "classifier_fc_layers": (16,),
}  # fmt: skip
CUBES = Question(
    "How many cubes are there?",
    (Step("scene"), Step("filter_shape", (0,), ("cube",)), Step("count", (1,))),
)
PROGRAM = (
    "equal_color query_color unique filter_shape[sphere] scene query_color unique relate[left] unique scene"
)


def small_engine(**extra: object) -> dict[str, object]:
    return checkpoint(ENGINE, SMALL, random_state(engine_shapes(SMALL), seed=3), **extra)


def small_generator(**extra: object) -> dict[str, object]:
    settings = GENERATOR_KWARGS | {"wordvec_dim": 12, "hidden_dim": 8}
    return checkpoint(GENERATOR, settings, random_state(generator_shapes(12, 8)), **extra)


def saved(tmp_path: Path, found: object, name: str = "model.pt") -> Path:
    path = tmp_path / name
    path.write_bytes(as_bytes(found))
    return path


def only(path: Path) -> Part:
    (part,) = read_parts(path)
    return part


@pytest.mark.slow
@torch.no_grad()
def test_a_released_execution_engine_loads_runs_and_converts(tmp_path: Path) -> None:
    path = tmp_path / "execution_engine_18k.pt"
    state = random_state(engine_shapes())
    save_as_2017(checkpoint(ENGINE, ENGINE_KWARGS, state), path)
    part = only(path)
    assert len(part.network.state_dict()) == 204
    assert sum(p.numel() for p in part.network.parameters()) == 40_400_800
    features = torch.randn((1, 1024, 14, 14), generator=torch.Generator().manual_seed(1))
    before = part.network(features, calls_of(PROGRAM.split()))
    torch.testing.assert_close(before, engine_logits(state, features, PROGRAM), rtol=1e-4, atol=1e-3)
    again = only(convert(part, tmp_path))
    assert torch.equal(again.network(features, calls_of(PROGRAM.split())), before)
    assert (again.kind, again.sizes, again.vocabulary) == (ENGINE, part.sizes, VOCABULARY)
    card = json.loads((tmp_path / "converted.json").read_text())
    assert card["source_sha256"] == sha256_of(path.read_bytes()) and card["source"] == path.name
    assert card["training"] == {"model_t": 20000, "best_val_acc": 0.95} and "CC BY-NC" in card["license"]
    assert again.card == part.card  # converted again, the source stays


def convert(part: Part, folder: Path) -> Path:
    path = folder / "converted.safetensors"
    write_part(path, part)
    return path


def test_a_released_program_generator_loads_runs_and_converts(tmp_path: Path) -> None:
    path = tmp_path / "program_generator_18k.pt"
    state = random_state(generator_shapes(), scale=3.0)
    save_as_2017(checkpoint(GENERATOR, GENERATOR_KWARGS, state), path)
    part = only(path)
    assert len(part.network.state_dict()) == 20
    assert sum(p.numel() for p in part.network.parameters()) == 2_510_008
    question = VOCABULARY.encode_question("Does the small sphere have the same color as the cube?")
    before = part.network.decode(question)  # type: ignore[operator]
    assert before == generated(state, question)
    assert only(convert(part, tmp_path)).network.decode(question) == before  # type: ignore[operator]


@pytest.mark.slow
@torch.no_grad()
@pytest.mark.parametrize(
    ("kind", "settings"),
    [("LSTM", BASELINE_KWARGS), ("CNN+LSTM", CNN_KWARGS), ("CNN+LSTM+SA", ATTENTION_KWARGS)],
)
def test_a_released_baseline_loads_runs_and_converts(
    kind: str, settings: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "baseline.pt"
    save_as_2017(
        checkpoint(BASELINE, settings, random_state(baseline_shapes(kind)), baseline_type=kind), path
    )
    part = only(path)
    features = torch.randn((2, 1024, 14, 14), generator=torch.Generator().manual_seed(1))
    before = part.network(features, (1, 9, 57, 33, 2))
    again = only(convert(part, tmp_path))
    assert again.sizes == part.sizes and torch.equal(again.network(features, (1, 9, 57, 33, 2)), before)


@pytest.mark.parametrize("is_legacy", [True, False])
def test_today_s_containers_are_read_too(is_legacy: bool, tmp_path: Path) -> None:
    path = tmp_path / "engine.pt"
    path.write_bytes(as_bytes(small_engine(), is_legacy))
    assert only(path).kind == ENGINE


def test_the_made_up_container_is_the_old_one(tmp_path: Path) -> None:
    """No zip, CUDA tensors, rebuilt by the function of PyTorch 0.1."""
    path = tmp_path / "old.pt"
    save_as_2017(small_engine(), path)
    data = path.read_bytes()
    assert not data.startswith(b"PK") and b"cuda:0" in data and b"torch.cuda\nFloatStorage" in data
    assert b"_rebuild_tensor\n" in data and b"_rebuild_tensor_v2" not in data
    assert torch.equal(
        *(
            p.network.state_dict()["stem.0.weight"]
            for p in (only(path), only(saved(tmp_path, small_engine())))
        )
    )


class Features(nn.Module):
    """Stands for ResNet-101: some features of the right shape that depend on the picture."""

    def forward(self, images: Tensor) -> Tensor:
        small = nn.functional.adaptive_avg_pool2d(images, (6, 6))
        return torch.cat([small, small**2, small.roll(1, 2), small.roll(1, 3)], dim=1)


def test_parts_put_together_answer_as_a_clevr_model(tmp_path: Path) -> None:
    engine, generator = only(saved(tmp_path, small_engine())), only(saved(tmp_path, small_generator()))
    images = torch.rand((3, 40, 60, 3), generator=torch.Generator().manual_seed(2)).numpy()
    alone = put_together("iep:engine", [engine], Features())
    assert alone.program(CUBES) == ("count", "filter_shape[cube]", "scene")
    bound = alone.bind(CUBES)
    rows = bound.log_probs(images)
    assert bound.labels == (*ANSWERS, "<NULL>", "<START>", "<END>", "<UNK>") and rows.shape == (3, 32)
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2)
    with torch.no_grad():
        logits = engine_logits(
            engine.network.state_dict(), Features()(pixels), "count filter_shape[cube] scene"
        )
    expected = logits.double().log_softmax(dim=1)
    for label in ("3", "10", "yes", "cube", "<UNK>"):
        wanted = expected[:, VOCABULARY.answers.index(label)]
        torch.testing.assert_close(
            torch.from_numpy(rows[:, bound.labels.index(label)]), wanted, rtol=1e-4, atol=1e-4
        )
    both = put_together("iep:both", [engine, generator], Features())
    written = both.program(CUBES)
    assert [VOCABULARY.programs.index(t) for t in written] == list(
        generated(generator.network.state_dict(), VOCABULARY.encode_question(CUBES.text))
    )
    assert both.bind(CUBES).log_probs(images).shape == (3, 32)
    with pytest.raises(InputError, match="'cones', which is not in the vocabulary"):
        both.bind(Question("How many cones are there?", CUBES.program))


def test_another_program_is_another_model(tmp_path: Path) -> None:
    from trex.worlds.fingerprint import model_fingerprint

    model = put_together("iep:engine", [only(saved(tmp_path, small_engine()))], Features())
    everything = Question("How many things are there?", (CUBES.program[0], Step("count", (0,))))
    prints = {model_fingerprint(model.name, model.bind(question)) for question in (CUBES, everything, CUBES)}
    assert len(prints) == 2


def test_the_lstm_alone_needs_no_features(tmp_path: Path) -> None:
    found = checkpoint(BASELINE, BASELINE_KWARGS, random_state(baseline_shapes("LSTM")), baseline_type="LSTM")
    model = put_together("iep:lstm", [only(saved(tmp_path, found))], nn.Identity())
    rows = model.bind(CUBES).log_probs(torch.zeros(2, 40, 60, 3).numpy())
    assert rows.shape == (2, 32) and (rows[0] == rows[1]).all()


def test_parts_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    engine, generator = only(saved(tmp_path, small_engine())), only(saved(tmp_path, small_generator()))
    for parts, message in (
        ([generator], "consists of program_generator; give a program generator with an execution engine"),
        ([engine, engine], "two parts of the same kind"),
        ([], "consists of nothing"),
    ):
        with pytest.raises(InputError, match=message):
            put_together("iep:x", parts, Features())
    from trex.clevr_models.iep.resnet_features import ResNet

    with torch.device("meta"):
        resnet = ResNet()
    with pytest.raises(
        InputError, match=r"needs features \(12, 6, 6\); those of ResNet-101's .* \(1024, 14, 14\)"
    ):
        put_together("iep:x", [engine], resnet)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(
    "planted",
    [
        lambda item: item.to("meta"),
        lambda item: item.to_sparse(),
        lambda item: item.to(torch.complex64),
        lambda item: torch.nested.nested_tensor([item[0], item[1, :3]]),
    ],
    ids=["meta", "sparse", "complex", "nested"],
)
def test_tensors_without_a_number_at_each_place_are_named(
    planted: Callable[[Tensor], Tensor], tmp_path: Path
) -> None:
    """Planted bug: torch's own errors ended the command, and imaginary parts were dropped."""
    found = small_engine()
    state = dict(found["execution_engine_state"])  # type: ignore[call-overload]
    name = next(key for key, value in state.items() if value.ndim == 2)
    state[name] = planted(state[name])
    path = tmp_path / "odd.pt"
    torch.save({**found, "execution_engine_state": state}, path)
    with pytest.raises(InputError, match=rf"{name} is no dense tensor of real numbers"):
        read_parts(path)


def without(state: object, name: str) -> dict[str, Tensor]:
    assert isinstance(state, dict)
    return {key: value for key, value in state.items() if key != name}


def test_files_of_other_models_are_refused_with_the_reason(tmp_path: Path) -> None:
    engine, generator = small_engine(), small_generator()
    state = engine["execution_engine_state"]
    assert isinstance(state, OrderedDict)
    vocab = VOCABULARY.as_json()
    renumbered = {
        **vocab,
        "answer_token_to_idx": dict(zip(vocab["answer_token_to_idx"], [*range(30), 31, 30], strict=True)),
    }
    huge = SMALL | {"module_dim": 16_384, "classifier_fc_layers": (16_384,) * 8}
    expanded = {name: torch.zeros(1).expand(shape) for name, shape in engine_shapes(SMALL).items()}
    for found, message in (
        ([1, 2], "holds a list, not a checkpoint"),
        ({"weight": torch.zeros(2)}, "is not a released CLEVR model: it has none of program_generator_state"),
        ({**engine, "execution_engine_state": without(state, "scene.conv1.bias")}, "missing scene.conv1.bias"),
        ({**engine, "execution_engine_state": {**state, "extra": torch.zeros(1)}}, "left over extra"),
        ({**engine, "execution_engine_state": {**state, "stem.0.weight": torch.zeros(8, 12, 1, 1)}}, "0.weight is"),
        ({**engine, "execution_engine_state": {**state, "stem.0.bias": torch.full((8,), torch.nan)}}, "not finite"),
        ({**engine, "execution_engine_state": {**state, "stem.0.bias": [0.0] * 8}}, "not a mapping of names"),
        ({**engine, "execution_engine_state": 5}, "not a mapping of names to tensors"),
        ({**engine, "execution_engine_kwargs": None}, "are a NoneType, not settings"),
        ({**engine, "execution_engine_kwargs": ENGINE_KWARGS}, "are not of ExecutionEngine"),
        ({**engine, "execution_engine_kwargs": huge}, "parameters; the limit is 268435456"),
        ({**engine, "vocab": renumbered}, "two different vocabularies"),
        ({**engine, "vocab": {**vocab, "program_token_to_idx": {"<NULL>": 0}}}, "must number its tokens"),
        ({**generator, "vocab": None}, "contains no vocabulary"),
        (small_generator(vocab={**vocab, "question_token_to_idx": {
            t: n for t, n in vocab["question_token_to_idx"].items() if n < 92
        }}), "has 93 words and 44 program tokens, its vocabulary 92 and 44"),
        (checkpoint(BASELINE, BASELINE_KWARGS, {}, baseline_type="GAN"), "baseline_type 'GAN' is not known"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            read_parts(saved(tmp_path, found))
    assert (
        only(saved(tmp_path, {**engine, "execution_engine_state": expanded})).kind == ENGINE
    )  # shapes bound memory


def test_a_converted_file_that_was_changed_or_lacks_its_card_is_refused(tmp_path: Path) -> None:
    path = convert(only(saved(tmp_path, small_engine())), tmp_path)
    card = json.loads(card_path(path).read_text())
    data = path.read_bytes()
    path.write_bytes(data[:-4] + b"abcd")
    with pytest.raises(InputError, match="changed or cut: its sha256 is"):
        read_parts(path)
    path.write_bytes(data)
    for change, message in (
        ({"part": "relation network"}, "names no part of a released CLEVR model"),
        ({"vocab": None}, "contains no vocabulary"),
        ({"execution_engine_kwargs": None}, "are a NoneType"),
    ):
        card_path(path).write_text(json.dumps({**card, **change}))
        with pytest.raises(InputError, match=message):
            read_parts(path)
    write_safetensors(path, {"weight": torch.zeros(1)}, {"name": "another"})
    with pytest.raises(InputError, match="names no part"):
        read_parts(path)
    with pytest.raises(InputError, match="is missing"):
        read_parts(tmp_path / "nothing.pt")
