"""Where things are."""

import os
from dataclasses import dataclass, field
from pathlib import Path

SEARCH_API = "https://api.websearch.com"
STORE = {"host": "internal-kv-store.prod", "port": 6379}
MIRRORS = ("docs.example.org", "docs.example.net")
DATA = Path("/workspace/data")
OUTPUT = Path(os.environ.get("RAG_OUTPUT", "/workspace/output"))


@dataclass
class Search:
    base: str = SEARCH_API
    version: int = 2
    headers: dict = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        return f"{self.base}/v{self.version}/search"
