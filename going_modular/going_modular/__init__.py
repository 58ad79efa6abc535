"""Scripts that the notebooks import: `from going_modular.going_modular import vit, engine`."""
