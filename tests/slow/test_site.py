"""The site, made by tools/make_site.py and opened in a browser."""

import http.server
import re
import subprocess
import sys
import threading
import time
import urllib.parse
from functools import partial
from types import SimpleNamespace

import nbformat
import pytest
from browser import browser, take_shot  # noqa: F401
from project_copy import ROOT

PATHS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
PAGES = ["index", *(path.stem for path in PATHS)]
HEAVIEST = 3_000_000  # bytes of a page with all that it loads
SLOWEST = 2.0  # seconds from the click to the end of loading
LOAD = """async () => {
    for (const picture of document.images) { picture.loading = 'eager'; }
    await Promise.all([...document.images].map(picture => picture.decode().catch(() => null)));
}"""
TOO_WIDE = """() => [...document.querySelectorAll('article *')].filter(element => {
    for (let above = element; above && above.tagName !== 'ARTICLE'; above = above.parentElement) {
        if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(above).overflowX)) return false;
    }
    return element.getBoundingClientRect().right > window.innerWidth + 1;
}).map(element => element.outerHTML.slice(0, 120))"""

COVERED = """() => [...document.querySelectorAll('.katex-html > .katex-tag')].filter(tag => {
    const bases = [...tag.parentElement.querySelectorAll('.katex-base')].filter(base => !tag.contains(base));
    const ends = bases.map(base => base.getBoundingClientRect().right);
    return Math.max(...ends) > tag.getBoundingClientRect().left;
}).map(tag => tag.parentElement.textContent.slice(0, 80))"""


@pytest.fixture(scope="module")
def site():
    """The site, made anew and served from this machine: its address, its folder, and every request."""
    pytest.importorskip("sphinx", reason="sphinx is not installed: see requirements-dev.txt")
    subprocess.run([sys.executable, ROOT / "tools" / "make_site.py"], check=True)
    folder, requests = ROOT / "build" / "site" / "html", []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, code="-", size="-"):
            requests.append((self.path, int(code)))

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", folder=folder, requests=requests)
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def visit(site, browser):  # noqa: F811
    """Open a page of the site: visit("index", width=400). Errors and requests to other hosts are the test's."""
    pages, errors, weights, others = [], [], {}, []

    def open_page(name: str, **options):
        context = browser.new_context(viewport={"width": options.pop("width", 1280), "height": 1000}, **options)
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda request: errors.append(f"{request.failure}: {request.url}"))
        page.on("request", lambda request: others.append(request.url) if not ours(request.url) else None)
        page.on("response", lambda response: weights.update({response.url: response}))
        page.goto(f"{site.url}/{name}.html", wait_until="load")
        pages.append(context)
        return page

    def ours(url: str) -> bool:
        return url.startswith((f"{site.url}/", "data:"))

    open_page.weights = weights
    yield open_page
    for context in pages:
        context.close()
    # A picture that is still on its way when the next page is opened is no error.
    assert [error for error in errors if not error.startswith("net::ERR_ABORTED")] == [] and others == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page(site, visit, name):
    page = visit(name)
    page.evaluate(LOAD)
    widths = page.eval_on_selector_all("article img", "pictures => pictures.map(picture => picture.naturalWidth)")
    texts = page.eval_on_selector_all("article img", "pictures => pictures.map(picture => picture.alt)")
    assert all(widths) and all(len(text.split()) >= 5 for text in texts), texts
    if name != "index":
        cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4).cells
        figures = sum("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", []))
        assert page.locator("div.cell_output img").count() == figures
    assert page.locator("article img:not([width])").count() == 0, "pictures that arrive late would move the text"
    assert page.locator("a.colab").count() == 1
    assert page.locator(".tex").count() == page.locator(".tex .katex").count()
    assert page.locator(".katex-error").count() == 0
    # The names that COVERED and site.css go by are still KaTeX's.
    assert (r"\tag{" in page.content()) is (page.locator(".katex-html > .katex-tag").count() > 0)
    text = page.locator("article").inner_text()
    assert not re.search(r"\$\$|\]\(|\*\*", re.sub(r"(?s)```.*?```", "", prose(page))), "markup is left over"
    assert len(text) > 1000
    weight = sum(len(response.body()) for response in visit.weights.values())
    assert weight < HEAVIEST, f"{weight:,} bytes"


def prose(page) -> str:
    """What stands on a page outside of code and equations."""
    return page.evaluate("""() => {
        const copy = document.querySelector('article').cloneNode(true);
        copy.querySelectorAll('pre, code, .tex').forEach(element => element.remove());
        return copy.textContent;
    }""")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_on_a_phone(visit, name, scheme):
    page = visit(name, width=400, color_scheme=scheme)
    page.evaluate(LOAD)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400, page.evaluate(TOO_WIDE)
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate(COVERED) == [], "the number of an equation lies on the equation"
    assert page.eval_on_selector("article p", "text => parseFloat(getComputedStyle(text).fontSize)") >= 15
    colours = page.eval_on_selector("body", "body => getComputedStyle(body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", colours)[:3])) < 200) is (scheme == "dark"), colours
    take_shot(page, f"site_{name}_400_{scheme}")


def test_the_longest_page_is_fast(site, visit):
    longest = max(PATHS, key=lambda path: path.stat().st_size).stem
    start = time.perf_counter()
    page = visit(longest)
    seconds = time.perf_counter() - start
    page.evaluate(LOAD)
    weight = sum(len(response.body()) for response in visit.weights.values())
    print(f"{longest}: {seconds:.2f} s, {weight:,} bytes")
    assert seconds < SLOWEST
    take_shot(page, f"site_{longest}", full_page=True)


def test_from_page_to_page(visit):
    page = visit("index")
    for path in PATHS:
        page.locator(".related-pages .next-page").click()
        page.wait_for_url(f"**/{path.stem}.html")
    for path in [*PATHS[-2::-1], None]:
        page.locator(".related-pages .prev-page").click()
        page.wait_for_url(f"**/{path.stem if path else 'index'}.html")


def test_search_finds_a_word(visit):
    page = visit("index")
    page.locator("input[name=q]").first.fill("permute")
    page.locator("input[name=q]").first.press("Enter")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").evaluate_all("links => links.map(link => link.href)")
    assert any("03_patch_embedding" in link for link in found)
    take_shot(page, "site_search")


def test_dark_and_light_can_be_chosen(visit):
    page = visit("index", color_scheme="light")
    body = page.locator("body")
    for _ in range(3):
        if body.get_attribute("data-theme") == "dark":
            break
        page.locator("button.theme-toggle:visible").first.click()
    assert body.get_attribute("data-theme") == "dark"
    page.reload()
    assert body.get_attribute("data-theme") == "dark", "the choice is kept"


def test_the_colab_button_opens_the_notebook_of_its_page(site):
    address = (ROOT / "tools" / "address.txt").read_text(encoding="utf-8").strip()
    for path in PATHS:
        page = (site.folder / f"{path.stem}.html").read_text(encoding="utf-8")
        (target,) = re.findall(r'<a class="colab" href="([^"]+)"', page)
        assert target == f"https://colab.research.google.com/github/{address}/blob/main/notebooks/{path.name}"


def test_no_link_is_broken(site):
    """Every link, picture, style and script of every page is there, and every place that a link names."""
    pages = {page: page.read_text(encoding="utf-8") for page in site.folder.rglob("*.html")}
    places = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    count = 0
    for page, text in pages.items():
        for target in re.findall(r'\b(?:href|src)="([^"]+)"', text):
            parts = urllib.parse.urlsplit(target.replace("&amp;", "&"))
            if parts.scheme or parts.netloc:
                continue
            file = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
            count += 1
            assert file.is_file(), f"{page.name}: {target}"
            if parts.fragment and file in places:
                assert urllib.parse.unquote(parts.fragment) in places[file] | {"", "#"}, f"{page.name}: {target}"
    assert count > 100


def test_nothing_is_named_that_another_host_would_serve(site):
    for page in site.folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(?:https?:)?//[^"]+', text), page.name
