"""Real-looking contracts over the whole language, the same ones every time."""
