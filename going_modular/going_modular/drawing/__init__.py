"""How the drawn food is drawn: a scene with light and camera, tableware, and one module a food."""
