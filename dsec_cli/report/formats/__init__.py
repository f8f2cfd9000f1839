"""One file per output format, found because it is here."""
