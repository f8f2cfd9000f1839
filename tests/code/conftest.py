"""How the tests of the code analyser read projects, and show what was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsec_cli.code.analyse import analyse
from dsec_cli.code.codec import render
from dsec_cli.code.needs import Needs
from dsec_cli.code.project import Project
from dsec_cli.source.text import SourceText

PROJECTS = Path(__file__).parent / "projects"


class Reading:
    """Projects from folders and from texts."""

    folder = PROJECTS

    def project(self, **files: str | bytes) -> Project:
        """Files by name, where `__` stands for `/`; `.py` is added."""
        texts = {}
        for name, text in files.items():
            path = name if name.endswith(".py") else f"{name.replace('__', '/')}.py"
            data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
            texts[path] = SourceText.from_bytes(path, data)
        return Project(texts)

    def needs(self, **files: str | bytes) -> Needs:
        """What these files need."""
        return analyse(self.project(**files))

    def stored(self, name: str) -> Project:
        """A project of the corpus."""
        base = PROJECTS / name
        paths = {path.relative_to(base).as_posix(): path for path in sorted(base.rglob("*.py"))}
        return Project({key: SourceText.from_bytes(key, path.read_bytes()) for key, path in paths.items()})

    def shown(self, needs: Needs) -> str:
        """Needs as a golden file has them: a place is one word."""
        return json.dumps(_short(render(needs)), indent=1, ensure_ascii=False) + "\n"


def _short(value: object) -> object:
    if isinstance(value, dict):
        if set(value) == {"file", "line", "column", "end_line", "end_column"}:
            return (
                f"{value['file']}:{value['line']}:{value['column']}-{value['end_line']}:{value['end_column']}"
            )
        return {key: _short(one) for key, one in value.items()}
    return [_short(one) for one in value] if isinstance(value, list) else value


@pytest.fixture(scope="session")
def reading() -> Reading:
    return Reading()
