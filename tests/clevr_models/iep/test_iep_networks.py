"""The networks of the released CLEVR models: tensors by name and shape, and what they compute, layer by layer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.references.iep_reference import (
    ATTENTION_KWARGS,
    BASELINE_KWARGS,
    CNN_KWARGS,
    ENGINE_KWARGS,
    GENERATOR_KWARGS,
    Reading,
    baseline_logits,
    baseline_shapes,
    engine_logits,
    engine_shapes,
    generated,
    generator_shapes,
    random_state,
)
from trex.clevr_models.iep.checkpoint import build, fill
from trex.clevr_models.iep.sizes import (
    Baseline,
    BaselineSizes,
    EngineSizes,
    GeneratorSizes,
    Sizes,
    read_sizes,
)
from trex.clevr_models.iep.vocabulary import IepVocabulary, calls_of
from trex.foundation.errors import InputError

pytestmark = pytest.mark.usefixtures("one_thread")

VOCABULARY = IepVocabulary()
SMALL = ENGINE_KWARGS | {
    "feature_dim": (12, 6, 6), "module_dim": 8, "classifier_proj_dim": 10, "classifier_fc_layers": (16,),
}  # fmt: skip
PROGRAM = "less_than count filter_color[red] scene count relate[left] unique filter_shape[cube] scene"
KWARGS: dict[Baseline, dict[str, object]] = {
    "LSTM": BASELINE_KWARGS,
    "CNN+LSTM": CNN_KWARGS,
    "CNN+LSTM+SA": ATTENTION_KWARGS,
}


def filled(sizes: Sizes, state: dict[str, Tensor]) -> nn.Module:
    from pathlib import Path

    return fill(lambda: build(sizes, VOCABULARY), state, Path("made-up.pt"))


def shapes_of(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        return {name: tuple(tensor.shape) for name, tensor in build(sizes, VOCABULARY).state_dict().items()}


def parameters(shapes: dict[str, tuple[int, ...]]) -> int:
    return sum(int(np.prod(shape)) for shape in shapes.values())


def test_the_program_generator_has_the_published_tensors() -> None:
    found = shapes_of(read_sizes(GeneratorSizes, GENERATOR_KWARGS, "x"))
    assert found == generator_shapes() == shapes_of(GeneratorSizes())
    assert (len(found), parameters(found)) == (20, 2_510_008)


def test_the_execution_engine_has_the_published_tensors() -> None:
    found = shapes_of(read_sizes(EngineSizes, ENGINE_KWARGS, "x"))
    assert found == engine_shapes() == shapes_of(EngineSizes())
    assert (len(found), parameters(found)) == (204, 40_400_800)


@pytest.mark.parametrize("kind", KWARGS)
def test_the_baselines_have_the_published_tensors(kind: Baseline) -> None:
    assert shapes_of(read_sizes(BaselineSizes, KWARGS[kind], "x", kind)) == baseline_shapes(kind)


def test_batch_norm_shifts_the_numbers_of_the_layers() -> None:
    settings = SMALL | {"stem_batchnorm": 1, "module_batchnorm": 1, "classifier_batchnorm": 1}
    found = shapes_of(read_sizes(EngineSizes, settings, "x"))
    weights = {name.removesuffix(".weight") for name in found if name.endswith(".weight")}
    assert {name for name in weights if name.startswith("stem.")} == {f"stem.{n}" for n in (0, 1, 3, 4)}
    numbers = {name for name in weights if name.startswith("classifier.")}
    assert {f"classifier.{n}" for n in (0, 1, 5, 6, 8)} == numbers
    assert {"scene.bn1", "scene.bn2", "union.res_block.bn1"} < weights
    assert [found[f"classifier.{n}.weight"][0] for n in (5, 6, 8)] == [16, 16, 32]


def test_a_multilayer_baseline_with_dropout_and_norm_is_numbered_as_published() -> None:
    """[dropout][norm], then per hidden layer linear, norm, dropout, ReLU; a last linear."""
    settings = BASELINE_KWARGS | {"fc_dims": (20, 10), "fc_use_batchnorm": True, "fc_dropout": 0.5}
    found = shapes_of(read_sizes(BaselineSizes, settings, "x", "LSTM"))
    linear = [name for name, shape in found.items() if name.startswith("classifier") and len(shape) == 2]
    assert linear == [f"classifier.{n}.weight" for n in (2, 6, 10)]


@pytest.fixture(scope="module")
def engine() -> tuple[nn.Module, dict[str, Tensor], Tensor]:
    """A small engine, its weights, and features under which order and layers matter."""
    state = random_state(engine_shapes(SMALL), seed=3)
    features = torch.randn((3, 12, 6, 6), generator=torch.Generator().manual_seed(4))
    return filled(read_sizes(EngineSizes, SMALL, "x"), state), state, features


def is_close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-4, atol=1e-4 * float(b.abs().max()))


@torch.no_grad()
def test_the_engine_computes_what_the_facts_say(engine: tuple[nn.Module, dict[str, Tensor], Tensor]) -> None:
    network, state, features = engine
    for program in (
        PROGRAM,
        "count scene",
        "exist intersect relate[left] unique scene same_size unique scene",
    ):
        found = network(features, calls_of(program.split()))
        assert found.shape == (3, 32) and is_close(found, engine_logits(state, features, program))


@torch.no_grad()
@pytest.mark.parametrize(
    "bug",
    [Reading(first_argument_first=False), Reading(relu_after_shortcut=False)],
    ids=["arguments", "relu"],
)
def test_planted_readings_of_the_engine_are_caught(
    engine: tuple[nn.Module, dict[str, Tensor], Tensor], bug: Reading
) -> None:
    network, state, features = engine
    found = network(features, calls_of(PROGRAM.split()))
    assert not is_close(found, engine_logits(state, features, PROGRAM, bug))


@torch.no_grad()
def test_pictures_that_share_a_program_are_answered_each_by_itself(
    engine: tuple[nn.Module, dict[str, Tensor], Tensor],
) -> None:
    network, _, features = engine
    calls = calls_of(PROGRAM.split())
    together = network(features, calls)
    alone = torch.cat([network(features[i : i + 1], calls) for i in range(3)])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-4)
    assert not torch.allclose(together[0], together[1])


def test_generated_programs_are_those_of_lstms_written_out() -> None:
    state = random_state(generator_shapes(20, 16), seed=5, scale=3.0)
    state = {name: tensor * 0 if "bias" in name else tensor for name, tensor in state.items()}
    state["decoder_rnn.weight_ih_l0"][:, :16] *= 3  # the question matters
    settings = GENERATOR_KWARGS | {"wordvec_dim": 20, "hidden_dim": 16}
    network = filled(read_sizes(GeneratorSizes, settings, "x"), state)
    rng = np.random.default_rng(6)
    questions = [[1, *rng.integers(4, 93, 6 + i).tolist(), 2] for i in range(12)]
    found = [network.decode(question) for question in questions]  # type: ignore[operator]
    assert found == [generated(state, question) for question in questions]
    assert len(set(found)) > 8 and all(
        len(row) == 30 or (row[-1] == 2 and 2 not in row[:-1]) for row in found
    )
    for bug in (Reading(encoded_first=False), Reading(zero_states=False)):
        assert found != [generated(state, question, bug) for question in questions]


def test_decoding_stops_after_the_end() -> None:
    state = random_state(generator_shapes(20, 16))
    state["decoder_linear.weight"] *= 0
    state["decoder_linear.bias"][2] = 100.0
    settings = GENERATOR_KWARGS | {"wordvec_dim": 20, "hidden_dim": 16}
    assert filled(read_sizes(GeneratorSizes, settings, "x"), state).decode([1, 9, 2]) == (2,)  # type: ignore[operator]
    state["decoder_linear.bias"][2] = -100.0
    assert len(filled(read_sizes(GeneratorSizes, settings, "x"), state).decode([1, 9, 2])) == 30  # type: ignore[operator]


@torch.no_grad()
@pytest.mark.parametrize("kind", KWARGS)
def test_the_baselines_compute_what_the_facts_say(kind: Baseline) -> None:
    state = random_state(baseline_shapes(kind), seed=8)
    sizes = read_sizes(BaselineSizes, KWARGS[kind], "x", kind)
    network = filled(sizes, state)
    features = torch.randn((2, 1024, 14, 14), generator=torch.Generator().manual_seed(9))
    question = VOCABULARY.encode_question("How many cubes are there?")
    found = network(features, question)
    for row in range(2):
        assert is_close(found[row], baseline_logits(kind, state, features[row : row + 1], question))
    for bug in {
        "CNN+LSTM": [Reading(question_first=False)],
        "CNN+LSTM+SA": [Reading(adds_attended=False)],
    }.get(kind, []):
        assert not is_close(found[0], baseline_logits(kind, state, features[:1], question, bug))
    assert torch.equal(found[0], found[1]) == (kind == "LSTM")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"module_residual": False}, "module_residual is False; it must be True, the only supported value"),
        ({"classifier_downsample": "avgpool2"}, "'avgpool2'; it must be 'maxpool2'"),
        ({"classifier_dropout": 0.5}, "classifier_dropout is 0.5"),
        ({"module_dim": 0}, "greater than or equal to 1"),
        ({"module_dim": 10**12}, "less than or equal to 16384"),
        ({"module_dim": "128"}, "valid integer"),
        ({"feature_dim": (1024, 14)}, r"feature_dim is \(1024, 14\); field required"),
        ({"feature_dim": [[1024]] * 3}, "valid integer"),
        ({"stem_batchnorm": 2}, "valid boolean"),
        ({"classifier_fc_layers": range(3)}, "classifier_fc_layers is range"),
    ],
)
def test_settings_that_are_not_known_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_sizes(EngineSizes, SMALL | change, "engine.pt")


def test_settings_that_are_missing_or_of_another_kind_are_named() -> None:
    with pytest.raises(InputError, match="lack 'module_dim'"):
        read_sizes(EngineSizes, {name: value for name, value in SMALL.items() if name != "module_dim"}, "x")
    with pytest.raises(InputError, match="are a list, not settings"):
        read_sizes(GeneratorSizes, [], "x")
    with pytest.raises(InputError, match="cnn_num_res_blocks is 3"):
        read_sizes(BaselineSizes, CNN_KWARGS | {"cnn_num_res_blocks": 3}, "x", "CNN+LSTM")
