"""The pages of explained and compared runs, as a person uses them: in headless Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from tests.running.command_line import trex_done
from tests.running.looks import add_looks
from tests.running.runs import change_manifest, run
from tests.serving.browser import chromium, console, open_page
from trex.explain.explain_run import explain
from trex.explain.options import ExplainOptions
from trex.explain.run_families import describe
from trex.finding.conclude import Outcome, conclude_run
from trex.foundation.errors import InputError
from trex.foundation.progress import silent
from trex.report.compare import compare
from trex.report.compare_page import write_comparison
from trex.report.first_screen import tone
from trex.runs.draw_log import read_draws
from trex.runs.folder import open_run
from trex.runs.open_world import open_world
from trex.search.hit import count_known
from trex.search.judging.headline import headline

EXPLAINED = 8


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    outcome = run(tmp_path_factory.mktemp("pages"), ["search.steps=40", "search.seed=3"])
    with open_run(outcome.folder, for_writing=True) as folder:
        options = ExplainOptions(top=EXPLAINED, nuisances=0, flip_renders=4)
        explain(folder, options, silent, lambda: open_world(folder))
        records = read_draws(folder.draws)
        describe(folder, records, silent)
        return conclude_run(folder, records)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Chrome, done: Outcome) -> Chrome:
    open_page(browser, done.report.as_uri())
    return browser


def shown(page: Chrome) -> list[WebElement]:
    return [card for card in page.find_elements(By.CSS_SELECTOR, ".scene") if card.is_displayed()]


def choose(page: Chrome, control: str, value: str) -> None:
    Select(page.find_element(By.ID, control)).select_by_value(value)


def numbers(page: Chrome) -> list[int]:
    return [int(card.get_attribute("data-number") or 0) for card in shown(page)]


def test_it_loads_without_a_complaint(page: Chrome, done: Outcome) -> None:
    assert len(shown(page)) == len(done.results.found[:24])
    assert page.find_element(By.ID, "count").text == f"{len(shown(page))} of {len(shown(page))} scenes shown"
    is_broken = "i => i.getAttribute('src') && i.loading !== 'lazy' && !i.naturalWidth"
    assert page.execute_script(f"return [...document.images].filter({is_broken}).length") == 0
    assert console(page) == []


def test_a_script_that_is_not_the_page_s_own_is_refused(page: Chrome) -> None:
    page.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.evil = 1'; document.body.append(s)"
    )
    assert page.execute_script("return window.evil") is None
    assert any("Content Security Policy" in line for line in console(page))


def test_families_come_first_each_by_its_most_confident_scene(page: Chrome, done: Outcome) -> None:
    families = done.results.families
    heads = families.known
    assert heads
    cards = shown(page)
    for family, card in zip(heads, cards, strict=False):
        assert int(card.get_attribute("data-number") or 0) == family.representative + 1
        text = card.find_element(By.CSS_SELECTOR, ".family").text
        assert text.startswith(f"Family {family.number} {family.words[:1].upper()}{family.words[1:]}")
        rate = (
            f"this family: {family.how_often} of random scenes"
            if family.rate
            else "no scene of the random sample is in it"
        )
        assert (
            text.replace("\u00a0", " ")
            .splitlines()[1]
            .startswith(f"{family.size} scene{'' if family.size == 1 else 's'}, ")
        )
        assert rate.replace("\u00a0", " ") in text.replace("\u00a0", " ")
    assert not any(card.find_elements(By.CSS_SELECTOR, ".family") for card in cards[len(heads) :])


def test_filter_by_family_with_the_keyboard_alone(page: Chrome, done: Outcome) -> None:
    families = done.results.families
    several = next(family for family in families.known if family.size > 1)
    members = [place + 1 for place in several.members]
    buttons = {
        button.get_attribute("data-family"): button
        for button in page.find_elements(By.CSS_SELECTOR, ".members")
    }
    buttons[str(several.number)].send_keys(Keys.ENTER)
    assert numbers(page) == members
    assert page.find_element(By.ID, "count").text == f"{len(members)} of {len(families.numbers)} scenes shown"
    assert page.switch_to.active_element == page.find_element(By.ID, "family")  # to go back from
    choose(page, "kind", "explained")
    assert numbers(page) == [k for k in members if k <= EXPLAINED]
    choose(page, "kind", "all")
    choose(page, "family", "all")
    assert len(numbers(page)) == len(families.numbers)
    assert console(page) == []


def test_filter_by_kind(page: Chrome, done: Outcome) -> None:
    choose(page, "order", "number")
    choose(page, "kind", "wrong")
    wrong = [k for k, found in enumerate(done.results.found[:24], start=1) if found.is_wrong]
    assert numbers(page) == wrong
    choose(page, "kind", "explained")
    assert numbers(page) == list(range(1, EXPLAINED + 1))
    choose(page, "kind", "all")
    assert len(numbers(page)) == len(done.results.found[:24])


def test_filter_by_an_object(page: Chrome, done: Outcome) -> None:
    choose(page, "order", "number")
    page.find_element(By.ID, "words").send_keys("metal brown")
    fitting = [
        k for k, found in enumerate(done.results.found[:24], start=1)
        if any((o.material, o.color) == ("metal", "brown") for o in found.record.scene.objects)
    ]  # fmt: skip
    assert numbers(page) == fitting
    assert page.find_element(By.ID, "count").text.startswith(f"{len(fitting)} of ")
    page.find_element(By.ID, "words").send_keys(" zebra")
    assert numbers(page) == []


def test_sort(page: Chrome, done: Outcome) -> None:
    truths = [found.truth for found in done.results.found[:24]]
    choose(page, "order", "truth")
    assert [truths[k - 1] for k in numbers(page)] == sorted(truths)
    choose(page, "order", "effect")
    effects = [float(card.get_attribute("data-effect") or 0) for card in shown(page)]
    assert effects == sorted(effects)
    assert effects[0] < 0
    choose(page, "order", "step")
    steps = [int(card.get_attribute("data-step") or 0) for card in shown(page)]
    assert steps == list(range(len(steps)))
    choose(page, "order", "number")
    assert numbers(page) == list(range(1, len(truths) + 1))


def test_enlarge_with_the_keyboard_alone(page: Chrome) -> None:
    buttons = page.find_elements(By.CSS_SELECTOR, "button.zoom")
    buttons[0].send_keys(Keys.ENTER)
    dialog = page.find_element(By.ID, "enlarged")
    assert dialog.is_displayed()
    image = dialog.find_element(By.TAG_NAME, "img")
    first = image.get_attribute("src")
    assert first == buttons[0].find_element(By.TAG_NAME, "img").get_attribute("src")
    assert (image.get_attribute("alt") or "").startswith("Rendered scene")
    assert "true answer" in dialog.find_element(By.TAG_NAME, "p").text
    assert page.switch_to.active_element.text == "Close"
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert image.get_attribute("src") != first
    page.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert image.get_attribute("src") == first
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not dialog.is_displayed()
    assert page.switch_to.active_element == buttons[0]
    assert console(page) == []


def test_a_key_before_the_page_stands_is_no_complaint(browser: Chrome, done: Outcome) -> None:
    at_once = "addEventListener('DOMContentLoaded', () => document.querySelector('button.zoom')?.focus())"
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": at_once})
    try:
        open_page(browser, done.report.as_uri())
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    assert "zoom" in (browser.switch_to.active_element.get_attribute("class") or "")
    assert console(browser) == []


def test_the_strip_shows_every_removal_and_marks_the_object_responsible(page: Chrome, done: Outcome) -> None:
    choose(page, "order", "number")
    for card in shown(page)[:EXPLAINED]:
        shots = card.find_elements(By.CSS_SELECTOR, ".shot")
        assert len(shots) == 6  # nothing left out, and each of five objects
        blamed = [k for k, shot in enumerate(shots) if "responsible" in (shot.get_attribute("class") or "")]
        says = card.find_element(By.CSS_SELECTOR, ".why").text
        match = re.search(r"^.*responsible.*$", says.partition("\n")[2], re.MULTILINE)
        named = re.findall(r"\(object (\d)\)", match[0].partition("responsible")[0]) if match else []
        assert blamed == sorted(int(index) + 1 for index in named)
        assert "every probability are exactly the same" in says


def test_every_picture_and_control_has_a_name(page: Chrome) -> None:
    nameless = page.execute_script(
        "return [...document.querySelectorAll('button, select, input, img, [role=region], section, article')]"
        ".filter(e => !e.closest('dialog') && !(e.alt || e.textContent.trim() || e.getAttribute('aria-label')"
        " || e.labels?.length || e.querySelector('img[alt]'))).length"
    )
    assert nameless == 0


def test_a_phone_does_not_scroll_sideways(page: Chrome) -> None:
    page.set_window_size(500, 800)
    try:
        assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        page.set_window_size(1200, 1000)


def test_the_comparison_page(browser: Chrome, done: Outcome, tmp_path: Path) -> None:
    other = run(tmp_path, ["target.kind=threshold", "search.steps=0", "search.seed=3"], "other")
    path = tmp_path / "comparison.html"
    write_comparison(compare([done.folder, other.folder]), path)
    open_page(browser, path.as_uri())
    assert console(browser) == []
    table = browser.find_element(By.CSS_SELECTOR, "[aria-label='Paired tests']").text
    assert "right answers" in table
    assert browser.find_element(By.CSS_SELECTOR, "[aria-label='Runs']").text.count("FOUND") == 2


def test_a_run_is_not_compared_with_itself(done: Outcome) -> None:
    with pytest.raises(InputError, match="twice"):
        compare([done.folder, done.folder])


def test_other_questions_are_not_tested(done: Outcome, tmp_path: Path) -> None:
    other = run(
        tmp_path, ['question="How many blue things are there?"', "search.steps=0", "search.seed=3"], "other"
    )
    found = compare([done.folder, other.folder])
    assert found.tests == ()
    assert "different questions" in found.unpaired[0]
    page = tmp_path / "compared.html"
    said = trex_done("report", done.folder, other.folder, "--out", page).stdout
    assert said == f"{found}\nreport: {page}\n"


def test_scenes_that_each_model_chose_for_itself_are_not_tested(tmp_path: Path) -> None:
    """Planted bug: a scene that one model alone fails on is in that model's sample alone, so that pairs look alike."""
    banked = ["search.bank=40", "search.prior_scenes=12", "search.steps=0"]
    paths = [run(tmp_path, [*banked, f"search.seed={k}"], f"banked{k}").folder for k in range(2)]
    found = compare(paths)
    assert found.tests == () and "chosen from a bank by the answers of its own model" in found.unpaired[0]
    whole = ["search.bank=40", "search.prior_scenes=40", "search.steps=0"]
    paths = [run(tmp_path, [*whole, f"search.seed={k}"], f"whole{k}").folder for k in range(2)]
    assert compare(paths).tests


def test_pictures_of_another_renderer_are_not_tested(tmp_path: Path) -> None:
    """Another Blender or device gives other pixels: a difference would be the pictures'."""
    path, other = (run(tmp_path, ["search.steps=0"], name).folder for name in ("one", "other"))
    assert compare([path, other]).tests
    change_manifest(other, lambda data: data["made"].update(renderer=f"another {data['made']['renderer']}"))
    found = compare([path, other])
    assert found.tests == () and "different renderers" in found.unpaired[0]


def test_a_question_without_an_answer_is_answered_neither_rightly_nor_wrongly(tmp_path: Path) -> None:
    """Planted bug: where CLEVR has no answer, every answer was wrong."""
    ask = ['question="What color is the sphere?"', "answer=red", "target.kind=threshold"]
    ask += ["target.threshold=1e-6", "search.prior_scenes=40", "search.steps=0"]
    done = run(tmp_path, ask)
    found = done.results.found
    unknown = [hit for hit in found if hit.truth == "no answer"]
    assert 0 < len(unknown) < len(found)
    assert all((hit.is_wrong is None) == (hit in unknown) for hit in found)
    n_wrong = sum(hit.is_wrong is True for hit in found)
    text = headline(done.manifest, done.results)
    assert (
        f"in {n_wrong} of them the answer is wrong" in text
        and f"in {len(unknown)} the question has no" in text
    )
    page = (done.folder / "report.html").read_text()
    assert page.count('<p class="truth">True answer') == len(unknown)
    assert page.count('<p class="truth wrong">') == n_wrong


def test_how_many_are_wrong_is_not_said_where_it_is_unknown() -> None:
    """Planted bug: pictures whose truth nobody knows were shown as 0 wrong answers."""
    assert count_known([None, None]) is None
    assert count_known([]) == 0
    assert count_known([None, True, False, True]) == 2


def test_other_scenes_are_not_tested(done: Outcome, tmp_path: Path) -> None:
    other = run(tmp_path, ["search.seed=9", "search.steps=0"], "other")
    assert "no prior scene is in both" in compare([done.folder, other.folder]).unpaired[0]


@pytest.fixture(scope="module")
def enlarged(done: Outcome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run, two of whose scenes were rendered large."""
    outcome = run(tmp_path_factory.mktemp("large"), ["search.steps=40"])
    add_looks(outcome.folder, 2)
    with open_run(outcome.folder, for_writing=False) as folder:
        return conclude_run(folder, read_draws(folder.draws)).report


@contextmanager
def phone(browser: Chrome) -> Iterator[None]:
    """A screen of 390 by 844 that is touched."""
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def swipe(browser: Chrome, begin: int, end: int) -> None:
    for kind, x in (("touchStart", begin), ("touchMove", end), ("touchEnd", None)):
        points = [] if x is None else [{"x": x, "y": 300}]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def natural_width(browser: Chrome) -> int:
    browser.execute_async_script("document.querySelector('#enlarged img').decode().then(arguments[0])")
    return int(browser.execute_script("return document.querySelector('#enlarged img').naturalWidth"))


def test_enlarging_shows_the_larger_look_and_says_that_it_is_one(browser: Chrome, enlarged: Path) -> None:
    open_page(browser, enlarged.as_uri())
    dialog = browser.find_element(By.ID, "enlarged")
    browser.find_elements(By.CSS_SELECTOR, ".scene button.zoom")[0].click()
    assert natural_width(browser) == 480
    text = dialog.find_element(By.CSS_SELECTOR, ".note").text
    assert text.startswith("The same scene at preset reference, 480×320. There the model says ")
    dialog.find_element(By.CSS_SELECTOR, "button.on").click()
    dialog.find_element(By.CSS_SELECTOR, "button.on").click()
    assert natural_width(browser) == 120
    assert (
        dialog.find_element(By.CSS_SELECTOR, ".note").text == "As the model saw it, 120×80 pixels, scaled up."
    )
    assert dialog.find_element(By.CSS_SELECTOR, ".place").text.startswith("3 of ")
    dialog.find_element(By.CSS_SELECTOR, "button.back").click()
    assert natural_width(browser) == 480
    dialog.find_element(By.CSS_SELECTOR, "button.close").click()
    assert not dialog.is_displayed()
    assert console(browser) == []


def test_on_a_phone_the_enlarged_picture_fills_the_screen_and_is_swiped(
    browser: Chrome, enlarged: Path
) -> None:
    with phone(browser):
        open_page(browser, enlarged.as_uri())
        card = browser.find_elements(By.CSS_SELECTOR, ".scene button.zoom")[0]
        small = card.size["width"]
        card.click()
        dialog = browser.find_element(By.ID, "enlarged")
        across = browser.execute_script("return document.documentElement.clientWidth")
        assert (dialog.size["width"], dialog.size["height"]) == (across, 844)
        assert dialog.find_element(By.TAG_NAME, "img").size["width"] == across > small
        swipe(browser, 300, 100)
        assert dialog.find_element(By.CSS_SELECTOR, ".place").text.startswith("2 of ")
        swipe(browser, 100, 300)
        assert dialog.find_element(By.CSS_SELECTOR, ".place").text.startswith("1 of ")
        close = dialog.find_element(By.CSS_SELECTOR, "button.close")
        assert min(close.size.values()) >= 44
        close.click()
        assert not dialog.is_displayed()


def test_the_result_comes_first_and_a_found_failure_is_not_green(page: Chrome, done: Outcome) -> None:
    headings = page.find_elements(By.CSS_SELECTOR, "h1, h2")
    assert headings[0].text == done.first.lines[0]
    text = page.find_element(By.CSS_SELECTOR, ".summary").text
    assert text.splitlines()[0] == done.first.lines[1] and "the answer is wrong" in done.first.lines[1]
    assert any(found.is_wrong for found in done.results.found) == ("bad" in ending(page))
    color = page.execute_script("return getComputedStyle(document.querySelector('.ending')).color")
    red, green, _ = (int(part) for part in re.findall(r"\d+", color)[:3])
    assert red > green or tone(done.results) == "good"


def ending(page: Chrome) -> str:
    return page.find_element(By.CSS_SELECTOR, ".ending").get_attribute("class") or ""


def test_more_hits_than_a_page_holds_are_reached_by_turning_it(browser: Chrome, tmp_path: Path) -> None:
    outcome = run(tmp_path, ["answer=0", "search.prior_scenes=160", "search.steps=0"])
    n = len(outcome.results.found)
    assert 24 < n <= 240
    open_page(browser, outcome.report.as_uri())
    if browser.find_elements(By.ID, "family"):
        choose(browser, "order", "number")
    assert numbers(browser) == list(range(1, 25))
    browser.find_element(By.ID, "later").click()
    assert numbers(browser) == list(range(25, min(n, 48) + 1))
    browser.find_element(By.ID, "every").click()
    assert numbers(browser) == list(range(1, n + 1))
    is_broken = "i => i.closest('.scene') && !i.complete"
    assert browser.execute_script(f"return [...document.images].filter({is_broken}).length") == 0
    assert console(browser) == []


def test_on_paper_the_bars_stay_and_the_filters_go(page: Chrome) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not page.find_element(By.ID, "controls").is_displayed()
        style = "const s = getComputedStyle(document.querySelector('.bars .target .bar span')); "
        adjust, color = page.execute_script(f"{style} return [s.printColorAdjust, s.backgroundColor]")
        assert adjust == "exact"
        assert color == "rgb(15, 118, 110)"
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_every_share_on_the_page_is_in_percent(page: Chrome) -> None:
    for region in ("header", ".facts", ".gallery .bars", ".why .strip", ".why table"):
        for found in page.find_elements(By.CSS_SELECTOR, region):
            assert not re.search(r"\b[01]\.\d{3}\b", found.get_attribute("textContent") or ""), region


def test_jargon_is_explained_on_hover_and_in_a_list(page: Chrome) -> None:
    terms = {e.text: e.get_attribute("title") for e in page.find_elements(By.CSS_SELECTOR, "main abbr")}
    assert {"level set", "confidence"} <= set(terms) and all(terms.values())
    listed = page.execute_script(
        "return [...document.querySelectorAll('.glossary dt')].map(e => e.textContent)"
    )
    assert {"R-hat", "ESS", "level set", "prior", "positive control"} <= set(listed)


@pytest.mark.slow
@pytest.mark.parametrize("override", ["render.noise=2"])
def test_runs_of_different_deciding_looks_are_not_tested_against_each_other(
    override: str, done: Outcome, tmp_path: Path
) -> None:
    """The same scenes, another picture of each: a difference would be the picture's."""
    other = run(tmp_path, ["search.steps=0", override], "other")
    found = compare([done.folder, other.folder])
    assert found.tests == ()
    assert "different pictures" in found.unpaired[0] and override.partition("=")[0] in found.unpaired[0]
    same = run(tmp_path, ["search.steps=0"], "same")
    assert "different pictures" not in "".join(compare([done.folder, same.folder]).unpaired)
