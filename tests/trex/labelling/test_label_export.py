"""The exported page: it tells nothing of a picture, needs no network, and its CSV counts like any file of votes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.serving.labelling import WithForms, items_of, shown_of
from tests.worlds.repair_toy import label_by_files, toy
from trex.labelling.pages import export_page
from trex.labelling.poll import order_of
from trex.labelling.survey import Shown, class_choices
from trex.repair.decoders.label import VoteResult
from trex.repair.folder import open_repair
from trex.repair.votes_file import parse_votes

STUBS = """
const material = process.argv[1];
const part = { textContent: material, addEventListener() {} };
globalThis.document = { getElementById: () => part, addEventListener() {}, querySelectorAll: () => [] };
globalThis.window = { addEventListener() {} };
"""


def in_node(shown: Shown, ending: str) -> object:
    """The JSON that the exported page's script prints with this ending; skips the test without Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed (Debian: apt-get install nodejs)")
    page = export_page(shown)
    material = page.split('id="material">')[1].split("</script>")[0]
    script = page.split("<script>")[1].split("</script>")[0]
    text = STUBS.replace("const material", "const text").replace("textContent: material", "textContent: text")
    words = [node, "-e", f"{text}\n(() => {{{script}\n{ending}\n}})()", material]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: object = json.loads(done.stdout)
    return found


def test_an_exported_page_needs_nothing_from_elsewhere(folder: Path) -> None:
    text = export_page(shown_of(folder))
    page = WithForms()
    page.feed(text)
    assert page.open == [] and page.references == [] and "http://" not in text and "https://" not in text
    assert "default-src 'none'; img-src data:" in text and "fetch(" not in text


def test_an_exported_page_tells_nothing_of_a_picture_but_its_pixels(folder: Path) -> None:
    shown, items = shown_of(folder), items_of(folder)
    text = export_page(shown)
    material = json.loads(text.split('id="material">')[1].split("</script>")[0])
    assert set(material) == {"key", "columns", "question", "pictures"} and material["key"] == shown.key
    assert [name for name, _, _ in material["pictures"]] == sorted(items.names)
    for _, url, caption in material["pictures"]:
        assert re.fullmatch(r"data:image/png;base64,[A-Za-z0-9+/=]+", url) and caption == ""
    remaining = text.replace(json.dumps(material["pictures"]), "")
    assert not re.search(r"p\d{5}|truth|component|scenario|model|hidden check|repeated", remaining)


def test_class_names_are_text_and_never_markup(folder: Path) -> None:
    shown = shown_of(folder)
    survey = replace(shown.survey, choices=class_choices(("<script>alert(1)</script>", "T-shirt/top")))
    text = export_page(Shown(shown.pictures, survey, shown.digest, "</script>"))
    assert "<script>alert" not in text and text.count("</script>") == 2 and "&lt;script&gt;" in text


@pytest.mark.process
def test_an_exported_page_has_the_order_of_the_served_one_and_csv_that_is_accepted(
    folder: Path, tmp_path: Path
) -> None:
    shown, items, loaded = shown_of(folder), items_of(folder), toy()
    truth = (loaded.generator.encode(items.pictures).mean[:, 0] > 0).astype(int)
    answers = [[name, shown.survey.labels[output]] for name, output in zip(items.names, truth, strict=True)]
    ending = f"""console.log(JSON.stringify({{
        orders: ["Ada", "b-_9"].map((who) => orderOf(who, material.pictures.map(([name]) => name), material.key)),
        csv: csvOf(material.columns, "Ada", {json.dumps(answers)}),
        quoted: csvOf(material.columns, "Ada", [["p00000", 'a, "b"']]),
    }}))"""
    found = in_node(shown, ending)
    assert isinstance(found, dict)
    names = tuple(shown.pictures)
    assert found["orders"] == [list(order_of(who, names, shown.key)) for who in ("Ada", "b-_9")]
    quoted = parse_votes(found["quoted"], tmp_path, names, ('a, "b"',))
    assert quoted.table[0, 0] == 0
    path = tmp_path / "votes-Ada.csv"
    path.write_text(found["csv"])
    with open_repair(folder) as opened:
        label_by_files(opened, loaded, [path], ())
        result = opened.found("label", VoteResult)
    assert result.who == "one annotator" and len(result.scenarios) == 1
