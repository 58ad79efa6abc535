"""docs/coverage.md: every promise of the draft is kept in a section that exists."""

import re

import pytest
from conftest import ROOT

from tools import notebook_files

PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\|(?: (?P<number>\d+) \|)? (?P<what>.+?) \| \[(?P<stem>\w+)\]\((?P<target>\S+)\) \| (?P<section>.+) \|$"
)
ROWS = [match for line in PAGE.splitlines() if (match := ROW.match(line))]
HEADINGS = {}


def headings(stem: str) -> list[str]:
    if stem not in HEADINGS:
        cells = notebook_files.read(notebook_files.NOTEBOOKS / f"{stem}.ipynb").cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        HEADINGS[stem] = re.findall(r"^#{2,3} (.+)$", text, re.M)
    return HEADINGS[stem]


def part(title: str) -> str:
    """The page's text under a heading."""
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def numbers(title: str) -> list[int]:
    """The numbers of the rows under a heading."""
    return [int(match["number"]) for match in map(ROW.match, part(title).splitlines()) if match]


def test_all_57_open_places_are_listed_once():
    assert numbers("The 57 open places") == list(range(1, 58))


def test_every_trap_is_taught():
    assert set(numbers("Traps, and where they are taught")) == set(range(1, 22))


@pytest.mark.parametrize("match", ROWS, ids=[f"{match['what']}-{match['section']}" for match in ROWS])
def test_the_section_exists(match):
    assert match["target"] == f"../notebooks/{match['stem']}.ipynb"
    assert match["section"] in headings(match["stem"])


def test_no_line_is_left_out():
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and "](../notebooks/" in line]
    assert len(lines) == len(ROWS) > 57 + 21
