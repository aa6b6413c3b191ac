"""Models of transformers: labels, marks, fonts, and replies with 16 bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError

pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")
from tests.references import tiny_transformers as tiny

ASKED = Question("Are there any cubes?", ())


def test_one_label_of_a_model_of_transformers_is_refused(tmp_path: Path) -> None:
    """transformers' id2label: two labels that are the same answer leave nothing else to say."""
    folder = tiny.save(tmp_path / "vilt", *tiny.vilt(("yes", "Yes.")))
    with pytest.raises(InputError, match="has one answer, 'yes'"):
        load_model(f"hf:{folder}").bind(ASKED)


@pytest.mark.parametrize(
    ("is_vqa", "message"),
    [(False, "a question would begin its reply"), (True, r"run hf download (ybelkada/fonts Arial\.TTF)")],
)
def test_pix2struct_says_what_it_lacks_before_its_first_picture(
    is_vqa: bool, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface/transformers: Pix2Struct draws the question with a font that it downloads."""
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tiny.save(tmp_path / "m", *tiny.pix2struct(is_vqa=is_vqa))
    with pytest.raises(InputError, match=message):
        load_model(f"hf:{folder}")


def test_florence_gets_one_mark_for_its_picture(tmp_path: Path) -> None:
    """Its processor writes the mark; another one is a second picture, which the model has no features for."""
    found: Any = load_model(f"hf:{tiny.save(tmp_path / 'm', *tiny.florence2())}").bind(ASKED)
    inputs = found.answerer.inputs(np.random.default_rng(2).random((80, 120, 3), np.float32), ASKED)
    marks = int((inputs["input_ids"] == found.answerer.replies.model.config.image_token_id).sum())
    assert marks == found.answerer.processor.num_image_tokens == 17
    assert found.log_probs(np.random.default_rng(2).random((3, 80, 120, 3), np.float32)).shape == (3, 29)


def test_replies_with_16_bits_may_add_up_to_a_little_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token's probability differs a little from row to row there; that is no fault of the logits."""
    from trex.clevr_models.huggingface import candidates as answer_masses
    from trex.clevr_models.huggingface.candidates import make_candidates

    tokenizer = tiny.byte_tokenizer()
    candidates = make_candidates(tokenizer, frozenset([tokenizer.eos_token_id]))
    n = len(candidates.every)
    likelihoods = torch.full((n,), 1.01 / n, dtype=torch.float64).log()
    monkeypatch.setattr(answer_masses, "candidate_log_likelihoods", lambda *_: likelihoods)
    assert answer_masses.answer_row(candidates, [], 0.03).sum() == pytest.approx(1.0)
    with pytest.raises(ModelError, match=r"add up to 1\.01; that is more than rounding"):
        answer_masses.answer_row(candidates, [])
    likelihoods[0] = torch.nan
    with pytest.raises(ModelError, match="are not finite"):
        answer_masses.answer_row(candidates, [], 0.03)
