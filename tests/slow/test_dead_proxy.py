"""Behind a proxy that is dead, or takes connections and never answers: notebooks 01 and 10, with no switch set."""

import os
import re
import socket
from datetime import datetime

import nbformat
import pytest
from nbclient import NotebookClient
from project_copy import copy_made, copy_project

REASONS = {  # what the kind of proxy is told as
    "dead": "the proxy does not answer; check HTTP_PROXY, HTTPS_PROXY and NO_PROXY",
    "silent": "no answer in time; check the network, or try again later",
}
LONGEST = 60  # seconds that a cell may take which asks the network: mostly waiting, a forward pass at most


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = copy_project(tmp_path_factory.mktemp("proxy") / "vit-lesson")
    copy_made(root)
    return root


@pytest.fixture(params=REASONS)
def proxy(request, tmp_path):
    """The kind of proxy, and the environment of a learner behind it who has set nothing and downloaded nothing."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    hidden = {spelled for name in names for spelled in (name, name.lower())}
    environment = {
        name: value for name, value in os.environ.items() if name not in hidden and not name.startswith("FOODVISION_")
    }
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:  # the system accepts, nobody answers
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        if request.param == "dead":
            listening.close()
        environment |= {"HTTP_PROXY": address, "HTTPS_PROXY": address, "https_proxy": address}
        yield request.param, {**environment, "TORCH_HOME": str(tmp_path / "torch"), "CUDA_VISIBLE_DEVICES": ""}


@pytest.mark.parametrize("number", ["01", "10"])
def test_a_notebook_goes_on_with_what_is_here(project, proxy, number):
    kind, environment = proxy
    (path,) = (project / "notebooks").glob(f"{number}_*.ipynb")
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    if (kind, number) == ("silent", "10"):  # as far as the first weights: what follows is the same as without a proxy
        cells = cells[: 1 + next(place for place, cell in enumerate(cells) if "get_pretrained_vit(" in cell.source)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(
        notebook, timeout=1200, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute(env=environment)
    lines = [line for cell in cells for line in printed(cell).splitlines()]
    photos, weights = ([line for line in lines if line.startswith(word)] for word in ("Photos: ", "Weights: "))
    assert photos[0].startswith("Photos: the photos' own address failed: ") and REASONS[kind] in photos[0], photos
    assert photos[1:] == ["Photos: none, so drawings take their place."]
    assert any(re.search(r"\bData: drawn", line) for line in lines)
    assert bool(weights) is (number == "10")
    # Where notebook 10 asks for what can't be had and has a stand-in, it says so each time.
    offline = [line for line in weights if "the offline checkpoint models/vit_ti_16_drawn_food.pth (ViT-Ti/16)" in line]
    assert offline == weights and all(REASONS[kind] in line for line in weights[:1]), weights
    asking = [cell for cell in cells if re.search("^(Photos|Weights): ", printed(cell), re.MULTILINE)]
    assert asking and max(map(seconds, asking)) < LONGEST, [seconds(cell) for cell in asking]


def printed(cell) -> str:
    """What a cell printed to standard output; nothing may go to standard error."""
    streams = [output for output in cell.outputs if output.output_type == "stream"]
    assert not [output.text for output in streams if output.name == "stderr"], streams
    return "".join(output.text for output in streams)


def seconds(cell) -> float:
    """How long a cell took."""
    times = cell.metadata["execution"]
    begun, ended = (times[name].replace("Z", "+00:00") for name in ("iopub.execute_input", "shell.execute_reply"))
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()
