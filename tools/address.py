"""Write the repository's address into everything that names it.

usage: python tools/address.py [owner/name]

The address stands in tools/address.txt. README.md, CITATION.cff, the notebooks' Colab badges and their set-up cells
are written from it. An argument becomes the address first; without one the files are brought in line with it.
"""

import re
import sys

from notebook_files import FOLDERS, NOTEBOOKS, ROOT, SETUP_TAG, cells_tagged, notebook_paths, read, write, write_text

PLACEHOLDER = "owner_name/repository"
ADDRESS_FILE = ROOT / "tools" / "address.txt"
SETUP_CELL = ROOT / "tools" / "setup_cell.py"
TEXTS = [ROOT / "README.md", ROOT / "CITATION.cff", NOTEBOOKS / "README.md"]
# GitHub's rule for names; the placeholder breaks it on purpose, so that nobody can own that address.
ADDRESS = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}")


def current() -> str:
    return ADDRESS_FILE.read_text(encoding="utf-8").strip()


def setup_cell(address: str) -> str:
    """The source of every notebook's set-up cell."""
    return SETUP_CELL.read_text(encoding="utf-8").replace(PLACEHOLDER, address).rstrip("\n")


def badge(address: str, path: str) -> str:
    """A Colab badge for the notebook at `path`, from the repository's root."""
    return (
        "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
        f"(https://colab.research.google.com/github/{address}/blob/main/{path})"
    )


def apply(address: str, old: str) -> None:
    for path in TEXTS:
        if path.is_file():
            write_text(path, readdressed(path.read_text(encoding="utf-8"), old, address))
    for path in notebook_paths(*FOLDERS):
        notebook = read(path)
        title = notebook.cells[0]
        title.source = readdressed(title.source, old, address)
        for cell in cells_tagged(notebook, SETUP_TAG):
            cell.source = setup_cell(address)
        write(notebook, path)
    write_text(ADDRESS_FILE, address + "\n")


def readdressed(text: str, old: str, address: str) -> str:
    """The text with the new address in its links; another repository whose name begins as the old one's is kept."""
    return re.sub(rf"/{re.escape(old)}(?![\w-])", f"/{address}", text)


def main() -> None:
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    old = current()
    address = sys.argv[1] if len(sys.argv) == 2 else old
    if address != PLACEHOLDER and not ADDRESS.fullmatch(address):
        sys.exit(f"{address!r} is no GitHub address: owner/name was expected, such as octocat/vit-lesson")
    apply(address, old)
    print(f"The repository's address is {address}.")


if __name__ == "__main__":
    main()
