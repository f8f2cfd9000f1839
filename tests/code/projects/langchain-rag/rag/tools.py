"""Tools of the agent."""

import os

import requests
from langchain_core.tools import BaseTool, StructuredTool, tool
from ratelimit import limits, sleep_and_retry

from . import config
from .store import CACHE

KEY = os.environ["TOOL_API_KEY"]


@tool
@sleep_and_retry
@limits(calls=100, period=60)
def search(query: str, top: int = 5) -> list:
    """Search the web.

    Answers come as a list.
    """
    cached = CACHE.get(query)
    return cached or _ask(config.Search(), {"q": query, "n": top})


def _ask(where: config.Search, params: dict) -> list:
    return requests.get(where.endpoint, params=params, headers={"Authorization": KEY}).json()


def _read_document(name: str) -> str:
    """Read one document of the data set."""
    return (config.DATA / "documents" / name).read_text()


read_document = StructuredTool.from_function(func=_read_document, name="read_document")


class SaveNote(BaseTool):
    name: str = "save_note"
    description: str = "Keep a note for later."

    def _run(self, title: str, text: str) -> str:
        with open(os.path.join(config.OUTPUT, "notes", f"{title}.md"), "w") as file:
            file.write(text)
        return "kept"


@tool("mirror", description="Fetch a page of the documentation.")
def mirror(page: str) -> str:
    for host in config.MIRRORS:
        answer = requests.get(f"https://{host}/{page}", timeout=5)
        if answer.ok:
            return answer.text
    return ""


TOOLS = [search, read_document, SaveNote(), mirror]
