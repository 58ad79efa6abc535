# Set-up, the same in every notebook: find the project, or fetch it where this notebook runs alone in Colab.
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = "owner_name/repository"
HERE = Path.cwd()


def find_root():
    places = [HERE, *HERE.parents, HERE / REPOSITORY.split("/")[1]]
    return next((place for place in places if (place / "going_modular/going_modular/vit.py").is_file()), None)


if find_root() is None and "google.colab" in sys.modules:
    if REPOSITORY.startswith("owner_name/"):
        raise ValueError("Put the project's GitHub address, owner/name, into REPOSITORY above and run this cell again.")
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"https://github.com/{REPOSITORY}"], check=False)
ROOT = find_root()
if ROOT is None:
    raise FileNotFoundError("The scripts are not here: git clone the project and open this notebook inside it.")
if sys.path[0] != str(ROOT):
    sys.path.insert(0, str(ROOT))
if importlib.util.find_spec("torchinfo") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "torchinfo"], check=True)
