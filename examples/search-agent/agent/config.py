"""Where things are."""

import os
from pathlib import Path

SEARCH = "https://api.websearch.com/v2"
MIRROR = os.getenv("DOCS_MIRROR", "https://docs.example.org")
NOTES = Path("/workspace/output") / "notes"
KEY = os.environ["SEARCH_KEY"]
