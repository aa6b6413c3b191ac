"""A headless Chromium for tests of pages; tests skip where there is none."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1200,1000",
)
LOAD_S = 60.0


@contextmanager
def chromium() -> Iterator[Chrome]:
    """A browser without network use of its own; skips the test where Chromium or its driver is missing."""
    binary = next(filter(None, map(shutil.which, NAMES)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip(
            "Chromium and chromedriver are not installed (Debian: apt-get install chromium chromium-driver)"
        )
    options = ChromeOptions()
    options.binary_location = binary
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        browser = Chrome(options=options, service=Service(driver))
        try:
            yield browser
        finally:
            browser.quit()


def open_page(browser: Chrome, address: str) -> None:
    """Load a page whole. On a busy machine `get` alone may come back while the page before it is still being left."""
    browser.get("about:blank")
    browser.get(address)
    is_there = "return document.readyState === 'complete' && document.URL !== 'about:blank'"
    WebDriverWait(browser, LOAD_S).until(lambda _: browser.execute_script(is_there))
    await_frame(browser)


def await_frame(browser: Chrome) -> None:
    """Wait until the page stands on the screen: only then does a field with `autofocus` take the keys."""
    browser.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
    )


def console(browser: Chrome) -> list[str]:
    """What the page has complained of."""
    logs: list[dict[str, str]] = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry["message"] for entry in logs]
