"""Why something could not be known, in words that can be translated.

The analysis gives its reasons as plain text, thousands of them in a large project; the few that are
shown are recognised here. A reason that is not, such as one from a knowledge base, stays as it is.
"""

from __future__ import annotations

import re
from functools import cache

from dsec_cli.words import say

TEMPLATES = (
    "it is computed",
    "it is computed from a text",
    "it is computed over too many steps",
    "it is one of many that are computed",
    "it is a number of too many digits",
    "it is put together from too many parts",
    "it is formatted",
    "it is added to",
    "it is joined from a list",
    "it is put together from a list",
    "it is a part of a path",
    "it is a temporary folder",
    "it is found in a folder",
    "it is an exception",
    "it is set when the object is made",
    "it is given by * or **",
    "it is handed on, and called elsewhere",
    "it can be one of several",
    "it depends on itself",
    "it comes from the environment",
    "it comes from the environment variable {name}",
    "it is a member of {name}",
    "it has more than {most} possible values",
    "a pattern binds it",
    "a context manager gives it",
    "callers are not known yet",
    "the project is too large to follow everything",
    "the dictionary or list has no such entry as written",
    "all of the environment is taken",
    "the command is computed",
    "the command is given by * or **",
    "the path is not given here",
    "the address is given by * or **",
    "the address has no host",
    "{port} is no port",
    "its name is computed",
    "the host is not given here",
    "what follows {before} in the address is not known: without a / it changes the host",
    "the host is not known: {why}",
    "the model is not known: {why}",
    "it is not known who offers the model {name}",
    "it is not known where models of the type {name} are asked",
    "it is not known where {name} asks its models",
    "the model chooses it",
    "it is read while the program runs",
    "the host ({host}) is not known: {why}",
    "the name of the variable is not known: {why}",
    "the path to read is not known: {why}",
    "the path to write is not known: {why}",
    "the path to delete is not known: {why}",
    "the program is not known: {why}",
    "attribute {name} of {of} is set nowhere in the project",
    "no call in the project gives {function} its {name}",
    "{function} is called in more than {most} places",
    "{function} is handed on, and its {name} comes from whoever calls it then",
    "{name} is chosen by whoever calls {tool}",
    "{name} is a lambda's parameter",
    "{name} is given by * or **",
    "{name} is filled in elsewhere",
    "{name} is not given",
    "{name} is defined nowhere",
    "{name} is not found in {path}",
    "{path} could not be read",
    "{function} yields it",
    "it is nested too deeply",
    "it is too large to be read, or the project is",
    "it is read in part only: its values are computed over too many steps",
    "it is no regular file",
    "it is larger than {size}",
    "it is no UTF-8 (at character {at})",
    "it is no Python: {problem}",
    "line {line} is no Python: {problem}",
    "it could not be read: {problem}",
    "the first {most} are read, and no more",
)
"""As the analysis writes them, what is more special first."""


def worded(reason: str) -> str:
    """The reason, made by `say` where it is known."""
    for at, pattern in enumerate(_patterns()):
        match = pattern.fullmatch(reason)
        if match is not None:
            args = {name: worded(part) if name == "why" else part for name, part in match.groupdict().items()}
            return say(TEMPLATES[at], **args)
    return reason


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(_pattern(template)) for template in TEMPLATES)


def _pattern(template: str) -> str:
    return re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(template))
