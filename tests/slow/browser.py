"""A headless Chromium for the tests that look at pages; they are skipped, with the reason, where there is none."""

import shutil
from pathlib import Path

import pytest

SHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


@pytest.fixture(scope="module")
def browser():
    """Playwright's browser object, driving the Chromium or Chrome that this machine has."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: see requirements-dev.txt")
    found = [path for path in map(shutil.which, NAMES) if path]
    with api.sync_playwright() as playwright:
        bundled = playwright.chromium.executable_path
        if not found and not Path(bundled).is_file():
            pytest.skip("no Chromium here: apt-get install chromium, or python -m playwright install chromium")
        made = playwright.chromium.launch(
            executable_path=found[0] if found else bundled,
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        yield made
        made.close()


def take_shot(page, name: str, **options) -> None:
    """A screenshot into build/screenshots."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", **options)
