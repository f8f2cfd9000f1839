"""From the located tree to the typed contract."""
