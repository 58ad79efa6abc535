"""JupyterLab, as `make lab` starts it, in a browser: the start page, and notebooks whose cells are all run."""

import json
import re
import subprocess
import sys
import urllib.request
from types import SimpleNamespace

import nbformat
import pytest
from browser import browser, take_shot  # noqa: F401
from project_copy import ROOT, copy_made, copy_project, same_everywhere, wait_for

CLICKED, OPENED = (
    [next((ROOT / "notebooks").glob(f"{number}_*.ipynb")) for number in numbers]
    for numbers in (("00", "01", "02", "03"), ("08", "10", "12"))
)
SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook"  # the notebook of the tab in front
TOKEN = "a-token-for-this-test"
SECONDS = 900  # that a notebook, or a step of JupyterLab, may take on a busy machine
CELLS = """() => {
    const notebook = jupyterapp.shell.currentWidget;
    const kernel = notebook.sessionContext.session?.kernel;
    return {status: kernel?.status, cells: notebook.content.model.sharedModel.cells.map(cell => cell.toJSON())};
}"""


def lab_command() -> tuple[dict[str, str], list[str]]:
    """What `make lab` sets in the environment, and the arguments that it gives to JupyterLab."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (found,) = re.findall(r"^lab:.*\n\t(\w+)=(\S+) \$\(BIN\)/jupyter lab (.*)$", makefile, re.MULTILINE)
    name, value, arguments = found
    return {name: value}, arguments.split()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A server on a copy of the project: its address, and the copy's folder."""
    work = tmp_path_factory.mktemp("lab")
    root = copy_project(work / "vit-lesson")
    copy_made(root)
    settings = work / "settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)  # every cell is on the page, also those that are scrolled away
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}', encoding="utf-8")
    folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", "JUPYTERLAB_WORKSPACES_DIR": "spaces"}
    variables, arguments = lab_command()
    environment = {
        **same_everywhere(),
        **variables,
        **{name: str(work / folder) for name, folder in folders.items()},
        "JUPYTERLAB_SETTINGS_DIR": str(work / "settings"),
    }
    command = [sys.executable, "-m", "jupyterlab", *arguments, "--no-browser", "--allow-root", "--ServerApp.port=0"]
    command += [f"--IdentityProvider.token={TOKEN}", "--LabApp.expose_app_in_browser=True"]
    with (work / "log.txt").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=log)
    try:

        def address():
            assert process.poll() is None, (work / "log.txt").read_text(encoding="utf-8")
            for path in (work / "runtime").glob("jpserver-*.json"):
                return json.loads(path.read_text(encoding="utf-8"))["url"].rstrip("/")

        url = wait_for(address, SECONDS, "JupyterLab's address")

        def answers():
            try:
                return urllib.request.urlopen(f"{url}/api?token={TOKEN}", timeout=5)
            except OSError:
                return None

        wait_for(answers, SECONDS, "JupyterLab's answer").close()
        yield SimpleNamespace(url=url, start_page=arguments[-1])
    finally:
        process.terminate()
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)


def open_page(browser, address: str):  # noqa: F811
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(1000 * SECONDS)
    page.goto(f"{address}{'&' if '?' in address else '?'}token={TOKEN}")
    page.wait_for_selector("#jp-main-dock-panel")
    return page


def test_from_the_start_page_by_clicking(lab, browser):  # noqa: F811
    """A newcomer's way: `make lab` shows the start page; each notebook is a click away there, and runs."""
    page = open_page(browser, f"{lab.url}/lab/tree/{lab.start_page}?reset")
    page.wait_for_selector(".jp-MarkdownViewer h1 >> text=The notebooks: start here")
    listed = page.locator(".jp-DirListing-item").all_inner_texts()
    assert any("00_paper_replicating.ipynb" in text for text in listed), "the folder at the left is notebooks/"
    take_shot(page, "lab_start_page")
    start_page = (ROOT / lab.start_page).read_text(encoding="utf-8")
    for path in CLICKED:
        page.locator(".lm-DockPanel-tabBar .lm-TabBar-tabLabel", has_text="README.md").click()
        (title,) = re.findall(rf"\| \[(.+?)\]\({path.name}\)", start_page)
        page.locator(".jp-MarkdownViewer").get_by_role("link", name=title, exact=True).click()
        run_and_look(page, path)
    page.close()


@pytest.mark.parametrize("path", OPENED, ids=lambda path: path.stem)
def test_a_notebook_runs_in_the_browser(lab, browser, path):  # noqa: F811
    page = open_page(browser, f"{lab.url}/lab/tree/notebooks/{path.name}?reset")
    run_and_look(page, path)
    page.close()


def run_and_look(page, path) -> None:
    """Run all cells of the notebook in front, which must be this one: no error, no warning, the committed figures."""
    page.wait_for_selector(f"{SHOWN} h1 >> text={path.name[:2]}. ")
    page.wait_for_function(f"({CELLS})().status === 'idle'")
    page.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.locator(".lm-MenuBar-item", has_text=re.compile("^Run$")).click()
    page.locator(".lm-Menu-item", has_text=re.compile("^Run All Cells$")).click()

    def finished():
        state = page.evaluate(CELLS)
        code = [cell for cell in state["cells"] if cell["cell_type"] == "code"]
        failed = [cell for cell in code for output in cell["outputs"] if output["output_type"] == "error"]
        assert not failed, failed
        page.wait_for_timeout(500)
        return state["status"] == "idle" and all(cell["execution_count"] for cell in code) and state["cells"]

    cells = wait_for(finished, SECONDS, f"the end of {path.name}")
    committed = nbformat.read(path, 4).cells
    assert [figures(cell) for cell in cells] == [figures(cell) for cell in committed]
    assert not [o for cell in cells for o in cell.get("outputs", []) if o.get("name") == "stderr"]
    for number in [number for number, cell in enumerate(cells) if figures(cell)]:
        look_at_figures(page, number)
    for cell in cells:
        if cell["cell_type"] == "markdown":
            for alt in re.findall(r"!\[([^\]]+)\]\((?!https?:)", "".join(cell["source"])):
                assert width(page.locator(SHOWN).get_by_alt_text(alt, exact=True)) > 100, alt
    shown = page.locator(f"{SHOWN} .jp-Cell")
    for name, number in (("top", 0), ("middle", len(cells) // 2), ("end", len(cells) - 1)):
        shown.nth(number).evaluate("cell => cell.scrollIntoView({block: 'nearest'})")
        page.wait_for_timeout(500)
        take_shot(page, f"lab_{path.stem}_{name}")
    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def figures(cell) -> int:
    """How many pictures a cell's outputs hold."""
    return sum("image/png" in output.get("data", {}) for output in cell.get("outputs", []))


def look_at_figures(page, number: int) -> None:
    """JupyterLab gives an output's picture no alt text: what is drawn stands in the words above it."""
    cells = page.locator(f"{SHOWN} .jp-Cell")
    pictures = cells.nth(number).locator(".jp-OutputArea-output img")
    for place in range(pictures.count()):
        assert width(pictures.nth(place)) > 100
    above = cells.nth(number - 1)
    assert above.locator(".jp-RenderedMarkdown").count() == 1, f"cell {number}: no text above the figure"
    assert len(above.inner_text().split()) >= 8, f"cell {number}: {above.inner_text()}"


def width(picture) -> int:
    """The width at which a picture that was loaded is shown, in pixels."""
    return picture.evaluate("picture => picture.naturalWidth && picture.getBoundingClientRect().width")
