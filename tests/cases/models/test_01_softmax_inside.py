"""A module or an ONNX file that ends with a softmax, where logits are expected, is refused with what to change.

Softmaxed twice, the network's best answer tops out at .475, and a search for confident mistakes finds none.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.references.onnx_files import mean_colors
from tests.references.user_modules import user_folder
from tests.running.command_line import trex

MODELS = """
class Soft(Net):
    def forward(self, p):
        return super().forward(p).softmax(-1)

class Once(Net):
    labels = ("no", "yes")

    def forward(self, p):  # of a blank picture 0 and 1, as probabilities are
        amount = p.mean((1, 2, 3)) * 9
        return torch.stack([amount, 1 + amount], dim=1)

class Negative(Once):
    def forward(self, p):  # of every picture with the sum 1, and not at least 0
        amount = p.mean((1, 2, 3)) * 9
        return torch.stack([1 + amount, -amount], dim=1)

def softmaxed(question): return Soft()
def plain(question): return Net()
def once(question): return Once()
def negative(question): return Negative()
def half(question): return Half()
def percent(question): return Percent()

class Half(Net):
    def forward(self, p):
        return super().forward(p).bfloat16().softmax(-1)

class Percent(Net):
    def forward(self, p):
        return 100 * super().forward(p).softmax(-1)
"""


@pytest.mark.parametrize("name", ["softmaxed", "half", "percent"])
def test_a_module_with_softmax_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = user_folder(tmp_path, monkeypatch, MODELS)
    done = trex("check", "q.toml", "--model", f"{module}:{name}")
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert "looks like probabilities, not logits" in done.stderr
    assert "leave the softmax out of the module" in done.stderr


@pytest.mark.parametrize("name", ["plain", "once", "negative"])
def test_logits_are_accepted_even_if_one_row_looks_like_probabilities(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = user_folder(tmp_path, monkeypatch, MODELS)
    answer = "2" if name == "plain" else "yes"
    question = "How many red things are there?" if name == "plain" else "Are there any cubes?"
    sets = ["--set", f"answer={answer}", "--set", f"question={question}"]
    done = trex("check", "q.toml", "--model", f"{module}:{name}", *sets)
    assert done.exit_code == 0, done.stderr


def test_an_onnx_file_with_softmax_is_refused_and_the_advice_works(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
    query = tmp_path / "q.toml"
    query.write_text('question = "Are there any cubes?"\nanswer = "yes"\n[render]\npreset = "fake"\n')
    card = {"labels": ["no", "yes"]}
    (tmp_path / "m.json").write_text(json.dumps(card))
    for softmax, exit_code in ((False, 0), (True, 2)):
        (tmp_path / "m.onnx").write_bytes(mean_colors(softmax=softmax))
        done = trex("check", query, "--model", f"onnx:{tmp_path / 'm.onnx'}")
        assert done.exit_code == exit_code, done.stderr
    assert (
        "looks like probabilities" in done.stderr
        and f'write "gives": "probabilities" in {tmp_path}' in done.stderr
    )
    (tmp_path / "m.json").write_text(json.dumps({**card, "gives": "probabilities"}))
    assert trex("check", query, "--model", f"onnx:{tmp_path / 'm.onnx'}").exit_code == 0
