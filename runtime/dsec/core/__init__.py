"""Pure decisions of the runtime; simulation runs the same code."""
