"""One file per question about a plugin, found because it is here."""
