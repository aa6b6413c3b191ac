"""docs/images/report.png: the first screen of a run's report in headless Chromium, in true color.

make demo
.venv/bin/python -m benchmarks.readme_picture runs/demo/report.html docs/images/report.png
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

WIDTH, HEIGHT = 1200, 1460
MAX_BYTES = 400_000
LEAST_COLORS = 5_000  # a palette would turn a small object black


def picture(report: Path) -> Image.Image:
    """The upper part of the page, light colors, as the browser draws it."""
    with tempfile.TemporaryDirectory() as profile:
        options = ChromeOptions()
        for flag in (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
        ):
            options.add_argument(flag)
        options.binary_location = shutil.which("chromium") or ""
        browser = Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            browser.get(report.resolve().as_uri())
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1}
            size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
        finally:
            browser.quit()
    return Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")


def main(report: Path, out: Path) -> None:
    """Write the picture; it must be in true color and small enough for a README."""
    image = picture(report)
    colors = len(image.getcolors(maxcolors=image.width * image.height) or ())
    image.save(out, optimize=True)
    if colors < LEAST_COLORS or out.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{out}: {colors} colors, {out.stat().st_size} bytes; take another run or height")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
