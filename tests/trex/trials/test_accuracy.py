"""The accuracy check on a folder made here in CLEVR's layout: what passes, what fails, what cannot be told."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binom
from typer.testing import Result

from tests.running.command_line import refused, trex
from tests.running.runs import run
from trex.clevr_models.fake import ColorArea, fake
from trex.clevr_models.interface.question import Question
from trex.clevr_models.published import PUBLISHED
from trex.datasets import clevr_files
from trex.datasets.clevr_files import read_pixels
from trex.datasets.clevr_questions import QuestionOptions, read_folder
from trex.foundation.errors import InputError, RunError
from trex.inference.statistics.proportion import clopper_pearson
from trex.render.fake import FakeRenderer
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.english import parse
from trex.scenes.questions.program_json import program_to_json
from trex.scenes.scene import Scene
from trex.trials import verify as verifying
from trex.trials.accuracy import (
    FAILED,
    NOT_COMPARED,
    PASSED,
    UNDECIDED,
    check_of,
    check_words,
    checks_folder,
    read_checks,
    share,
)
from trex.worlds.fingerprint import is_known_by_weights, model_fingerprint, weights_fingerprint

COLORS = ("red", "blue", "green", "yellow")
FALSE_ALARM = 1e-5


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def says(color: str, pixels: np.ndarray) -> str:  # type: ignore[type-arg]
    """What the fake model answers to "How many COLOR things are there?"."""
    bound = ColorArea(color)
    return bound.labels[int(bound.log_probs(pixels[None].astype(np.float32) / np.float32(255.0))[0].argmax())]


@lru_cache
def drawn(n: int, seed: int) -> tuple[Scene, ...]:
    rng = np.random.default_rng(seed)
    return tuple(ScenePrior(n_objects=(3, 4)).sample(rng) for _ in range(n))


def folder(
    place: Path,
    pictures: int = 30,
    *,
    split: str = "val",
    wrong: int = 0,
    source: str = "CLEVR",
    seed: int = 0,
) -> Path:
    """Four questions a picture, to which the model's answer is true but for the first on the first `wrong` pictures."""
    scenes = drawn(pictures, seed)
    for part in (f"images/{split}", "scenes", "questions"):
        (place / part).mkdir(parents=True, exist_ok=True)
    records, questions = [], []
    for index, picture in enumerate(FakeRenderer(120, 80).render(scenes)):
        name = f"CLEVR_{split}_{index:06d}.png"
        Image.fromarray(picture.pixels).save(place / "images" / split / name)
        records.append(to_clevr(scenes[index], name, index, split))
        for color in COLORS:
            text = f"How many {color} things are there?"
            output = says(color, picture.pixels)
            is_wrong = index < wrong and color == COLORS[0]
            answer = str((int(output) + 1) % 11) if is_wrong else output
            questions.append({"image_filename": name, "split": split, "question": text, "answer": answer,
                              "program": program_to_json(parse(text))})  # fmt: skip
    (place / f"scenes/CLEVR_{split}_scenes.json").write_text(json.dumps({"scenes": records}))
    (place / f"questions/{source}_{split}_questions.json").write_text(json.dumps({"questions": questions}))
    return place


def verify(*arguments: object) -> Result:
    return trex("models", "verify", *arguments)


def measured(*arguments: object) -> dict[str, object]:
    result = verify("fake", *arguments, "--json")
    found: dict[str, object] = json.loads(result.stdout)
    assert result.exit_code == (1 if found["outcome"] == FAILED else 0), result.output
    return found


def test_a_model_as_good_as_published_passes_and_is_remembered(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", wrong=5)
    found = measured("--dataset", data, "--published", 0.95)
    assert found["outcome"] == PASSED
    official = found["official"]
    assert isinstance(official, dict) and set(official) == {"all", "count"}
    right = {"right": 115, "of": 120, "pictures": 30}
    assert {key: official["all"][key] for key in right} == right
    kept = check_of("fake")
    assert kept is not None and kept.outcome == PASSED and kept.splits == {"val": 120}
    assert (
        "Accuracy check PASSED: fake is right in 115 of 120 official questions"
        in check_words("fake", "fake")[0]
    )


def test_planted_colors_in_the_wrong_order_fail_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kind of mistake that the check is for: everything runs, and the model sees another picture than it should."""
    data = folder(tmp_path / "data")
    assert measured("--dataset", data, "--published", 0.95)["outcome"] == PASSED
    monkeypatch.setattr(
        clevr_files, "read_pixels", lambda *given: np.ascontiguousarray(read_pixels(*given)[:, :, ::-1])
    )
    assert measured("--dataset", data, "--published", 0.95)["outcome"] == FAILED


def test_pictures_that_cannot_be_used_are_left_out_and_told(tmp_path: Path) -> None:
    """Planted bug: the first of them ended the measurement, where `trex baseline` told it and went on."""
    data = folder(tmp_path / "data", pictures=12)
    first, second, *others = sorted((data / "images/val").glob("*.png"))
    first.write_bytes(b"")
    second.write_bytes(second.read_bytes()[:-40])
    found = measured("--dataset", data, "--published", 0.95)
    (note,) = cast(list[str], found["notes"])
    assert note.startswith("2 pictures cannot be used and are left out; the first: ") and str(first) in note
    assert cast(dict[str, Any], found["official"])["all"]["pictures"] == 10 and found["skipped"] == 8
    for path in others:
        path.write_bytes(b"")
    refused(verify("fake", "--dataset", data), "no picture of data can be used; the first: ", first.name)


def test_few_questions_decide_nothing(tmp_path: Path) -> None:
    data = folder(tmp_path / "data")
    found = measured("--dataset", data, "--limit", 3, "--published", 0.95)
    assert found["outcome"] == UNDECIDED
    kept = check_of("fake")
    assert kept is not None and "Too few questions to decide" in kept.sentences()[1]
    measured("--dataset", data, "--published", 0.95)
    largest = check_of("fake")
    assert largest is not None and largest.official["all"].pictures == 30, "the measurement of more counts"


def test_only_clevr_s_own_questions_are_compared(tmp_path: Path) -> None:
    data = folder(tmp_path / "data")
    folder(data, wrong=30, source="CLOSURE")
    found = measured("--dataset", data, "--published", 0.95)
    assert found["outcome"] == PASSED
    others = found["others"]
    assert isinstance(others, dict) and others["CLOSURE"]["all"]["right"] == 90
    (data / "val.plan.json").write_text("{}")  # as `trex render dataset` leaves
    found = measured("--dataset", data, "--published", 0.95)
    assert (found["outcome"], found["official"]) == (NOT_COMPARED, {})
    assert len(read_checks()) == 1, "what compares nothing is not stored as a check"


def test_phrased_questions_are_counted_by_kind_and_their_truth_is_the_scene_s(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", pictures=4)
    asked_folder = read_folder(data, QuestionOptions(phrased=True))
    own = [
        q
        for picture in asked_folder.pictures
        for q in picture.questions
        if q.source in ("zero_hop", "one_hop")
    ]
    assert {q.source for q in own} == {"zero_hop", "one_hop"}
    assert all(("relate" in {step.function for step in q.program}) == (q.source == "one_hop") for q in own)
    others = measured("--dataset", data, "--phrased")["others"]
    assert isinstance(others, dict) and sum(s["all"]["of"] for s in others.values()) == len(own)


def test_a_broken_program_names_its_file_and_its_question(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", pictures=2)
    path = data / "questions/CLEVR_val_questions.json"
    questions = json.loads(path.read_text())
    questions["questions"][3]["program"][1]["function"] = "filter_flavor"
    path.write_text(json.dumps(questions))
    result = verify("fake", "--dataset", data)
    assert result.exit_code == 2
    assert "CLEVR_val_questions.json: question 3" in result.output and "filter_flavor" in result.output


def test_training_questions_are_told(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", pictures=20, split="train")
    folder(data, pictures=20, seed=1)
    measured("--dataset", data, "--published", 0.95)
    kept = check_of("fake")
    assert kept is not None
    assert "80 of the questions are of the training split, which the model has seen." in kept.sentences()
    assert measured("--dataset", data, "--split", "val", "--published", 0.95)["splits"] == {"val": 80}


def stopped_after_ten(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """From now on Ctrl-C comes at the tenth question, or the number in the second list; the first counts them."""
    ask, numbers, most = verifying.ask, list[int](), [10]

    def counted(model, pixels, questions):  # type: ignore[no-untyped-def]
        if len(numbers) == most[0]:
            raise KeyboardInterrupt
        numbers.append(1)
        return ask(model, pixels, questions)

    monkeypatch.setattr(verifying, "ask", counted)
    return numbers, most


def test_a_stopped_measurement_goes_on_and_asks_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = folder(tmp_path / "data")
    numbers, most = stopped_after_ten(monkeypatch)
    assert verify("fake", "--dataset", data).exit_code == 130
    (log,) = checks_folder().glob("*.jsonl")
    log.write_bytes(log.read_bytes()[:-20])  # a kill may cut the last line
    numbers.clear()
    most[0] = 30
    assert measured("--dataset", data, "--published", 0.95)["outcome"] == PASSED
    assert len(numbers) == 21
    assert not list(checks_folder().glob("*.jsonl")), "the next measurement asks anew"


def test_a_changed_answer_of_a_stopped_measurement_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = folder(tmp_path / "data")
    whole = measured("--dataset", data, "--published", 0.95)
    numbers, most = stopped_after_ten(monkeypatch)
    assert verify("fake", "--dataset", data).exit_code == 130
    (log,) = checks_folder().glob("*.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    row = json.loads(lines[3])
    row["answers"][0] = "9" if row["answers"][0] != "9" else "8"
    log.write_bytes(b"".join([*lines[:3], json.dumps(row).encode() + b"\n", *lines[4:]]))
    numbers.clear()
    most[0] = 30
    assert measured("--dataset", data, "--published", 0.95) == whole
    assert len(numbers) == 30 - 3, "and so are those after it"


def test_two_measurements_of_the_same_weights_do_not_take_each_other_s_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ends forgets its own answers, not those of another that was stopped half-way."""
    data, other = folder(tmp_path / "data", pictures=6), folder(tmp_path / "other", pictures=3, seed=1)
    ask, numbers = verifying.ask, list[int]()

    def stops(model, pixels, questions):  # type: ignore[no-untyped-def]
        numbers.append(1)
        if len(numbers) == 4:
            raise KeyboardInterrupt
        return ask(model, pixels, questions)

    monkeypatch.setattr(verifying, "ask", stops)
    assert verify("fake", "--dataset", data).exit_code == 130
    measured("--dataset", other)
    numbers[:] = [1] * 10
    measured("--dataset", data)
    assert len(numbers) == 10 + 3


def test_a_question_that_it_cannot_read_counts_as_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = folder(tmp_path / "data")
    bind = type(fake()).bind

    def refuses(self, question: Question):  # type: ignore[no-untyped-def]
        if "blue" in question.text:
            raise InputError("word 'blue' is not known")
        return bind(self, question)

    monkeypatch.setattr(type(fake()), "bind", refuses)
    found = measured("--dataset", data, "--published", 0.95)
    assert (found["unread"], found["outcome"]) == (30, FAILED)


@pytest.mark.parametrize(
    ("change", "arguments", "parts"),
    [
        (
            lambda data: (data / "questions/CLEVR_val_questions.json").unlink(),
            [],
            ["holds no answered question"],
        ),
        (lambda data: None, ["--split", "test"], ["split 'test'", "val"]),
        (lambda data: None, ["--limit", "0"], ["--limit 0 is not possible"]),
        (lambda data: None, ["--published", "93.6"], ["--published 93.6 is not an accuracy", "0.936"]),
        (
            lambda data: edit(data, "CLEVR_val_000001.png", "../../secret.png"),
            [],
            ["image_filename", "no path"],
        ),
        (lambda data: edit(data, '"question"', '"asked"'), [], ["question 0 has no 'question'"]),
        (lambda data: edit(data, "]}", ""), [], ["is not a JSON file"]),
    ],
    ids=["none", "split", "limit", "published", "path", "field", "cut"],
)
def test_bad_input_is_refused(
    tmp_path: Path, change: Callable[[Path], object], arguments: Sequence[str], parts: Sequence[str]
) -> None:
    data = folder(tmp_path / "data", pictures=2)
    change(data)
    refused(verify("fake", "--dataset", data, *arguments), *parts)
    assert not list(checks_folder().glob("*.json"))


def edit(data: Path, old: str, new: str) -> None:
    path = data / "questions/CLEVR_val_questions.json"
    path.write_text(path.read_text().replace(old, new))


def test_options_of_the_check_need_a_folder() -> None:
    refused(verify("shipped", "--published", "0.9"), "add --dataset DIR")


def test_a_damaged_measurement_is_named(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", pictures=2)
    measured("--dataset", data)
    (path,) = checks_folder().glob("*.json")
    path.write_text(path.read_text().replace('"right": 8', '"right": "8"'))
    with pytest.raises(RunError, match="is damaged"):
        check_of("fake")


def test_weights_that_were_not_measured_are_told_so(tmp_path: Path) -> None:
    measured("--dataset", folder(tmp_path / "data"), "--published", 0.95)
    (words,) = check_words("relation-network:ir 0123456789abcdef", "relation-network:ir")
    assert "not run for these weights" in words and "trex models verify relation-network:ir" in words
    (words,) = check_words("", "relation-network:ir")
    assert "did not record its weights" in words
    assert check_words("shipped 0123456789abcdef", "shipped") == ()


def test_a_run_s_report_shows_the_check_of_exactly_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = ["search.prior_scenes=4", "search.chains=2", "search.steps=0"]
    before = run(tmp_path, steps, "before").report.read_text()
    assert "Is the model what was published?" not in before  # of the fake model nothing was
    measured("--dataset", folder(tmp_path / "data"), "--published", 0.95)
    after = run(tmp_path, steps, "after")
    assert after.manifest.facts.weights == "fake"
    assert "Accuracy check PASSED: fake is right in 120 of 120" in after.report.read_text()
    monkeypatch.setattr("trex.finding.find.weights_fingerprint", lambda name, bound: f"{name} changed")
    monkeypatch.setitem(PUBLISHED, "fake", PUBLISHED["iep:lstm"])
    changed = run(tmp_path, steps, "changed").report.read_text()
    assert "Accuracy check: not run for these weights." in changed and "PASSED" not in changed


ANSWERER = """
from trex.clevr_models.fake import ColorArea


def ask(pictures, question):
    color = question.text.split()[2]
    return EXP(ColorArea(color).log_probs(pictures))
"""


def test_the_check_of_a_callable_does_not_vouch_for_another_one_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the result was stored under the name alone, and quoted in the reports of an edited callable."""
    data = folder(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "checked_answerer.py").write_text("import numpy\n" + ANSWERER.replace("EXP", "numpy.exp"))
    result = verify("ask:checked_answerer:ask", "--dataset", data, "--published", 0.95)
    assert result.exit_code == 0 and PASSED in result.output
    assert not list(checks_folder().glob("*.json"))
    measured("--dataset", data)  # of a model that is known by its name, it is
    assert len(list(checks_folder().glob("*.json"))) == 1


def test_only_tensors_and_hashes_of_files_identify_a_model() -> None:
    """Planted bugs: a module without tensors, and a service at an address, count as known."""
    import torch

    from trex.clevr_models.adapters.callable_model import AdaptedModel
    from trex.clevr_models.adapters.torch_module import UserModel

    class Bare(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return images.mean(dim=(2, 3)) @ torch.ones(3, 28)

    class Layered(Bare):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 28)

    def even(pictures: np.ndarray, question: Question) -> np.ndarray:  # type: ignore[type-arg]
        return np.full((len(pictures), 28), 1 / 28)

    request = Question("How many cubes are there?", ())
    known = [
        UserModel("m", lambda _: Layered()),
        AdaptedModel("m", even, "0123", is_hashed=True),
        fake(),
    ]
    unknown = [UserModel("m", lambda _: Bare()), AdaptedModel("https://m", even, "https://m")]
    assert [is_known_by_weights(model.bind(request)) for model in known] == [True] * 3
    assert [is_known_by_weights(model.bind(request)) for model in unknown] == [False] * 2


def test_weights_are_told_apart_from_questions() -> None:
    """The question stands in some models' tensors; it must not make other weights of them, and weights must."""
    import torch

    from trex.clevr_models.relation_network.model import RelationModel, relation_vocabulary
    from trex.clevr_models.relation_network.network import RelationNetwork

    torch.manual_seed(0)
    model = RelationModel("relation-network:ir", RelationNetwork("ir"), relation_vocabulary())
    cubes, spheres = (
        model.bind(Question(text, ())) for text in ("How many cubes are there?", "Are there any spheres?")
    )
    assert model_fingerprint("m", cubes) != model_fingerprint("m", spheres)
    assert weights_fingerprint("m", cubes) == weights_fingerprint("m", spheres)
    before = weights_fingerprint("m", cubes)
    with torch.no_grad():
        next(model.network.parameters()).view(-1)[0] += 1e-3
    assert weights_fingerprint("m", model.bind(Question("How many cubes are there?", ()))) != before


def test_the_check_seldom_fails_a_model_that_is_as_good_as_published() -> None:
    """Questions on one picture stand or fall together here; counting each by itself (planted) fails far too many."""
    rng = np.random.default_rng(20170214)
    tries, pictures, questions, accuracy = 1000, 40, 10, 0.9
    alarms = planted = 0
    for _ in range(tries):
        of_picture = rng.beta(accuracy * 2, (1 - accuracy) * 2, size=pictures)
        right = rng.binomial(questions, of_picture)
        alarms += share([(int(r), questions) for r in right]).high < accuracy
        planted += clopper_pearson(int(right.sum()), pictures * questions).high < accuracy
    most = int(
        binom.isf(FALSE_ALARM, tries, 0.05)
    )  # a one-sided error of 5%: twice the nominal, for 40 clusters
    assert alarms <= most, alarms
    assert planted > most, planted


def test_published_numbers_are_shares() -> None:
    assert PUBLISHED["relation-network:original"].accuracy == 0.936
    assert all(0 < number.accuracy < 1 and number.source for number in PUBLISHED.values())
