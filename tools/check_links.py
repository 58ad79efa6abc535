"""Check the links of every page and notebook of the project.

usage: python tools/check_links.py [--external]

Links within the project must lead to a file, and to a heading where they name one. --external asks other hosts too,
each address once; one that refuses programs, or answers that it is busy, counts as there. Exit status 1 where a link is
broken.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

import nbformat
import requests
from address import PLACEHOLDER
from notebook_files import ROOT

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\((<[^>]*>|[^)\s]+)(?:\s+\"[^\"]*\")?\)")
BARE = re.compile(r"https?://[^\s<>\"'`)\]]+[^\s<>\"'`)\].,;:]")
CODE = re.compile(r"(?ms)^```.*?^```|^~~~.*?^~~~|`[^`\n]+`")
MATH = re.compile(r"(?s)\$\$.*?\$\$|\$[^$\n]+\$")
TIMEOUT = 20  # seconds
# Answers of hosts that are there and don't talk to programs, or not so often.
BUSY = {401, 403, 405, 406, 429, 503}
SKIPPED_FOLDERS = {"build", "data", "models"}


def pages() -> list[Path]:
    """Every markdown page and notebook of the project."""
    found = [path for kind in ("*.md", "*.ipynb", "*.cff") for path in ROOT.rglob(kind)]
    return sorted(path for path in found if is_ours(path.relative_to(ROOT)))


def is_ours(path: Path) -> bool:
    folders = path.parts[:-1]
    return not any(folder.startswith(".") or folder == "node_modules" for folder in folders) and (
        path.name == "README.md" or not folders or folders[0] not in SKIPPED_FOLDERS
    )


def text_of(path: Path) -> str:
    """A page's text, or the markdown cells of a notebook."""
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def links(text: str) -> list[str]:
    """The targets of a text's links and pictures, outside of code and equations."""
    text = MATH.sub("", CODE.sub("", text))
    targets = []
    # A badge is a picture within a link: the picture first, then the link around it.
    for inner in re.findall(r"\[!\[[^\]]*\]\(([^)\s]+)\)\]", text):
        targets.append(inner)
    targets += [target.strip("<>") for target in LINK.findall(text)]
    return list(dict.fromkeys([*targets, *BARE.findall(text)]))


def headings(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and as JupyterLab make them."""
    anchors, seen = set(), defaultdict(int)
    for heading in re.findall(r"(?m)^#{1,6}\s+(.+?)\s*#*$", re.sub(r"(?ms)^```.*?^```", "", text)):
        anchors.add(heading.replace(" ", "-"))
        anchor = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower()).replace(" ", "-")
        anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return anchors | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def broken_inside(path: Path) -> list[str]:
    """The links of a page that lead nowhere within the project."""
    text, problems = text_of(path), []
    for target in links(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, place = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            problems.append(f"{target}: there is no such file")
        elif place and file.suffix in (".md", ".ipynb") and place not in headings(text_of(file)):
            problems.append(f"{target}: {file.name} has no such heading")
    return problems


def broken_outside(address: str) -> str | None:
    """Why an address doesn't answer, or None."""
    try:
        with requests.get(address, timeout=TIMEOUT, stream=True, headers={"User-Agent": "Mozilla/5.0"}) as answer:
            return None if answer.ok or answer.status_code in BUSY else f"{address}: {answer.status_code}"
    except requests.RequestException as error:
        return f"{address}: {type(error).__name__}"


def main() -> None:
    external = sys.argv[1:] == ["--external"]
    if sys.argv[1:] and not external:
        sys.exit(__doc__)
    lines, addresses = [], {}
    for path in pages():
        name = path.relative_to(ROOT).as_posix()
        lines += [f"{name}: {problem}" for problem in broken_inside(path)]
        for target in links(text_of(path)):
            # Before the project has an address, its own links can't be there.
            if target.startswith("http") and PLACEHOLDER not in target and "//127.0.0.1" not in target:
                addresses.setdefault(target.partition("#")[0], name)
    if external:
        lines += [f"{addresses[address]}: {why}" for address in addresses if (why := broken_outside(address))]
    checked = f"{len(pages())} pages" + (f" and {len(addresses)} addresses" if external else "")
    print("\n".join(lines or [f"{checked}: no broken link"]))
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
