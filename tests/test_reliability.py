"""docs/reliability.md promises nothing that no test tries."""

import re

from conftest import ROOT


def test_every_promise_names_tests_that_exist():
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|") and "test_" in line]
    assert len(rows) >= 25
    for row in rows:
        for file, names in re.findall(r"`((?:slow/)?test_\w+\.py)`: ((?:`test_\w+`(?:, )?)+)", row):
            defined = re.findall(
                r"^def (test_\w+)\(", (ROOT / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE
            )
            named = re.findall(r"`(test_\w+)`", names)
            assert named and set(named) <= set(defined), f"{file}: {set(named) - set(defined)}"
        assert re.search(r"`(?:slow/)?test_\w+\.py`: ", row) and row.rstrip(" |").rpartition("|")[2].strip(), row
