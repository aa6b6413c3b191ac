"""The served page: what annotators see and never see, what is saved when, and who may vote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.serving.labelling import BEARER, TOKEN, Annotator, WithForms, items_of, polled, shown_of
from tests.worlds.repair_toy import tree
from trex.labelling.poll import order_of
from trex.labelling.votes import read_tally
from trex.repair.decoders.pictures import NOT

LABELS = ("left", "right", "none")


def test_a_picture_is_asked_about_by_buttons_and_keys_without_javascript(folder: Path) -> None:
    with polled(folder) as site:
        ada = Annotator(site, "Ada")
        page = ada.look()
        assert page.status == 200 and "Picture 1 of 23" in page.text
        for label, key in zip(LABELS, "01n", strict=True):
            assert f'name="label" value="{label}" data-key="{key}"' in page.text
        sharp, smooth = re.findall(
            r'<img class="(?:sharp|smooth)" src="([^"]+)" width="280" height="280"', page.text
        )
        picture = site.get(sharp, Authorization=BEARER)
        assert sharp == smooth and picture.headers["content-type"] == "image/png"
        assert 'method="post" action="/people/Ada/votes"' in page.text and "/undo" not in page.text


def test_each_annotator_sees_every_picture_once_in_an_order_of_their_own(folder: Path) -> None:
    shown = shown_of(folder)
    orders = []
    with polled(folder) as site:
        for name in ("Ada", "Bob"):
            annotator, order = Annotator(site, name), []
            while picture := annotator.picture():
                order.append(picture)
                assert annotator.vote("left").status == 303
            assert "All 23 pictures are labeled" in annotator.look().text
            assert tuple(order) == order_of(name, tuple(shown.pictures), shown.key)
            orders.append(order)
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(shown.pictures) and orders[0] != orders[1]
    assert {len(cast) for cast in read_tally(folder, shown).votes.values()} == {23}


def blind(text: str, picture: str, done: int) -> str:
    """A page without what may differ from picture to picture: its name and the count."""
    for shown in (f"Picture {done + 1} of 23", f'value="{done}"', f"<title>{done + 1} of 23"):
        assert shown in text
        text = text.replace(shown, "")
    return re.sub(r"p\d{5}", "", text.replace(picture, ""))


def test_no_page_tells_what_a_picture_is(folder: Path) -> None:
    """The pages of checks, repeats and others are equal but for a number that is only a place in a shuffled list."""
    items = items_of(folder)
    kinds: dict[str, set[str]] = {"check": set(), "repeat": set(), "drawn": set()}
    with polled(folder) as site:
        ada, bob = Annotator(site, "Ada"), Annotator(site, "Bob")
        bob.vote("right")
        ada.vote("left")  # from here on the page has the undo button
        for done in range(1, 23):
            page, picture = ada.look(), ada.picture()
            row = items.names.index(picture)
            kind = "check" if items.truth[row] != NOT else "repeat" if items.first[row] != NOT else "drawn"
            kinds[kind].add(blind(page.text, picture, done))
            assert not re.search(
                r"truth|component|check|repeat|answer|seed|scenario|model|Bob", page.text, re.I
            )
            seen = site.get(f"/pictures/{picture}.png", Authorization=BEARER)
            assert not {"etag", "last-modified", "content-disposition"} & set(seen.headers)
            assert ada.vote("left").headers["location"] == "/people/Ada"
    assert all(kinds.values()) and len(set.union(*kinds.values())) == 1


def test_a_page_that_marks_checks_would_be_caught() -> None:
    """Planted: a class on the picture."""
    page = '<title>2 of 23 Picture 2 of 23 value="1" <img class="sharp{}" src="/pictures/p00001.png">'
    assert blind(page.format(""), "p00001", 1) != blind(page.format(" real"), "p00001", 1)


def test_closed_and_opened_again_it_goes_on_at_the_same_picture(folder: Path) -> None:
    with polled(folder) as site:
        ada = Annotator(site, "Ada")
        for label in ("left", "none", "right"):
            ada.vote(label)
        picture = ada.picture()
    with polled(folder) as site:
        again = Annotator(site, "Ada")
        assert again.picture() == picture and "Picture 4 of 23" in again.look().text
        entered = site.get("/people?annotator=+Ada+", Authorization=BEARER)
        assert (entered.status, entered.headers["location"]) == (303, "/people/Ada")


def test_undo_takes_back_the_last_vote_of_this_annotator_alone(folder: Path) -> None:
    shown = shown_of(folder)
    with polled(folder) as site:
        ada, bob = Annotator(site, "Ada"), Annotator(site, "Bob")
        first = ada.picture()
        ada.vote("left")
        second = ada.picture()
        ada.vote("left")
        bob.vote("right")
        assert ada.undo().status == 303 and ada.picture() == second
        assert ada.send("undo", f"picture={second}").status == 400, "sent twice it undoes one vote"
        ada.vote("right")
        assert ada.undo().status == ada.undo().status == 303 and ada.picture() == first
        assert "/undo" not in ada.look().text and ada.send("undo", f"picture={first}").status == 400
        assert len(read_tally(folder, shown).of("Bob")) == 1


@pytest.mark.parametrize(
    ("where", "form", "text"),
    [
        ("/people/Ada/votes", "picture=p00000&label=lefft", "did you mean &#39;left&#39;"),
        ("/people/Ada/votes", "picture=p00000", "label &#39;&#39; is not known"),
        ("/people/Ada/votes", "picture=..%2Fitems.safetensors&label=left", "is not one of this repair"),
        ("/people/Ada/votes", "label=left", "is not one of this repair"),
        (
            "/people/%3Cb%3E/votes",
            "picture=p00000&label=left",
            "pseudonym &#39;&lt;b&gt;&#39; is not allowed",
        ),
        ("/people/Ada/undo", "picture=p00000", "Ada has no vote to undo"),
    ],
)
def test_a_wrong_vote_is_answered_by_a_page_that_names_it(
    folder: Path, where: str, form: str, text: str
) -> None:
    with polled(folder) as site:
        before = tree(folder)
        answer = site.get(where, "POST", form, Origin=site.url, Authorization=BEARER)
        assert answer.status == 400 and text in answer.text and "Nothing was saved" in answer.text
        assert tree(folder) == before


def test_a_vote_needs_the_token_and_a_page_of_this_server(folder: Path) -> None:
    with polled(folder) as site:
        ada = Annotator(site, "Ada")
        before = tree(folder)
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://[::1"},
            {"Origin": f"http://localhost:{site.port}"},
            {"Origin": site.url, "Sec_Fetch_Site": "cross-site"},
            {"Origin": site.url, "Sec_Fetch_Site": "same-site"},
            {"Origin": "http://evil.example", "Sec_Fetch_Site": "same-origin"},
        ):
            assert ada.vote("left", "p00000", **headers).status == 403
        form = "picture=p00000&label=left"
        bare = site.get("/people/Ada/votes", "POST", form, Authorization=BEARER)
        assert bare.status == 403 and "must come from a page of this server" in bare.text
        for wrong in ("", TOKEN, f"{BEARER}x", "Basic x"):
            assert ada.vote("left", "p00000", Authorization=wrong).status == 401
        assert ada.vote("left", "p00000", Host="evil.example", Origin="http://evil.example").status == 400
        assert ada.send("votes", form + "&more=" + "x" * 10_000).status == 413
        assert ada.site.get("/people/Ada/votes", "PUT", form, Authorization=BEARER).status == 405
        assert tree(folder) == before
        assert ada.vote("left", "p00000", Sec_Fetch_Site="same-origin").status == 303


def test_nothing_is_shown_without_the_token_and_nothing_else_with_it(folder: Path) -> None:
    with polled(folder) as site:
        for path in ("/", "/people/Ada", "/pictures/p00000.png", "/static/label.js", "/none"):
            assert site.get(path).status == 401
        for path in (
            "/pictures/items.safetensors", "/pictures/p00000", "/pictures/../items.safetensors", "/pictures/p99999.png",
            "/pictures/..%2Fitems.safetensors", "/pictures/p00000.png.png", "/static/report.html",
            "/static/../label.html", "/votes.jsonl", "/openapi.json", "/people", "/people/", "/people/Ada/votes/",
        ):  # fmt: skip
            assert site.get(path, Authorization=BEARER).status in (400, 404), path
        for path in ("/", "/people/Ada", "/pictures/p00000.png", "/none", "/static/label.css"):
            headers = site.get(path, Authorization=BEARER).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"


def test_pages_are_sound_html(folder: Path) -> None:
    with polled(folder) as site:
        ada = Annotator(site, "Ada")
        ada.vote("left")
        for path in ("/", "/people/Ada", "/people?annotator=.."):
            page = WithForms()
            page.feed(site.get(path, Authorization=BEARER).text)
            assert page.open == [] and all(
                reference.startswith(("/", "data:image")) for reference in page.references
            )
