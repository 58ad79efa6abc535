# Set-up, the same in every notebook: find the project, or fetch it where this notebook runs alone in Colab.
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = "owner_name/repository"
HERE = Path.cwd()
CLONE = HERE / REPOSITORY.split("/")[1]


def find_root():
    places = [HERE, *HERE.parents, CLONE]
    return next((place for place in places if (place / "going_modular/going_modular/vit.py").is_file()), None)


def git(*arguments):
    answer = subprocess.run(["git", *arguments], capture_output=True, encoding="utf-8", errors="replace")
    if answer.returncode:
        raise RuntimeError(
            f"{REPOSITORY} could not be fetched from GitHub: {answer.stderr.strip()}\nCheck that REPOSITORY above is "
            f"right and public, delete the folder {CLONE.name} if it is there, and run this cell again."
        )


if find_root() is None and "google.colab" in sys.modules:
    if REPOSITORY.startswith("owner_name/"):
        raise ValueError("Put the project's GitHub address, owner/name, into REPOSITORY above and run this cell again.")
    # The newest version alone, and of its folders those that the cells read.
    git("clone", "--depth=1", "--filter=blob:none", "--sparse", f"https://github.com/{REPOSITORY}", str(CLONE))
    select = ["-C", str(CLONE), "-c", "core.sparseCheckoutCone=true", "sparse-checkout", "set"]
    git(*select, "docs", "going_modular", "models")
ROOT = find_root()
if ROOT is None:
    raise FileNotFoundError("The scripts are not here: git clone the project and open this notebook inside it.")
if sys.path[0] != str(ROOT):
    sys.path.insert(0, str(ROOT))
if importlib.util.find_spec("torchinfo") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "torchinfo"], check=True)
