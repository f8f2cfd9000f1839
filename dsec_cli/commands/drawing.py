"""Has Graphviz draw a dot text (the graphviz door)."""

from __future__ import annotations

from dsec.errors import DSecError
from dsec_cli.words import say

PICTURES = ("png", "svg")
"""Views that the `dot` program draws from the dot view."""


_MOST_INCHES = 80
"""Of a PNG, each way, at 96 pixels an inch: a larger graph is drawn smaller. An SVG has no pixels."""


class DrawingProblem(DSecError):
    """Graphviz is not there, or could not draw."""


def draw(dot: str, form: str) -> bytes:
    """The picture of a dot text as `png` or `svg`; raises DrawingProblem."""
    import graphviz

    if form == "png":
        dot = dot.replace("{\n", f'{{\n  graph [size="{_MOST_INCHES},{_MOST_INCHES}"];\n', 1)
    try:
        drawn: bytes = graphviz.pipe("dot", form, dot.encode("utf-8", "backslashreplace"), quiet=True)
    except graphviz.ExecutableNotFound:
        raise DrawingProblem(
            say("{form} needs the program dot, which is not installed", form=form),
            hint="sudo apt-get install graphviz; or take --output html, which needs nothing",
        ) from None
    except graphviz.CalledProcessError as failure:
        said = (failure.stderr or b"").decode("utf-8", "replace").strip().splitlines()
        why = said[-1] if said else f"exit code {failure.returncode}"
        raise DrawingProblem(
            say("dot could not draw the graph: {why}", why=why), hint="take --output html"
        ) from None
    return drawn
