"""What an error says to write is written, and works: every "write X" of the product's errors, and the list is whole."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import trex
from tests.references.onnx_files import mean_colors, with_question
from tests.references.user_modules import user_folder
from tests.running import command_line
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.commands.render import object_range
from trex.farm.queue.sweep import combinations
from trex.foundation.errors import InputError
from trex.scenes.questions.english import parse
from trex.scenes.vocabulary import CLEVR
from trex.search.judging.fail_if import parse_fail_if

ROOT = Path(__file__).resolve().parents[3]
SUBPACKAGES = (
    "clevr_models",
    "trex",
    "scenes",
    "render",
    "inference",
    "mnist_models",
    "artifacts",
    "foundation",
)
ADVICE = re.compile(r"(?:^|; |, or |, and )write ")
IN_COMMAND = re.compile(r"\btrex [a-z]+( [\w-]+)* $")  # the end of a text that a value of the command follows
PATH = re.compile(r"(path|folder|runs?|place|suite|named)( / \w+|\.parent)?$")  # code that gives a path
ASKED: dict[str, Any] = {
    "question": "How many cubes are there?",
    "answer": "1",
    "preset": "fake",
    "model": "fake",
}
MODELS = """
import numpy as np

class Soft(Net):
    def forward(self, p):
        return super().forward(p).softmax(-1)

class Alone(Net):
    def forward(self, p):
        return super().forward(p).squeeze()

def plain(question): return Net()
def soft(question): return Soft()
def alone(question): return Alone()
module = Net()

class Ask:
    labels = ["no", "yes"]

    def __call__(self, pictures, question):
        return np.full((len(pictures), 2), 0.5)

instance = Ask()

def one(picture, question):
    assert picture.ndim == 3
    return np.array([0.5, 0.5])

def each(pictures, question):
    return np.stack([one(picture, question) for picture in pictures])

def raw(pictures, question): return np.tile([3.0, -1.0], (len(pictures), 1))
one.labels = each.labels = raw.labels = ["no", "yes"]
"""


class Place(NamedTuple):
    """A folder of a user's files, with a module of MODELS in it."""

    folder: Path
    module: str

    def bind(self, spec: str, options: ModelOptions | None = None) -> object:
        """The model of a spec, bound to a question; M stands for the module, HERE for the folder."""
        found = load_model(
            spec.replace("M:", f"{self.module}:").replace("HERE", str(self.folder)), options=options
        )
        return found.bind(Question("Are there any cubes?", ()))

    def load(self, spec: str, options: ModelOptions | None = None) -> object:
        """The model of a spec, to which nothing is sent."""
        return load_model(spec.replace("M:", f"{self.module}:"), options=options)

    def onnx(self, data: bytes, card: Mapping[str, object]) -> object:
        """The model in an ONNX file with this card."""
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
        (self.folder / "m.onnx").write_bytes(data)
        (self.folder / "m.json").write_text(json.dumps(card))
        return load_model(f"onnx:{self.folder / 'm.onnx'}").bind(Question("red", ()))

    def moved(self, folder: str, spec: str) -> object:
        """The model of a spec, from another folder."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            return self.bind(spec)


def check(**changes: object) -> object:
    """The check of a query with these keywords."""
    return trex.check(**{**ASKED, **changes})  # type: ignore[arg-type]


def command(*words: object) -> object:
    """The command with these words; InputError if it refuses them."""
    done = command_line.trex(*words)
    if done.exit_code:
        raise InputError(done.stderr)
    return done


def query(place: Place, text: str, *words: str) -> object:
    """`trex check` of a query in a file."""
    (place.folder / "query.toml").write_text(text)
    return command("check", place.folder / "query.toml", *words)


Act = Callable[[Place], object]
Follow = Callable[[Place, re.Match[str]], object]
HTTP, NOWHERE = "http://localhost:9/a%20b", ModelOptions(endpoint="http://localhost:9/v1")
TWO_READINGS = (
    "How many cubes are left of the sphere that is right of the blue cube and behind the green cylinder?"
)
CUBES = 'question = "How many cubes are there?"\nanswer = "1"\n[render]\npreset = "fake"\n[model]\nname = "fake"\n'
TABLE: dict[str, tuple[Act, str, Follow]] = {
    # of a model's spec
    "address of a model": (
        lambda here: here.load(HTTP.replace("%20", " ")),
        r"holds '(.)', which is not allowed; write it as %XX",
        lambda here, match: here.load(HTTP.replace("%20", f"%{ord(match[1]):02x}")),
    ),
    "a dot before a module": (
        lambda here: here.bind(".M:plain"),
        r"begins with a dot; write (\S+)",
        lambda here, match: here.bind(match[1]),
    ),
    "a module elsewhere": (
        lambda here: here.moved(str(here.folder / "inner"), f"../{here.module}.py:plain"),
        r"run trex in (\S+), and write (\S+)",
        lambda here, match: here.moved(match[1], match[2]),
    ),
    "a file without a function": (
        lambda here: here.bind("m.py"),
        r"name a function of the file, m\.py:FUNCTION",
        lambda here, match: here.bind(f"{here.module}.py:plain"),
    ),
    "a pickle": (
        lambda here: here.bind("weights.pth"),
        r"write a factory instead: .*'package\.module:factory'",
        lambda here, match: here.bind("M:plain"),
    ),
    "a chat model without a name": (
        lambda here: here.load("openai:", NOWHERE),
        r"write (openai:MODEL)",
        lambda here, match: here.load(match[1], NOWHERE),
    ),
    "a prompt without the question": (
        lambda here: here.load("openai:m", ModelOptions(endpoint="http://localhost:9/v1", prompt="Answer.")),
        r"prompt holds (\{question\}) 0 times; write it once",
        lambda here, match: here.load(
            "openai:m", ModelOptions(endpoint="http://localhost:9/v1", prompt=f"{match[1]} Answer.")
        ),
    ),
    "a chat model without a server": (
        lambda here: here.load("openai:m"),
        r"\[model\] endpoint in the query \(--endpoint\), e\.g\. (\S+)",
        lambda here, match: here.load("openai:m", ModelOptions(endpoint=match[1])),
    ),
    "a model of transformers without a name": (
        lambda here: here.load("hf:"),
        r"write hf:NAME, such as hf:owner/model, or (hf:)FOLDER",
        lambda here, match: here.load(f"{match[1]}{saved(here)}"),
    ),
    "an option of another model": (
        lambda here: query(here, CUBES + "samples = 3\n"),
        r"samples belongs to models 'openai:MODEL' on a chat server, not to 'fake'; leave it out",
        lambda here, match: query(here, CUBES),
    ),
    "onnx without a file": (
        lambda here: load_model("onnx:"),
        r"write (onnx:)FILE\.onnx",
        lambda here, match: (
            here.onnx(mean_colors(), {"labels": ["no", "yes"]}),
            load_model(f"{match[1]}{here.folder / 'm.onnx'}").bind(Question("red", ())),
        ),
    ),
    # of what a model returns
    "an ONNX file of probabilities": (
        lambda here: here.onnx(mean_colors(softmax=True), {"labels": ["no", "yes"]}),
        r'write "(gives)": "(probabilities)" in (\S+\.json)',
        lambda here, match: here.onnx(mean_colors(softmax=True), {"labels": ["no", "yes"], match[1]: match[2]}),
    ),
    "a question of another length": (
        lambda here: here.onnx(with_question(), {"labels": ["no", "yes"], "words": {"red": 1}, "length": 5}),
        r'write "length": (\d+)',
        lambda here, match: here.onnx(
            with_question(), {"labels": ["no", "yes"], "words": {"red": 1}, "length": int(match[1])}
        ),
    ),
    "a module with softmax": (
        lambda here: here.bind("M:soft"),
        r"leave the softmax out of the module",
        lambda here, match: here.bind("M:plain"),
    ),
    "a module without a batch axis": (
        lambda here: here.bind("M:alone"),
        r"do not squeeze the batch axis",
        lambda here, match: here.bind("M:plain"),
    ),
    "a module in place of its factory": (
        lambda here: here.bind("M:module"),
        r"name a function that takes the question and returns the module",
        lambda here, match: here.bind("M:plain"),
    ),
    "a class": (
        lambda here: here.bind("ask:M:Ask"),
        r"is a class; name an instance, or a function",
        lambda here, match: here.bind("ask:M:instance"),
    ),
    "a callable for one picture": (
        lambda here: here.bind("ask:M:one"),
        r"AssertionError: in m_\w+\.py, line \d+: assert picture\.ndim == 3; .*"
        r"return np\.stack\(\[one\(picture, question\) for picture in pictures\]\)",
        lambda here, match: here.bind("ask:M:each"),
    ),
    "logits of a callable": (
        lambda here: here.bind("ask:M:raw"),
        r"return softmax of the logits",
        lambda here, match: here.bind("ask:M:instance"),
    ),
    # of a query
    "no question": (
        lambda here: check(question=" "),
        r'write e\.g\. question = "(.*)"',
        lambda here, match: check(question=match[1]),
    ),
    "an empty question": (
        lambda here: parse(" "),
        r"write e\.g\. ['\"]([^'\"]*)['\"]",
        lambda here, match: parse(match[1]),
    ),
    "no answer": (
        lambda here: check(answer=[]),
        r"write e\.g\. answer = (.*)",
        lambda here, match: check(answer=json.loads(match[1])),
    ),
    "an answer of another kind": (
        lambda here: check(answer=[["1"]]),
        r'write an answer like (".*?"), or several like (\[.*?\])',
        lambda here, m: (check(answer=json.loads(m[1])), check(answer=json.loads(m[2]), target="ambiguous")),
    ),
    "texts of another kind": (
        lambda here: check(revoke=3),
        r"write a list of texts like (\[.*?\])",
        lambda here, match: check(revoke=json.loads(match[1])),
    ),
    "a range of another kind": (
        lambda here: check(objects="many"),
        r"write a whole number or a pair like (\[.*?\])",
        lambda here, match: (check(objects=5), check(objects=json.loads(match[1]))),
    ),
    "--set without a value": (
        lambda here: query(here, CUBES, "--set", "search.seed"),
        r"is not key=value; write e\.g\. (--set) (\S+)",
        lambda here, match: query(here, CUBES, match[1], match[2]),
    ),
    "--set of no section": (
        lambda here: query(here, CUBES, "--set", "answer.seed=3"),
        r"is not a section; write e\.g\. (--set) (\S+)",
        lambda here, match: query(here, CUBES, match[1], match[2]),
    ),
    "a key of another target": (
        lambda here: query(here, f"{CUBES}[target]\nthreshold = 0.5\n"),
        r"remove it, or write target\.(kind = \"\w+\")",
        lambda here, match: query(here, f"{CUBES}[target]\nthreshold = 0.5\n{match[1]}\n"),
    ),
    "a question in place of a file": (
        lambda here: command("find", "How many cubes are there?"),
        r"write it into a TOML file \((question = \".*\"), and an answer\)",
        lambda here, m: query(here, f'{m[1]}\nanswer = "1"\n[render]\npreset = "fake"\n[model]\nname = "fake"\n'),
    ),
    "a question of two readings": (
        lambda here: parse(TWO_READINGS),
        r"write '(both) \.\.\. (and) \.\.\.'",
        lambda here, match: parse(TWO_READINGS.replace("left", f"{match[1]} left")),
    ),
    "revoke": (
        lambda here: CLEVR.revoke("things"),
        r"write e\.g\. '(.*)' or '(.*)'",
        lambda here, match: CLEVR.revoke(match[1]).revoke(match[2]),
    ),
    "a data set's objects": (
        lambda here: object_range("many"),
        r"write (\S+) or (\S+)",
        lambda here, match: (object_range(match[1]), object_range(match[2])),
    ),
    "a sweep": (
        lambda here: combinations(["search.seed"]),
        r"write e\.g\. --sweep (\S+) or --sweep (\S+)",
        lambda here, match: combinations([match[1], match[2]]),
    ),
    "a condition": (
        lambda here: parse_fail_if("often"),
        r'write (found), or compare the rate with a number from 0 to 1: "(.*?)", "(.*?)", "(.*?)"',
        lambda here, match: [parse_fail_if(group) for group in match.groups()],
    ),
    "--json of the cache": (
        lambda here: command("cache", "--json", "prune"),
        r"write trex (cache) (prune) (--json)",
        lambda here, match: command(*match.groups()),
    ),
}  # fmt: skip
NO_ERRORS = ("Re-render the official scenes",)  # the help of an option


def saved(here: Place) -> Path:
    """The folder of a tiny model."""
    pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")
    from tests.references import tiny_transformers as tiny

    return tiny.save(here.folder / "tiny", *tiny.llava())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "TREX_MODEL_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    (tmp_path / "inner").mkdir()
    return Place(tmp_path, user_folder(tmp_path, monkeypatch, MODELS))


def refusal(here: Place, act: Act) -> str:
    """What the error says."""
    with pytest.raises(InputError) as caught:
        act(here)
    return str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_what_an_error_says_to_write_works(name: str, here: Place) -> None:
    act, pattern, follow = TABLE[name]
    text = refusal(here, act)
    advice = re.search(pattern, text)
    assert advice, text
    follow(here, advice)


def test_no_advice_is_left_out(here: Place) -> None:
    """Each text of the product with an advice to write something is in an error above; if not, add a row for it."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
    pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")
    texts = [refusal(here, act) for act, _, _ in TABLE.values()]
    left = {
        text: path
        for path, text in error_texts()
        if not any(re.search(".*".join(map(re.escape, text.split("{}"))), item) for item in texts)
        and not text.startswith(NO_ERRORS)
    }
    assert not left


def error_texts() -> Iterator[tuple[str, str]]:
    """File and text of each string with an advice to write something; {} stands for a value in it."""
    for package in SUBPACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            # Docstrings, and the pieces of what is formatted:
            parts = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
            parts |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
            for node in nodes:
                text = "" if id(node) in parts else _text(node)
                if ADVICE.search(text):
                    yield str(path.relative_to(ROOT)), text


def test_a_path_in_an_advised_command_is_quoted() -> None:
    """Planted bug: "trex resume my runs/a", where the folder is "my runs/a"."""
    bare = [f"{path}: {value}" for path, value in command_values() if re.search(PATH, value)]
    assert not bare


def test_a_path_in_an_advised_command_is_no_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: "trex repair identify QUERY --out -a", where the folder is "-a"."""
    monkeypatch.chdir(tmp_path)
    found = command_line.trex("repair", "report", "--", "-a")
    command_line.refused(found, "begin one with: trex repair identify QUERY --out ./-a")


def command_values() -> Iterator[tuple[str, str]]:
    """File and code of each value within a command of trex that a text advises."""
    for package in SUBPACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                before = ""
                for part in node.values if isinstance(node, ast.JoinedStr) else []:
                    if isinstance(part, ast.FormattedValue) and IN_COMMAND.search(before):
                        yield str(path.relative_to(ROOT)), ast.unparse(part.value)
                    before += str(part.value) if isinstance(part, ast.Constant) else "X"


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
