"""A model behind a web service when the network, the service or the address is bad."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.serving.http_scripts import ANSWER, Waits, answer, read_request, sends, serving
from trex.clevr_models.adapters import http_exchange
from trex.clevr_models.adapters.http_address import is_loopback
from trex.clevr_models.adapters.http_model import TOKEN, HttpAnswerer, load_http
from trex.clevr_models.catalog import load_model
from trex.clevr_models.chat.chat_model import load_chat
from trex.clevr_models.chat.endpoint import KEY
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError, TrexError

CUBES = Question("How many cubes are there?", ())
PICTURE = np.zeros((1, 4, 6, 3), np.float32)
SECRET = "s3cret-of-the-service"
PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "no_proxy", "NO_PROXY", "REQUEST_METHOD")
HEAD = b"HTTP/1.1 200 OK\r\n"
LINES = b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, TOKEN):
        monkeypatch.delenv(name, raising=False)


def ask(url: str, **options: object) -> list[list[float]]:
    return HttpAnswerer(url, **options)(PICTURE, CUBES).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("host", "name"),
    [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("127.8.9.1", "127.8.9.1"), ("::1", "[::1]")],
)
def test_the_secret_of_a_model_on_this_machine_goes_past_any_proxy(
    host: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if host == "::1":
        try:
            socket.create_server((host, 0), family=socket.AF_INET6).close()
        except OSError as error:
            pytest.skip(f"this machine has no IPv6 ({error})")
    with serving(sends(answer())) as proxy, serving(sends(answer()), host=host) as service:
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv(TOKEN, SECRET)
        model = load_http(f"http://{name}:{service.port}/vqa")
        assert model.answerer(PICTURE, CUBES).tolist() == [[0.25, 0.75]]
        assert not proxy and SECRET.encode() in service[0]


def test_a_model_elsewhere_still_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(sends(answer())) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert ask("http://models.example/vqa") == [[0.25, 0.75]]
        assert proxy[0].startswith(b"POST http://models.example/vqa HTTP/1.1\r\n")


@pytest.mark.parametrize("proxy", ["http://pw-x:port", "http://[::1", "http://user:pw-x:y@host:z"])
def test_a_proxy_that_is_no_address_is_named(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: httpx's own error ended the command."""
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(
        InputError, match=r"address of the proxy in https_proxy, http_proxy .* not valid"
    ) as caught:
        ask("http://models.example/vqa")
    assert "pw-x" not in str(caught.value)


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "models.example", "localhost.example", "127.0.0.1.example", "[::2]", "128.0.0.1"]
)
def test_a_secret_is_not_sent_in_the_clear_to_what_is_not_this_machine(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN, SECRET)
    assert not is_loopback(f"http://{host}/")
    with pytest.raises(InputError, match="unencrypted; use https"):
        load_http(f"http://{host}/vqa")
    assert load_http(f"https://{host}/vqa").name == f"https://{host}/vqa"


@pytest.mark.parametrize(
    ("name", "load"), [(TOKEN, load_http), (KEY, lambda url: load_chat("openai:m", ModelOptions(url)))]
)
def test_a_secret_goes_neither_in_the_clear_nor_where_no_header_can_hold_it(
    name: str, load: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for secret, url, message in (
        (SECRET, "http://models.example/v1", f"{name} would be sent .* unencrypted; use https"),
        (f"{SECRET}\nline", "https://models.example/v1", "not allowed in an HTTP header"),
        # planted bug: tried four times over, then "did not answer"
        (f"{SECRET} ", "https://models.example/v1", f"{name} begins or ends with a space"),
        (f" {SECRET}", "https://models.example/v1", f"{name} begins or ends with a space"),
        (" ", "https://models.example/v1", f"{name} begins or ends with a space"),
    ):
        monkeypatch.setenv(name, secret)
        with pytest.raises(InputError, match=message) as caught:
            load(url)
        assert SECRET not in str(caught.value)
    monkeypatch.setenv(name, SECRET)
    assert load("https://models.example/v1")


def drips(head: bytes, drop: bytes) -> Callable[[socket.socket], None]:
    """A service that sends a piece every 20 ms for 20 s, if the client takes them for so long."""

    def turn(connection: socket.socket) -> None:
        connection.sendall(head)
        with suppress(OSError):  # the client has gone
            for _ in range(1000):
                connection.sendall(drop)
                time.sleep(0.02)

    return turn


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (HEAD + b"Content-Length: 100000\r\n\r\n", b"x"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (HEAD + b"\r\n", b"x"),
        (HEAD + b"X-Long: ", b"x"),
        (b"", LINES),
    ],
    ids=["a body", "chunks", "a body without length", "a header", "lines that say continue"],
)
def test_a_reply_that_drips_ends_at_the_timeout_in_total(head: bytes, drop: bytes) -> None:
    with (
        serving(drips(head, drop)) as service,
        pytest.raises(ModelError, match=r"no complete reply within 0\.5 s"),
    ):
        ask(service.url, timeout_s=0.5, waits_s=())


def test_a_notebook_whose_thread_runs_an_event_loop_is_answered_too() -> None:
    async def cell() -> list[list[float]]:
        return ask(service.url)

    with serving(sends(answer())) as service:
        assert asyncio.run(cell()) == [[0.25, 0.75]]


def test_each_try_has_its_own_time() -> None:
    waits = Waits()
    with serving(drips(HEAD + b"Content-Length: 100000\r\n\r\n", b"x"), sends(answer())) as service:
        rows = ask(service.url, timeout_s=2.0, waits_s=(1.0,), sleep=waits)
    assert rows == [[0.25, 0.75]] and waits == [1.0]


def test_a_server_that_lets_one_wait_is_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Planted bug: `trex check` was silent for minutes while a server loaded its model."""
    monkeypatch.setattr(http_exchange, "SLOW_S", 0.05)

    def late(connection: socket.socket) -> None:
        time.sleep(0.3)
        connection.sendall(answer())

    with serving(late, late) as service:
        for _ in range(2):
            assert ask(service.url, timeout_s=9.0) == [[0.25, 0.75]]
        (line,) = caplog.messages
    assert line == f"{service.url} has not replied in 0.05 s; waiting up to 9 s for each reply"


BODY = json.dumps(ANSWER).encode()


@pytest.mark.parametrize(
    "cut",
    [
        sends(answer()[:-5]),
        sends(answer()[:-5], is_reset=True),
        sends(HEAD, b"Content-Length: 70\r\n\r\n"),
        sends(HEAD, b"Transfer-Encoding: chunked\r\n\r\n10\r\n", BODY[:8]),
        sends(HEAD, b"Transfer-Encoding: chunked\r\n\r\n8\r\n", BODY[:8], b"\r\n"),
        sends(HEAD, b"\r\n", BODY[:-5]),
        sends(HEAD, b"\r\n"),
        sends(HEAD),
        sends(b""),
        sends(b"", is_reset=True),
    ],
    ids=["length", "reset", "empty", "chunk", "chunks", "no length", "nothing", "head", "silent", "reset at once"],
)  # fmt: skip
def test_a_reply_that_is_cut_is_asked_for_again(cut: Callable[[socket.socket], None]) -> None:
    waits = Waits()
    with serving(cut, sends(answer())) as service:
        assert ask(service.url, sleep=waits) == [[0.25, 0.75]]
        assert len(service) == 2 and service[0] == service[1] and waits == [1.0]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (answer()[:-5], f"truncated after {len(BODY) - 5} of {len(BODY)} bytes"),
        (HEAD + b"Content-Length: 0\r\n\r\n", "the reply was empty"),
    ],
)
def test_a_reply_that_is_always_cut_or_empty_is_given_up(reply: bytes, message: str) -> None:
    with serving(*[sends(reply)] * 4) as service, pytest.raises(ModelError, match=f"4 attempts.*{message}"):
        ask(service.url, sleep=Waits())


@pytest.mark.parametrize("head", [b"Content-Length: 9000\r\n", b""])
def test_a_reply_without_end_is_refused(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "LARGEST_REPLY", 1000)
    with (
        serving(sends(HEAD, head, b"\r\n", b" " * 9000)) as service,
        pytest.raises(ModelError, match="more than 1000 bytes"),
    ):
        ask(service.url, sleep=Waits())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"labels": ["no", "yes"], "probabilities": [[NaN, 1.0]]}', "NaN is not a finite number"),
        (b'{"labels": ["no", "yes"], "probabilities": [[1e999, 1.0]]}', "not a finite number"),
        (
            b'{"labels": ["no", "yes"], "probabilities": [[' + b"9" * 400 + b", 1]]}",
            "must reply with .*400 digits, more than the limit of 300",
        ),
        (
            b'{"labels": ["no", "yes"], "probabilities": [[' + b"9" * 5000 + b", 1]]}",
            "must reply with .*5000 digits, more than the limit of 300",
        ),
        (b'{"labels": ["no", "yes"], "probabilities": [["0.5", "0.5"]]}', "must reply with .*not numbers"),
        (b'{"labels": ["no", "yes"], "probabilities": [[0.5], [0.5, 0.5]]}', "must reply with"),
        (b'{"labels": ["no", "yes"], "probabilities": null}', "must reply with"),
        (b'{"labels": ["no", "yes"]}', "must reply with"),
        (b'{"labels": "yes", "probabilities": [[1.0]]}', "returned no labels"),
        (b"\xff\xfe{}", "must reply with"),
        (b"<html>", "must reply with"),
        (b"[1, 2]", "must reply with"),
        (b"{" + b'"a":{' * 5000 + b"}" * 5001, "nested more than 100 levels"),
    ],
)
def test_a_reply_with_impossible_numbers_is_refused_in_one_line(body: bytes, message: str) -> None:
    whole = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    with serving(sends(whole)) as service, pytest.raises(ModelError, match=message) as caught:
        ask(service.url, sleep=Waits())
    assert "\n" not in str(caught.value) and service.url in str(caught.value)


@pytest.mark.parametrize("label", ["\x1b[2Jyes", "two\nlines", "\ud800", "", "y" * 201])
def test_an_answer_that_no_terminal_can_show_is_refused(label: str) -> None:
    reply = {"labels": ["no", label], "probabilities": [[0.5, 0.5]] * 2}
    with (
        serving(sends(answer(reply))) as service,
        pytest.raises(TrexError, match=r"printable characters|half of a surrogate pair") as caught,
    ):
        load_http(service.url).bind(CUBES)
    assert "\x1b" not in str(caught.value) and "\n" not in str(caught.value)


ADDRESSES = {
    "http://localhost:0/vqa": "has port 0",
    "http://localhost:65536/vqa": "from 1 to 65535",
    "http://localhost:99999999999/vqa": "from 1 to 65535",
    "http://localhost:abc/vqa": "from 1 to 65535",
    "http://localhost:-1/vqa": "from 1 to 65535",
    "http://localhost:80:80/vqa": "from 1 to 65535",
    "http://:8000/vqa": "not a valid host name",
    "http:///vqa": "not a valid host name",
    "http://": "not a valid host name",
    "http://::1/vqa": "not a valid host name|from 1 to 65535",
    "http://[::1/vqa": "is invalid",
    "http://[nonsense]/vqa": "invalid|not a valid host name",
    "http://999.1.1.1/vqa": "not a valid host name",
    "http://127.1/vqa": "not a valid host name",
    "http://0.0.0.0:80/vqa": "not a valid host name",
    "http://255.255.255.255/vqa": "not a valid host name",
    "http://[::]/vqa": "not a valid host name",
    "http://a..b/vqa": "not a valid host name",
    "http://-a/vqa": "not a valid host name",
    "http://" + "a" * 64 + "/vqa": "not a valid host name",
    "http://" + "a." * 130 + "b/vqa": "not a valid host name",
    "http://host/" + "a" * 2000: "the limit is 2000",
    "http://host/a b": "holds ' '",
    "http://host/\x00": r"holds '\\x00'",
    "http://host\n/vqa": r"holds '\\n'",
    "http://host\\/vqa": "holds",
    "http://h\u00f6st/vqa": "holds",
    "ftp://host/vqa": "does not begin with http",
    "file:///etc/passwd": "does not begin with http",
    "unix://socket": "does not begin with http",
    "http://user@host/vqa": "without user",
    "http://host@/vqa": "without user",
    "http://host/?": "without user",
    "http://user:pw-x@host/vqa": "without user",
    "http://host/vqa?key=pw-x": "without user",
    "https://host/#pw-x": "without user",
    "http://[pw-x/vqa": "is invalid",
}


@pytest.mark.parametrize("url", ADDRESSES)
def test_an_impossible_address_is_refused_before_any_request(url: str) -> None:
    with pytest.raises(InputError, match=ADDRESSES[url]) as caught:
        load_model(url)
    assert (
        str(caught.value).isprintable() and len(str(caught.value)) < 300 and "pw-x" not in str(caught.value)
    )


@pytest.mark.parametrize(
    "url", ["http://localhost:65535/a%20b", "https://xn--hst-sna.example./v1:ask", "HTTP://127.0.0.1", "http://[::1]:80"]
)  # fmt: skip
def test_a_possible_address_is_taken(url: str) -> None:
    assert load_model(url).name == url


def over_tls(turn: Callable[[socket.socket], None], folder: Path) -> Callable[[socket.socket], None]:
    """The turn behind TLS, with a certificate for localhost that only the file cert.pem vouches for."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so there is no certificate to show")
    texts = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*texts, *names], cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")

    def wrapped(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as inner:
            read_request(inner)
            turn(inner)

    return wrapped


@pytest.mark.process
def test_a_service_over_tls_is_asked_and_kept_to_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = iter([sends(answer()), drips(HEAD + b"Content-Length: 100000\r\n\r\n", b"x")])
    turn = over_tls(lambda connection: next(turns)(connection), tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    with serving(turn, turn, reads=False) as service:
        url = f"https://localhost:{service.port}/vqa"
        assert ask(url) == [[0.25, 0.75]]
        with pytest.raises(ModelError, match="no complete reply within 1 s"):
            ask(url, timeout_s=1.0, waits_s=())


@pytest.mark.process
def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(tmp_path: Path) -> None:
    waits = Waits()
    with (
        serving(over_tls(sends(answer()), tmp_path), reads=False) as service,
        pytest.raises(ModelError, match=r"certificate that is not valid here .*SSL_CERT_FILE"),
    ):
        ask(f"https://localhost:{service.port}/vqa", token=SECRET, sleep=waits)
    assert not waits
