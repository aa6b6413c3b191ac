"""A model with a closed list of labels: planted scores are recovered, and planted bugs are not."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.clevr_models.huggingface.conftest import LABELS
from tests.references import tiny_transformers as tiny
from tests.references.tiny_transformers import transformers
from trex.clevr_models.catalog import load_model
from trex.clevr_models.huggingface.answerers import label_answers
from trex.clevr_models.interface.answers import UNPARSED
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.scenes.questions.programs import Step

REDS = Question("How many red things are there?", (Step("scene"), Step("count", (0,))))
SCORES = (0.02, 0.1, 0.3, 0.2, 0.05, 0.01, 0.6, 0.25, 0.15)  # of LABELS, each between 0 and 1
ANSWERS = (
    "0",
    "1",
    "2",
    "yes",
    "no",
    "gray",
    UNPARSED,
)  # what the labels spell, in the order of a model's answers
EXACT = 1e-4
Pictures = NDArray[np.float32]


def merged(shares: list[float]) -> list[float]:
    """By hand: "two" and "2" are one answer; "net" and "red and blue" are none."""
    zero, value, two, digit, yes, no, grey, net, both = shares
    return [zero, value, two + digit, yes, no, grey, net + both]


def planted(folder: Path, is_one_label: bool) -> Path:
    """ViLT whose scores are SCORES whatever it sees: sigmoids, or in proportion to a softmax."""
    options = {"problem_type": "single_label_classification"} if is_one_label else {}
    model, processor = tiny.vilt(LABELS, **options)
    logits = [math.log(s) if is_one_label else math.log(s / (1 - s)) for s in SCORES]
    with torch.no_grad():
        model.classifier[-1].weight.zero_()
        model.classifier[-1].bias.copy_(torch.tensor(logits))
    return tiny.save(folder, model, processor)


@pytest.mark.parametrize("is_one_label", [False, True], ids=["a sigmoid each", "softmax"])
def test_planted_scores_are_recovered(is_one_label: bool, tmp_path: Path, pictures: Pictures) -> None:
    bound = load_model(f"hf:{planted(tmp_path / 'model', is_one_label)}").bind(REDS)
    assert bound.labels == ANSWERS
    found = np.exp(bound.log_probs(pictures[:1])[0])
    truth = np.array(merged([score / sum(SCORES) for score in SCORES]))
    assert np.abs(found - truth).max() < EXACT
    # The planted bugs: the other normalization, labels left out before normalizing, one spelling for each answer.
    logits = [math.log(s) if is_one_label else math.log(s / (1 - s)) for s in SCORES]
    other = [1 / (1 + math.exp(-x)) if is_one_label else math.exp(x) for x in logits]
    assert np.abs(np.array(merged([x / sum(other) for x in other])) - truth).max() > EXACT
    known = sum(SCORES[:-2])
    assert np.abs(np.array(merged([s / known for s in SCORES])) - truth)[:-1].max() > EXACT
    single = merged(
        [s / sum(SCORES) if label != "two" else 0.0 for s, label in zip(SCORES, LABELS, strict=True)]
    )
    assert np.abs(np.array(single) - truth).max() > EXACT


def test_scores_depend_on_picture_and_question_and_on_no_other_picture(
    saved: Callable[[str], Path], pictures: Pictures
) -> None:
    model = load_model(f"hf:{saved('vilt')}")
    rows = model.bind(REDS).log_probs(pictures)
    np.testing.assert_array_equal(rows[2:], model.bind(REDS).log_probs(pictures[2:]))
    assert np.abs(rows[0] - rows[1]).max() > 1e-3
    state = torch.random.get_rng_state()  # ViLT draws the order of its patches
    model.bind(REDS).log_probs(pictures)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert (
        np.abs(rows - model.bind(Question("Is there a cube?", REDS.program)).log_probs(pictures)).max() > 1e-3
    )
    other = load_model(f"hf:{saved('vilt')}", options=ModelOptions(prompt="{question} yes or no ?"))
    assert np.abs(rows - other.bind(REDS).log_probs(pictures)).max() > 1e-3


def test_scores_are_those_that_transformers_gives(saved: Callable[[str], Path], pictures: Pictures) -> None:
    import transformers
    from PIL import Image

    folder = saved("vilt")
    model = transformers.ViltForQuestionAnswering.from_pretrained(folder).eval()
    processor = transformers.ViltProcessor.from_pretrained(folder)
    image = Image.fromarray(np.rint(pictures[0] * 255).astype(np.uint8))
    with torch.inference_mode():
        scores = model(**processor(image, REDS.text, return_tensors="pt")).logits[0].double().sigmoid()
    found = np.exp(load_model(f"hf:{folder}").bind(REDS).log_probs(pictures[:1])[0])
    np.testing.assert_allclose(found, merged((scores / scores.sum()).tolist()), atol=EXACT)


def test_a_question_that_is_longer_than_the_model_reads_is_refused(
    saved: Callable[[str], Path], pictures: Pictures
) -> None:
    """Planted bug: the end of a long question was cut off, so that two questions got the same answer."""
    model = load_model(f"hf:{saved('vilt')}")
    most = transformers.AutoConfig.from_pretrained(saved("vilt")).max_position_embeddings
    longest = "red " * (most - 2)  # and a token at each end
    rows = [
        model.bind(Question(text, REDS.program)).log_probs(pictures[:1])
        for text in (longest + " ", longest[:-4] + "yes")
    ]
    assert not np.array_equal(*rows)
    for _ in range(2):  # also before the model was probed
        with pytest.raises(InputError, match=rf"has {most + 1} tokens, and this model reads {most} at most"):
            model.bind(Question(longest + "yes", REDS.program))
        model = load_model(f"hf:{saved('vilt')}")


def test_labels_are_read_as_answers_are() -> None:
    assert label_answers({0: "Yes", 1: "two", 2: "boxes", 3: "nothing", 4: "shiny"}) == (
        "yes", "2", UNPARSED, UNPARSED, "metal",
    )  # fmt: skip
    with pytest.raises(InputError, match="skips numbers"):
        label_answers({0: "yes", 2: "no"})
    with pytest.raises(InputError, match="none of the model's 2 labels"):
        label_answers({0: "cat", 1: "dog"})
