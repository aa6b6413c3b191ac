"""A planted answerer behind each adapter that passes probabilities on: recovered within the error that is stated.

Those that have to be made from tokens, samples, replies and labels are planted in `chat/test_answer_masses.py`,
`chat/test_chat_server.py`, `huggingface/test_replies.py` and `huggingface/test_labels.py`.
"""

from __future__ import annotations

import base64
import io
import json
import textwrap
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.references.onnx_files import mean_colors
from tests.serving.http_server import Quiet, listening
from trex.clevr_models.adapters.http_model import TOKEN
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.scenes.questions.programs import Step

REDS = Question("Is it red or green?", (Step("scene"),))
LABELS = ("red", "green")
EXACT = {
    "torch": 1e-5,
    "ask": 1e-9,
    "onnx": 1e-5,
    "http": 1e-6,
}  # 32 bits; 64 bits; 32 bits; 8 bits a channel
Floats = NDArray[np.float64]

MODULES = """
    import numpy as np
    import torch


    class Planted(torch.nn.Module):
        labels = ("red", "green")

        def forward(self, pictures):
            return 4 * pictures.mean(dim=(2, 3))[:, :2]


    class Normalized(Planted):
        def forward(self, pictures):
            return super().forward(pictures).softmax(dim=1)


    class Cooled(Planted):
        def forward(self, pictures):
            return super().forward(pictures) / 4


    def module(question):
        return Planted()


    def cooled(question):
        return Cooled()


    def normalized(question):
        return Normalized()


    def ask(pictures, question):
        scores = np.exp(4 * pictures.astype(np.float64).mean(axis=(1, 2))[:, :2])
        return scores / scores.sum(axis=1, keepdims=True)


    def swapped(pictures, question):
        return ask(pictures[..., ::-1], question)


    ask.labels = swapped.labels = ("red", "green")
"""


def pictures() -> NDArray[np.float32]:
    """(4, 20, 30, 3) with 8 bits a channel and a tint each."""
    rng = np.random.default_rng(11)
    tints = np.array([[1, 0.1, 0.4], [0.2, 0.9, 0.3], [0.6, 0.5, 1], [0.9, 0.2, 0.1]])
    return (np.rint(rng.integers(0, 256, (4, 20, 30, 3)) * tints[:, None, None]) / 255).astype(np.float32)


def truth(given: NDArray[np.float32]) -> Floats:
    """P(red), P(green): the softmax of four times the mean red and green, by hand."""
    scores = np.exp(4 * given.astype(np.float64).mean(axis=(1, 2))[:, :2])
    shares: Floats = scores / scores.sum(axis=1, keepdims=True)
    return shares


class Service(Quiet):
    """The planted answerer behind an address; with `/blue` it mistakes the order of the channels."""

    def answer(self) -> None:
        body = json.loads(self.body())
        given = [np.array(Image.open(io.BytesIO(base64.b64decode(png)))) for png in body["pictures"]]
        pixels = np.stack(given).astype(np.float32) / 255
        rows = truth(pixels[..., ::-1] if self.path == "/blue" else pixels)
        self.send(json.dumps({"labels": LABELS, "probabilities": rows.tolist()}).encode())


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], str]]:
    """For each adapter, the spec of the planted answerer and that of one with a planted bug."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "planted_answerers.py").write_text(textwrap.dedent(MODULES))
    for name, weights in (
        ("right", (4, 0, 0, 4, 0, 0)),
        ("wrong", (1, 0, 0, 1, 0, 0)),  # divided by a temperature of 4
    ):
        (folder / f"{name}.onnx").write_bytes(mean_colors(weights=weights))
        (folder / f"{name}.json").write_text(json.dumps({"labels": LABELS, "gives": "logits"}))
    with pytest.MonkeyPatch.context() as patch, listening(Service) as address:
        patch.syspath_prepend(str(folder))
        patch.setenv("no_proxy", "127.0.0.1")
        patch.delenv(TOKEN, raising=False)
        yield {
            ("torch", "right"): "planted_answerers:module",
            ("torch", "wrong"): "planted_answerers:cooled",  # divided by a temperature of 4
            ("ask", "right"): "ask:planted_answerers:ask",
            ("ask", "wrong"): "ask:planted_answerers:swapped",  # blue, green, red
            ("onnx", "right"): f"onnx:{folder / 'right.onnx'}",
            ("onnx", "wrong"): f"onnx:{folder / 'wrong.onnx'}",
            ("http", "right"): f"{address}/right",
            ("http", "wrong"): f"{address}/blue",
        }


def error(spec: str) -> float:
    """The largest error of a probability."""
    bound = load_model(spec).bind(REDS)
    given = pictures()
    assert bound.labels == LABELS
    return float(np.abs(np.exp(bound.log_probs(given)) - truth(given)).max())


@pytest.mark.parametrize("adapter", EXACT)
def test_a_planted_answerer_is_recovered_and_a_planted_bug_is_caught(
    adapter: str, specs: dict[tuple[str, str], str]
) -> None:
    if adapter == "onnx":
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
    assert error(specs[adapter, "right"]) < EXACT[adapter]
    assert error(specs[adapter, "wrong"]) > 0.05


def test_probabilities_where_logits_belong_are_refused(specs: dict[tuple[str, str], str]) -> None:
    with pytest.raises(InputError, match="looks like probabilities, not logits"):
        load_model("planted_answerers:normalized").bind(REDS)


def test_the_planted_answers_differ_from_picture_to_picture() -> None:
    rows = truth(pictures())
    assert rows[:, 0].min() < 0.3 and rows[:, 0].max() > 0.7
