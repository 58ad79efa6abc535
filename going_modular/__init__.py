"""The shared scripts of the lesson; see going_modular/README.md."""
