"""Any VQA model as a classifier of the search: a callable, and one behind a web service."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.serving.http_scripts import Waits
from tests.serving.http_server import Quiet, listening
from trex.clevr_models.adapters.callable_model import AdaptedModel
from trex.clevr_models.adapters.http_model import TOKEN, HttpAnswerer, load_http
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError
from trex.scenes.questions.programs import Step
from trex.worlds.fingerprint import model_fingerprint

CUBES = Question("How many cubes are there?", (Step("scene"), Step("count", (0,))))
SECRET = "s3cret-of-the-service"


def pictures(n: int, seed: int = 1) -> NDArray[np.float32]:
    eight_bit = np.random.default_rng(seed).integers(0, 256, (n, 20, 30, 3))
    return (eight_bit / 255).astype(np.float32)


class Redness:
    """Sure of "yes" as the picture is red; keeps how it was called."""

    labels = ("no", "yes")

    def __init__(self) -> None:
        self.calls: list[tuple[int, str]] = []

    def __call__(self, given: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        self.calls.append((len(given), question.text))
        red = given[..., 0].mean(axis=(1, 2)).astype(np.float64)
        return np.stack([1 - red, red], axis=1)


def test_a_callable_is_asked_in_batches() -> None:
    answerer = Redness()
    bound = AdaptedModel("ask:mine", answerer, batch=4).bind(CUBES)
    given = pictures(10)
    rows = bound.log_probs(given)
    assert bound.labels == ("no", "yes")
    np.testing.assert_allclose(np.exp(rows[:, 1]), given[..., 0].mean(axis=(1, 2)), rtol=1e-6)
    assert answerer.calls == [(n, CUBES.text) for n in (2, 4, 4, 2)]  # the first: tried on two
    assert bound.log_probs(given[:0]).shape == (0, 2)


def gives(rows: object, labels: object = ("no", "yes")) -> Callable[..., object]:
    def answerer(given: NDArray[np.float32], question: Question) -> object:
        return rows

    answerer.labels = labels  # type: ignore[attr-defined]
    return answerer


def fails(given: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize(
    ("answerer", "message"),
    [
        (
            gives([[0.5, 0.5]]),
            r"gives float64 \(1, 2\); for 2 pictures and 2 answers it must give numbers \(2, 2\)",
        ),
        (gives([[0.2, 0.2, 0.6]] * 2), r"\(2, 3\)"),
        (gives("yes"), "must give numbers"),
        (gives([[0.5, 0.6]] * 2), "not probabilities .* sum 1.1.*return softmax"),
        (gives([[-0.5, 1.5]] * 2), "has minimum -0.5"),
        (gives([[np.nan, 1.0]] * 2), "not probabilities"),
        (gives([[0.5, 0.5]] * 2, "yes"), "its labels are str"),
        (gives([[0.5, 0.5]] * 2, ("yes", "yes")), "name the answer .yes. twice"),
        (gives([[]] * 2, ()), "are empty"),
        (fails, "fails on a probe picture: RuntimeError: out of memory"),
    ],
)
def test_a_callable_that_does_not_fit_is_refused_before_any_picture(
    answerer: Callable[..., NDArray[np.float64]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        AdaptedModel("ask:mine", answerer).bind(CUBES)


def test_a_callable_that_fails_later_is_a_model_error() -> None:
    class Once(Redness):
        def __call__(self, given: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
            factor = 2 if self.calls else 1
            return super().__call__(given, question) * factor

    bound = AdaptedModel("ask:mine", Once()).bind(CUBES)
    with pytest.raises(ModelError, match="not probabilities"):
        bound.log_probs(pictures(1))


def test_an_answer_without_any_probability_keeps_a_finite_logarithm() -> None:
    def sure(given: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        return np.eye(28)[[0] * len(given)]

    rows = AdaptedModel("ask:mine", sure).bind(CUBES).log_probs(pictures(1))
    assert rows.shape == (1, len(ANSWERS)) and np.isfinite(rows).all() and rows[0, 1] < -20


def test_a_callable_is_named_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_answerer.py").write_text(
        "import numpy as np\ndef ask(pictures, question):\n    return np.full((len(pictures), 28), 1 / 28)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    bound = load_model("ask:own_answerer:ask").bind(CUBES)
    np.testing.assert_allclose(np.exp(bound.log_probs(pictures(2))), 1 / 28)
    assert model_fingerprint("ask:own_answerer:ask", bound) == model_fingerprint(
        "ask:own_answerer:ask", load_model("ask:own_answerer:ask").bind(CUBES)
    )  # or no run could be resumed
    for spec in ("ask:", "ask:own_answerer", "ask:own_answerer:missing"):
        with pytest.raises(InputError, match=r"is not known|has no function"):
            load_model(spec)


def test_the_worked_example_of_the_documentation_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "own-model.md").read_text()
    (example,) = [
        part.split("```")[0] for part in text.split("```python") if "def ask(" in part.split("```")[0]
    ]
    (tmp_path / "documented_answerer.py").write_text(example)
    monkeypatch.syspath_prepend(str(tmp_path))
    bound = load_model("ask:documented_answerer:ask").bind(CUBES)
    given = np.zeros((2, 20, 30, 3), np.float32)
    given[1, :4, :3, 0] = 1.0  # 2% red
    assert [bound.labels[row.argmax()] for row in bound.log_probs(given)] == ["0", "2"]


class Service(Quiet):
    """Answers as Redness does; `statuses` are given first, one a request; "hang up" ends the connection."""

    statuses: list[int | str] = []  # noqa: RUF012
    requests: list[dict[str, object]] = []  # noqa: RUF012
    secrets: list[str] = []  # noqa: RUF012
    reply: object = None
    labels = ("no", "yes")

    def answer(self) -> None:
        body = self.body()
        type(self).requests.append(json.loads(body))
        type(self).secrets.append(self.headers.get("Authorization", ""))
        status = type(self).statuses.pop(0) if type(self).statuses else 200
        if status == "hang up":
            self.close_connection = True
            return
        given = [np.array(Image.open(io.BytesIO(base64.b64decode(p)))) for p in json.loads(body)["pictures"]]
        rows = Redness()(np.stack(given).astype(np.float32) / 255, CUBES).tolist()
        reply = {"labels": self.labels, "probabilities": rows} if self.reply is None else self.reply
        data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send(
            data, int(status), **({"Location": "http://127.0.0.1:9/elsewhere"} if status == 302 else {})
        )


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv(TOKEN, raising=False)
    Service.statuses, Service.requests, Service.secrets, Service.reply = [], [], [], None
    Service.labels = ("no", "yes")
    with listening(Service) as address:
        yield f"{address}/vqa"


def test_a_service_is_asked_in_batches_and_gets_the_very_pixels(service: str) -> None:
    model = load_model(service)
    bound = model.bind(CUBES)
    given = pictures(40)
    rows = bound.log_probs(given)
    np.testing.assert_allclose(np.exp(rows[:, 1]), given[..., 0].mean(axis=(1, 2)), rtol=1e-5)
    assert bound.labels == ("no", "yes") and model.name == service
    sizes = [len(request["pictures"]) for request in Service.requests]  # type: ignore[arg-type]
    assert sizes == [2, 32, 8]
    assert Service.requests[0]["question"] == CUBES.text and Service.secrets == [""] * 3
    assert Service.requests[0]["program"][1] == {"function": "count", "inputs": [0], "value_inputs": []}  # type: ignore[index]


@pytest.mark.parametrize("passing", [503, 429, "hang up"])
def test_what_passes_is_tried_again_with_growing_waits(service: str, passing: int | str) -> None:
    waits = Waits()
    Service.statuses = [passing, passing]
    assert HttpAnswerer(service, sleep=waits)(pictures(3), CUBES).shape == (3, 2)
    assert waits == [1.0, 4.0] and len(Service.requests) == 3


def test_a_service_that_stays_away_is_given_up(service: str) -> None:
    waits = Waits()
    Service.statuses = [503] * 9
    with pytest.raises(ModelError, match="did not answer in 4 attempts; the last error: status 503"):
        HttpAnswerer(service, sleep=waits)(pictures(1), CUBES)
    assert waits == [1.0, 4.0, 16.0] and len(Service.requests) == 4
    Service.statuses = ["hang up"] * 9  # planted bug: the error named a class, RemoteProtocolError
    with pytest.raises(
        ModelError, match="error: the server closed the connection without an HTTP reply; see its log"
    ):
        HttpAnswerer(service, sleep=Waits())(pictures(1), CUBES)
    with pytest.raises(ModelError, match="in 4 attempts; the last error: nothing listens there"):
        HttpAnswerer("http://127.0.0.1:9/vqa", sleep=waits)(pictures(1), CUBES)


def test_a_service_that_does_not_answer_in_time_is_tried_again(service: str) -> None:
    """The socket listens, nobody accepts: what a hanging service looks like."""
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/vqa"
        with pytest.raises(
            ModelError, match=r"in 2 attempts; the last error: no complete reply within 0.05 s"
        ):
            HttpAnswerer(address, timeout_s=0.05, waits_s=(1.0,), sleep=Waits())(pictures(1), CUBES)


@pytest.mark.parametrize(
    ("status", "message"), [(400, "status 400"), (401, TOKEN), (302, "redirects are not followed")]
)
def test_a_refusal_is_final(service: str, status: int, message: str) -> None:
    waits = Waits()
    Service.statuses = [status]
    with pytest.raises(ModelError, match=message):
        HttpAnswerer(service, token=SECRET, sleep=waits)(pictures(1), CUBES)
    assert not waits and len(Service.requests) == 1


def test_the_secret_goes_to_the_service_and_is_shown_nowhere(
    service: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TOKEN, SECRET)
    model = load_http(service)
    bound = model.bind(CUBES)
    bound.log_probs(pictures(1))
    assert Service.secrets == [f"Bearer {SECRET}"] * 2
    texts = [repr(model), repr(bound), model_fingerprint(model.name, bound)]
    Service.reply = SECRET.encode()  # a service that repeats what it was sent
    for status in (200, 400, 401, 503):
        Service.statuses = [status] * 9
        answerer = HttpAnswerer(service, token=SECRET, sleep=Waits())
        with pytest.raises(ModelError) as caught:
            answerer(pictures(1), CUBES)
        texts += [str(caught.value), repr(answerer), repr(caught.value.__cause__)]
    assert not any(SECRET in text for text in texts)
    assert SECRET not in "".join(capfd.readouterr())


def test_another_model_behind_the_same_address_is_noticed(service: str) -> None:
    bound = load_http(service).bind(CUBES)
    Service.labels = ("yes", "no")
    with pytest.raises(ModelError, match="now runs another model"):
        bound.log_probs(pictures(1))
