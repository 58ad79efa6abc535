"""Scripts that the notebooks import: `from going_modular.going_modular import vit, engine`."""

from pathlib import Path

from going_modular.going_modular.allocator import keep_freed_memory

ROOT = Path(__file__).resolve().parents[2]  # the repository's root: data/, models/ and build/ lie here

keep_freed_memory()
