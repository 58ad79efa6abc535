"""Make the site: the notebooks, as they are committed, as static pages in build/site/html.

usage: python tools/make_site.py

Sphinx makes the pages, MyST-NB reads the notebooks (Jupyter Book's engine), Furo is the theme. Nothing in a page is
loaded from another host: KaTeX lies in docs/site, and the Colab badges become buttons. Links into the repository
lead to GitHub, at the address in tools/address.txt.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from address import current
from notebook_files import NOTEBOOKS, ROOT, SETUP_TAG, cells_tagged, notebook_paths, read, write_text
from PIL import Image

SITE = ROOT / "docs" / "site"
SOURCE = ROOT / "build" / "site" / "source"
TARGET = ROOT / "build" / "site" / "html"
BADGE = re.compile(r"\[!\[Open in Colab\]\([^)]*\)\]\(([^)]*)\)")
LINK = re.compile(r"(!?)(\[[^\]]*\])\(([^)\s]+)\)")
LONGEST_ALT = 400  # characters


def readdressed(text: str, address: str) -> str:
    """The text of a page in notebooks/ with its links as the site has them, and its badge as a button."""

    def moved(match: re.Match) -> str:
        mark, words, target = match.groups()
        path, hash_mark, place = target.partition("#")
        if "://" in target or not path:
            return match.group()
        file = (NOTEBOOKS / path).resolve()
        if not file.exists():  # no link, but code that looks like one
            return match.group()
        if file == NOTEBOOKS / "README.md":
            path = "index.md"
        elif mark:
            shutil.copy2(file, SOURCE / file.name)
            path = file.name
        elif file not in notebook_paths():
            path = f"https://github.com/{address}/blob/main/{file.relative_to(ROOT).as_posix()}"
        return f"{mark}{words}({path}{hash_mark}{place})"

    return LINK.sub(moved, BADGE.sub(r'<a class="colab" href="\1">Open in Colab</a>', text))


def described(text: str) -> str:
    """The words of the paragraphs above a figure, without markup: what is drawn there."""
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if not part.lstrip().startswith(("#", "|", "$$", "!["))]
    words = " ".join(paragraphs[-2:])
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
    words = " ".join(re.sub(r"[*`$\\{}]", "", words).split())
    return words if len(words) <= LONGEST_ALT else words[:LONGEST_ALT].rsplit(" ", 1)[0] + " ..."


def prepare(path: Path, address: str) -> nbformat.NotebookNode:
    """A notebook as the site shows it: links for the site, alt text for its figures from the words above them, and the
    set-up cell folded up, since a reader need not see it."""
    notebook = read(path)
    for cell in cells_tagged(notebook, SETUP_TAG):
        cell.metadata.tags.append("hide-input")
    above = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            above = cell.source
            cell.source = readdressed(cell.source, address)
        elif any("image/png" in output.get("data", {}) for output in cell.get("outputs", [])):
            cell.metadata["mystnb"] = {"image": {"alt": described(above)}}
    return notebook


def start_page(address: str) -> str:
    """notebooks/README.md with a Colab button, and the list that gives the pages their order."""
    text = readdressed((NOTEBOOKS / "README.md").read_text(encoding="utf-8"), address)
    first = notebook_paths()[0]
    colab = f"https://colab.research.google.com/github/{address}/blob/main/notebooks/{first.name}"
    title, _, rest = text.partition("\n")
    names = "\n".join(path.stem for path in notebook_paths())
    button = f'<a class="colab" href="{colab}">Open the first notebook in Colab</a>'
    return f"{title}\n\n{button}\n{rest}\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{names}\n```\n"


def give_sizes(page: Path) -> None:
    """Write each picture's width and height into a page, so that nothing moves when a picture arrives."""

    def sized(match: re.Match) -> str:
        with Image.open(page.parent / match["path"]) as picture:
            return f'<img width="{picture.width}" height="{picture.height}" {match["rest"]}'

    text = page.read_text(encoding="utf-8")
    write_text(page, re.sub(r'<img (?P<rest>[^>]*?src="(?P<path>_images/[^"]+)")', sized, text))


def main() -> None:
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    address = current()
    for folder in (SOURCE, TARGET):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SITE, SOURCE, ignore=shutil.ignore_patterns("README.md", "__pycache__"))
    write_text(SOURCE / "index.md", start_page(address))
    for path in notebook_paths():
        write_text(SOURCE / path.name, nbformat.writes(prepare(path, address)))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(SOURCE), str(TARGET)]
    if subprocess.run(command, check=False).returncode:
        sys.exit("Sphinx found what stands above; see tools/make_site.py for how the pages are made.")
    for page in TARGET.glob("*.html"):
        give_sizes(page)
    print(f"The site is in {TARGET.relative_to(ROOT)}: open index.html.")


if __name__ == "__main__":
    main()
