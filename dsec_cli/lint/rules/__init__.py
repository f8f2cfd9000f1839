"""One file per rule, found because it is here."""
