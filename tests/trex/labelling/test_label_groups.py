"""Many classes on the label page: traffic signs in six groups with examples of the user's own, by hand and by keys."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from reproduce.datasets.signs import GROUPS, NAMES
from tests.serving.browser import chromium, console, open_page
from tests.serving.labelling import BEARER, TOKEN, Annotator, WithForms, shown_of
from tests.serving.served import Site, answering
from tests.trex.labelling.test_label_browser import exported, fits, press, said
from tests.worlds.repair_toy import toy, toy_folder, toy_query
from trex.foundation.progress import silent
from trex.labelling.label_app import make_label_app
from trex.labelling.pages import export_page
from trex.labelling.poll import Poll
from trex.labelling.polls import read_shown
from trex.labelling.survey import Shown, class_choices
from trex.labelling.votes import Tally, VoteLog
from trex.repair.decoders.loaded import Loaded, validation_rows
from trex.repair.decoders.pictures import EXAMPLES, example_rows
from trex.repair.steps import distill, draw, identify
from trex.runs.picture_files import to_png

pytestmark = pytest.mark.usefixtures("signs")
DOZEN = tuple(f"class {number}" for number in range(12))


def made_picture(number: int) -> bytes:
    """A picture of one color, 32x32, which stands for a sign: no sign is part of this repository."""
    return to_png(np.full((32, 32, 3), (5 * number, 255 - 5 * number, 80), np.uint8))


def signs_of(folder: Path) -> Shown:
    """The toy's pictures, called signs, with a made example of all classes but the last."""
    shown = shown_of(folder)
    examples = {name: made_picture(number) for number, name in enumerate(NAMES[:-1])}
    return replace(shown, survey=replace(shown.survey, choices=class_choices(NAMES)), examples=examples)


@contextmanager
def polled_signs(folder: Path) -> Iterator[tuple[Site, Tally]]:
    shown = signs_of(folder)
    log = VoteLog(folder, shown)
    poll = Poll(shown, log)
    try:
        with answering(make_label_app(poll, TOKEN)) as site:
            yield site, log.tally
    finally:
        poll.close()


def test_every_sign_is_in_one_of_six_groups_and_has_keys_of_its_own() -> None:
    assert sorted(number for _, members in GROUPS for number in members) == list(range(43))
    choices = class_choices(NAMES)
    assert sorted(choice.label for choice in choices[:-1]) == sorted(NAMES) and choices[-1].key == "n"
    keys = [choice.key for choice in choices]
    assert len(set(keys)) == 44 and not {key[0] for key in keys[:-1]} & {"n", "u"}
    assert all(re.fullmatch("[1-6][a-z]", key) and key[1] not in "nu" for key in keys[:-1])
    by_label = {choice.label: choice for choice in choices}
    assert by_label["Stop"].group == by_label["Yield"].group != by_label["Road work"].group == "Danger"
    assert by_label["End of speed limit (80km/h)"].group == "Ends of restrictions"


def test_other_classes_keep_their_keys_and_stand_in_no_group() -> None:
    digits = class_choices(tuple("0123456789"))
    assert [digit.key for digit in digits] == [*"0123456789", "n"] and not any(
        digit.group for digit in digits
    )
    assert not any(choice.group for choice in class_choices(("Stop", "Go")))  # a class that is no sign


def test_the_page_has_six_groups_with_examples_and_takes_votes_without_a_script(folder: Path) -> None:
    with polled_signs(folder) as (site, tally):
        ada = Annotator(site, "Ada")
        text = ada.look().text
        assert re.findall(r"<legend>(.*?) <kbd>", text) == [title for title, _ in GROUPS]
        assert text.count('<button name="label"') == 43 and text.count('class="none"') == 1
        urls = re.findall(r'<img src="(/examples/[^"]+)" width="48" height="48" alt="">', text)
        assert len(set(urls)) == 42  # none is invented for the class without one
        assert all(site.get(url, Authorization=BEARER).status == 200 for url in urls)
        for path in (
            "/examples/042.png",
            "/examples/../pictures/p00000.png",
            "/examples/0.png",
            "/examples/",
        ):
            assert site.get(path, Authorization=BEARER).status in (400, 404), path
        assert site.get(urls[0]).status == 401
        assert ada.vote("Stop").status == ada.vote("none").status == 303
        assert ada.vote("left").status == 400
        assert sorted(tally.of("Ada").values()) == ["Stop", "none"]


def test_an_example_stands_on_the_button_of_its_class(folder: Path) -> None:
    shown = signs_of(folder)
    text = export_page(shown)
    buttons = re.findall(
        r'<button name="label" value="([^"]+)" data-key="..">(?:<img src="([^"]+)"[^>]*>)?', text
    )
    assert len(buttons) == 43
    for name, url in buttons:
        number = NAMES.index(name.replace("&#39;", "'"))
        if number == 42:
            assert url == ""
            continue
        data = re.fullmatch(r"data:image/png;base64,([A-Za-z0-9+/=]+)", url)
        assert data is not None
        assert base64.b64decode(data[1]) == made_picture(number)
    material = json.loads(text.split('id="material">')[1].split("</script>")[0])
    assert set(material) == {"key", "columns", "question", "pictures"}


def test_pages_with_groups_are_sound_html(folder: Path) -> None:
    with polled_signs(folder) as (site, _):
        page = WithForms()
        page.feed(Annotator(site, "Ada").look().text)
    assert page.open == []


def outlined(browser: Chrome) -> list[str]:
    return [
        str(element.get_attribute("data-prefix"))
        for element in browser.find_elements(By.CSS_SELECTOR, "fieldset.typed")
    ]


@pytest.mark.process
def test_signs_are_labelled_by_two_keys(folder: Path) -> None:
    with polled_signs(folder) as (site, tally), chromium() as browser:
        open_page(browser, site.url.replace("//", f"//trex:{TOKEN}@"))
        said(browser, "Pseudonym")
        press(browser, "Ada", Keys.ENTER)
        said(browser, "Picture 1 of 23")
        fits(browser)
        press(browser, "1")
        assert outlined(browser) == ["1"]
        press(browser, "b")
        said(browser, "Picture 2 of 23")
        press(browser, "b", "x")  # a letter without its group says nothing
        press(browser, "5", Keys.BACKSPACE)  # takes back the group, not the vote
        assert outlined(browser) == [] and "Picture 2 of 23" in browser.find_element(By.TAG_NAME, "main").text
        press(browser, "1", "6")  # another group after all
        assert outlined(browser) == ["6"]
        press(browser, "c")
        said(browser, "Picture 3 of 23")
        press(browser, "5", "n")
        said(browser, "Picture 4 of 23")
        press(browser, Keys.BACKSPACE)
        said(browser, "Picture 3 of 23")
        browser.find_element(By.CSS_SELECTOR, 'button[value="Pedestrians"]').send_keys(Keys.SPACE)
        said(browser, "Picture 4 of 23")
        assert console(browser) == []
        assert list(tally.of("Ada").values()) == ["Speed limit (30km/h)", "Stop", "Pedestrians"]


@pytest.mark.process
def test_the_exported_page_takes_the_same_keys(folder: Path, tmp_path: Path) -> None:
    with exported(tmp_path / "page.html", signs_of(folder)) as browser:
        press(browser, "Ada", Keys.ENTER)
        said(browser, "Picture 1 of 23")
        fits(browser)
        press(browser, "1", "b", "6", "c", "5", "n")
        said(browser, "Picture 4 of 23")
        stored = browser.execute_script("return Object.values(localStorage)[0]")
        assert [label for _, label in json.loads(str(stored))] == ["Speed limit (30km/h)", "Stop", "none"]
        assert console(browser) == []


def a_dozen_classes() -> Loaded:
    """The toy with twelve classes, in turn, and none of the last one among its training pictures."""
    loaded = toy()
    train, test = (
        replace(data_set, names=DOZEN, labels=(np.arange(500) % n).astype(np.uint8))
        for data_set, n in ((loaded.train, 11), (loaded.test, 12))
    )
    return replace(loaded, model=replace(loaded.model, labels=DOZEN), train=train, test=test)


def test_a_repair_of_many_classes_shows_a_clear_picture_of_each_from_the_users_training_data(
    tmp_path: Path,
) -> None:
    loaded = a_dozen_classes()
    with toy_folder(tmp_path / "r", loaded, toy_query()) as folder:
        identify(folder, loaded, silent)
        distill(folder, loaded, silent)
        place = draw(folder, loaded)
        shown = read_shown(folder)
        learning, judging = validation_rows(folder.query, loaded.train)
    assert sorted(path.name for path in (place / EXAMPLES).iterdir()) == [f"{k:03}.png" for k in range(11)]
    assert tuple(shown.examples) == DOZEN[:11] and not any("/" in name for name in shown.pictures)
    rows = example_rows(loaded.train, learning)
    assert not set(rows.values()) & set(judging.tolist())
    for number, row in rows.items():
        picture = np.asarray(Image.open(io.BytesIO(shown.examples[DOZEN[number]])))
        assert (picture == loaded.train.images[row]).all() and loaded.train.labels[row] == number
        same = [item for item in learning if loaded.train.labels[item] == number]
        assert max(sharpness(loaded.train.images[item]) for item in same) == pytest.approx(sharpness(picture))


def sharpness(picture: np.ndarray) -> float:
    """The mean difference of neighboring pixels of the inner half, upwards and sideways."""
    inner = picture[7:21, 7:21].astype(float)
    return float(np.abs(inner[1:] - inner[:-1]).mean() + np.abs(inner[:, 1:] - inner[:, :-1]).mean())


def test_an_example_is_no_dark_sign_before_a_bright_sky() -> None:
    images = np.full((2, 28, 28), 120, np.uint8)
    images[0, 7:21, 7:21] = 20  # planted: the greater contrast is around the sign
    images[0, :7] = 255
    images[1, 10:18, 10:18] = 200
    data = replace(toy().train, images=images, labels=np.zeros(2, np.uint8))
    assert images[0].std() > images[1].std() and example_rows(data, np.arange(2)) == {0: 1}


def test_few_classes_need_no_examples(folder: Path) -> None:
    assert not (folder / "pictures" / EXAMPLES).exists() and shown_of(folder).examples == {}
