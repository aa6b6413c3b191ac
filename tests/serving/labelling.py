"""The page on which people label pictures, of a repair of the toy, and what an annotator does on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.serving.html_page import Page
from tests.serving.served import Answer, Site, answering
from tests.worlds.repair_toy import toy, toy_folder, toy_query
from trex.foundation.progress import silent
from trex.labelling.label_app import make_label_app
from trex.labelling.poll import Poll
from trex.labelling.polls import read_shown
from trex.labelling.survey import Shown
from trex.labelling.votes import VoteLog
from trex.repair.decoders.pictures import ITEMS, Items, read_items
from trex.repair.folder import open_repair
from trex.repair.steps import distill, draw, identify

TOKEN = "0123456789abcdef-the-token"
BEARER = f"Bearer {TOKEN}"
OF_FORMS = ("form", "fieldset", "legend")
QUERY = {"label": {"pictures": 20}}


def draw_repair(path: Path) -> None:
    """Begin a repair of the toy with 23 pictures: 20 of its component, 2 checks, 1 repeat."""
    loaded = toy()
    with toy_folder(path, loaded, toy_query(**QUERY)) as folder:
        identify(folder, loaded, silent)
        distill(folder, loaded, silent)
        draw(folder, loaded)
    text = (path / "repair.toml").read_text()
    (path / "repair.toml").write_text(text.replace("[label]", "[label]\npictures = 20"))


def items_of(path: Path) -> Items:
    """What its pictures are, which no annotator may see."""
    return read_items(path / "pictures" / ITEMS)


def shown_of(path: Path) -> Shown:
    """What its annotators are shown."""
    with open_repair(path) as folder:
        return read_shown(folder)


@contextmanager
def polled(path: Path, log: VoteLog | None = None) -> Iterator[Site]:
    """Its page, with another log if one is given."""
    shown = shown_of(path)
    poll = Poll(shown, VoteLog(path, shown) if log is None else log)
    try:
        with answering(make_label_app(poll, TOKEN)) as site:
            yield site
    finally:
        poll.close()


@contextmanager
def started(*words: str | Path) -> Iterator[tuple[subprocess.Popen[str], Site]]:
    """`trex WORDS --serve` as a process of its own, and its page."""
    process = subprocess.Popen(
        [sys.executable, "-m", "trex.commands.shell.app", *map(str, words), "--serve", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PYTHONUNBUFFERED": "1", "PATH": os.environ["PATH"], "TREX_TOKEN": TOKEN},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        text = process.stderr.readline()
        assert f"http://trex:{TOKEN}@127.0.0.1:" in text
        yield process, Site(int(text.split("/ (Ctrl-C")[0].rsplit(":", 1)[1]))
    finally:
        process.kill()
        process.communicate(timeout=60)


class WithForms(Page):
    """The kit's reader takes no forms."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag("div" if tag in OF_FORMS else tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag("div" if tag in OF_FORMS else tag)


@dataclass
class Annotator:
    """A browser without JavaScript that has the token: it reads forms and sends them."""

    site: Site
    name: str

    def look(self) -> Answer:
        """The page as it is now."""
        return self.site.get(f"/people/{self.name}", Authorization=BEARER)

    def picture(self) -> str:
        """The picture that is asked about; "" after the last."""
        text = self.look().text
        return hidden(text) if 'class="sharp"' in text else ""

    def vote(self, label: str, picture: str | None = None, **headers: str) -> Answer:
        """The answer to a vote, on the picture that is asked about if none is given."""
        shown = self.picture() if picture is None else picture
        return self.send("votes", f"picture={shown}&label={label}", **headers)

    def undo(self) -> Answer:
        """The answer to the undo button."""
        return self.send("undo", f"picture={hidden(self.look().text.split('/undo')[1])}")

    def send(self, where: str, form: str, **headers: str) -> Answer:
        """The answer to a form that comes from the page unless other headers are given."""
        own = {"Origin": self.site.url, "Authorization": BEARER}
        return self.site.get(f"/people/{self.name}/{where}", "POST", form, **{**own, **headers})


def hidden(text: str) -> str:
    """The picture in the first form of a page."""
    return text.split('name="picture" value="')[1].split('"')[0]
