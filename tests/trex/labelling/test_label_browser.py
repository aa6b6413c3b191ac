"""The page in a browser, by keyboard alone; and the exported file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.running.waiting import wait_for
from tests.serving.browser import await_frame, chromium, console, open_page
from tests.serving.labelling import TOKEN, polled, shown_of
from tests.worlds.repair_toy import toy
from trex.inference.repair.votes import NONE
from trex.labelling.pages import write_page
from trex.labelling.poll import order_of
from trex.labelling.survey import Shown
from trex.labelling.votes import read_tally
from trex.repair.votes_file import parse_votes

WIDE = "return document.documentElement.scrollWidth <= innerWidth"


def press(browser: Chrome, *keys: str) -> None:
    """These keys, to whatever has the focus."""
    ActionChains(browser).send_keys(*keys).perform()


@contextmanager
def exported(page: Path, shown: Shown) -> Iterator[Chrome]:
    """A browser at this page, written now, which Ada is about to enter."""
    write_page(page, shown)
    with chromium() as browser:
        open_page(browser, page.as_uri())
        yield browser


def said(browser: Chrome, words: str) -> None:
    """Wait until the page says these words and its script runs."""
    whole = "return document.readyState === 'complete' ? document.querySelector('main').innerText : ''"
    WebDriverWait(browser, 30, ignored_exceptions=[WebDriverException]).until(
        lambda _: words in browser.execute_script(whole)
    )


def fits(browser: Chrome) -> None:
    """Nothing is wider than a small or a large window, and each pixel is at least 8 of the screen's."""
    for width in (390, 1400):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        assert browser.execute_script(WIDE), width
        sharp = browser.find_element(By.CLASS_NAME, "sharp")
        assert sharp.size["width"] >= 8 * 28 and sharp.value_of_css_property("image-rendering") == "pixelated"
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def starts(browser: Chrome) -> None:
    """The pseudonym is typed as it is, also on a phone, and the button stands apart from it."""
    metrics = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    field, button = (
        browser.find_element(By.ID, "annotator"),
        browser.find_element(By.CSS_SELECTOR, "form button"),
    )
    assert field.get_attribute("autocapitalize") == "none" and field.get_attribute("spellcheck") == "false"
    first, second = field.rect, button.rect
    across = second["x"] - first["x"] - first["width"]
    assert max(across, second["y"] - first["y"] - first["height"]) >= 6
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.process
def test_people_label_by_keyboard_alone(folder: Path) -> None:
    with polled(folder) as site, chromium() as browser:
        open_page(browser, site.url.replace("//", f"//trex:{TOKEN}@"))
        said(browser, "Pseudonym")
        starts(browser)
        assert TOKEN not in browser.execute_script("return location.href + document.referrer")
        press(browser, "Ada", Keys.ENTER)
        said(browser, "Picture 1 of 23")
        fits(browser)
        for number, key in enumerate("01n", start=2):
            press(browser, key)
            said(browser, f"Picture {number} of 23")
        press(browser, "u")
        said(browser, "Picture 3 of 23")
        press(browser, Keys.BACKSPACE)
        said(browser, "Picture 2 of 23")
        press(browser, *[Keys.TAB] * 3)
        focused = browser.switch_to.active_element
        assert focused.text.startswith("right") and focused.value_of_css_property("outline-style") == "solid"
        press(browser, Keys.SPACE)
        said(browser, "Picture 3 of 23")
        for number in range(4, 24):
            press(browser, "1")
            said(browser, f"Picture {number} of 23")
        press(browser, "1")
        said(browser, "All 23 pictures are labeled")
        assert console(browser) == []
    cast = read_tally(folder, shown := shown_of(folder)).of("Ada")
    assert list(cast) == list(order_of("Ada", tuple(shown.pictures), shown.key))
    assert list(cast.values()) == ["left", *["right"] * 22]


@pytest.mark.process
def test_answers_in_two_tabs_of_an_exported_page_are_all_kept(folder: Path, tmp_path: Path) -> None:
    """Planted bug: an answer in the first tab wrote over those of the second."""
    page = tmp_path / "page.html"
    with exported(page, shown_of(folder)) as browser:
        press(browser, "Ada", Keys.ENTER, "0")
        said(browser, "Picture 2 of 23")
        first = browser.current_window_handle
        browser.switch_to.new_window("tab")
        open_page(browser, page.as_uri())
        press(browser, "Ada", Keys.ENTER, "0", "0")
        said(browser, "Picture 4 of 23")
        browser.switch_to.window(first)
        said(browser, "Picture 4 of 23")
        press(browser, "1")
        browser.refresh()
        await_frame(browser)
        press(browser, "Ada", Keys.ENTER)
        said(browser, "Picture 5 of 23")


@pytest.mark.process
def test_an_exported_page_is_answered_by_keyboard_and_downloaded(folder: Path, tmp_path: Path) -> None:
    shown = shown_of(folder)
    with exported(tmp_path / "page.html", shown) as browser:
        browser.execute_cdp_cmd(
            "Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
        )
        starts(browser)
        press(browser, "Ada", Keys.ENTER)
        said(browser, "Picture 1 of 23")
        fits(browser)
        press(browser, "0", "1", "u")
        said(browser, "Picture 2 of 23")
        browser.refresh()
        await_frame(browser)
        press(browser, "Ada", Keys.ENTER)
        said(browser, "Picture 2 of 23")
        press(browser, *["n"] * 22)
        said(browser, "All pictures are labeled")
        browser.find_element(By.ID, "download").send_keys(Keys.ENTER)
        wait_for((tmp_path / "votes-Ada.csv").exists, 60.0)
        assert console(browser) == []
    text = (tmp_path / "votes-Ada.csv").read_text()
    votes = parse_votes(text, tmp_path, tuple(shown.pictures), toy().model.labels)
    order = order_of("Ada", tuple(shown.pictures), shown.key)
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == list(order)
    assert sorted(votes.table[:, 0].tolist()) == [NONE] * 22 + [0]
