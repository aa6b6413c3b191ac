"""Probabilities computed with 16 bits, or cut to two decimals, are probabilities, in every row."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trex.clevr_models.adapters.callable_model import AdaptedModel, checked
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import ModelError


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("answers", [2, 4, 28])
@pytest.mark.parametrize("scale", [1, 3])
def test_a_softmax_of_16_bits_is_accepted_and_normalized(
    dtype: torch.dtype, answers: int, scale: int
) -> None:
    torch.manual_seed(0)
    logits = (torch.randn(2000, answers) * scale).to(dtype)
    shifted = logits - logits.amax(-1, keepdim=True)
    by_hand = shifted.exp() / shifted.exp().sum(-1, keepdim=True)
    for rows in (
        logits.softmax(-1),
        by_hand,
        torch.cat([by_hand[:, 1:], 1 - by_hand[:, 1:].sum(-1, keepdim=True)], 1),
    ):
        found = checked("m", rows.float().numpy(), 2000, [str(i) for i in range(answers)])
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
        assert (found > 0).all()


@pytest.mark.parametrize("row", [[0.5, 0.52], [0.5, 0.48], [-0.02, 1.02], [np.nan, 1.0], [1.5, -0.5]])
def test_what_is_no_rounding_is_refused(row: list[float]) -> None:
    with pytest.raises(ModelError, match="not probabilities"):
        checked("m", np.array([row]), 1, ["no", "yes"])


def test_tensors_are_taken_as_they_come() -> None:
    def answerer(pictures: np.typing.NDArray[np.float32], question: Question) -> torch.Tensor:
        z = torch.from_numpy(pictures.mean(axis=(1, 2))[:, :2]).requires_grad_()
        return z.bfloat16().softmax(-1)

    answerer.labels = ("no", "yes")  # type: ignore[attr-defined]
    bound = AdaptedModel("m", answerer).bind(Question("Is it?", ()))
    given = np.random.default_rng(1).random((3, 20, 30, 3), np.float32)
    np.testing.assert_allclose(np.exp(bound.log_probs(given)).sum(axis=1), 1)


def test_a_service_with_16_bits_or_two_decimals_is_accepted() -> None:
    """InternLM/lmdeploy#1239: a bfloat16 softmax does not add up to 1."""
    for row in ([0.33, 0.33, 0.33], [0.50390625, 0.25, 0.25]):
        found = checked("http://host/vqa", np.array([row]), 1, ["0", "1", "2"])
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
