"""One file per way to print a scan, found because it is here."""
