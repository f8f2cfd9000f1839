"""Documents of other kinds that are taken for contracts, known by their root keys.

Imported only for documents with a key that no contract has.
"""

from __future__ import annotations

import shlex

from dsec.record import Record
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.tree import Mapping, Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.tree import Node


class Other(Record):
    """A kind of document: the root keys that give it away, what it is, and what to do with it."""

    keys: tuple[str, ...]
    what: str
    advice: str


_ADVICE = {
    "name": "name the contract instead (dsandbox.yaml)",
    "made": "check the contract that it was made of",
    "run": "dsec run {file} runs it; check the contract that it was made of",
    "again": "dsec plan CONTRACT -o {file} writes it anew; check the contract that it was made of",
    "show": "dsec inventory --inventory {file} shows it, dsec plan --inventory {file} plans for it",
    "import compose": "dsec import compose {file} makes a contract of it",
    "import dvc": "dsec import dvc {file} makes a contract of it",
    "import skypilot": "dsec import skypilot {file} makes a contract of it",
    "import wfcommons": "dsec import wfcommons {file} makes a contract of it",
}
OURS = {
    "plan": Other((), say("a plan"), "run"),
    "inventory": Other((), say("an inventory"), "show"),
    "": Other((), say("what another command has written"), "made"),
}
"""By the word in their `format`."""
OTHERS = (
    Other(("hash", "inventory", "steps"), say("a plan"), "run"),
    Other(("machines",), say("an inventory"), "show"),
    Other(("gpus",), say("an inventory"), "show"),
    Other(("services",), say("a compose file"), "import compose"),
    Other(("apiVersion",), say("a Kubernetes manifest"), "name"),
    Other(("on", "jobs"), say("a GitHub workflow"), "name"),
    Other(("workflow", "schemaVersion"), say("a workflow in WfFormat"), "import wfcommons"),
    Other(("repos",), say("a configuration of pre-commit"), "name"),
    Other(("channels", "dependencies"), say("an environment of conda"), "name"),
    Other(("$schema", "runs"), say("a SARIF log"), "name"),
    Other(("$schema", "properties"), say("a JSON Schema"), "name"),
    Other(("file_mounts", "run"), say("a task of SkyPilot"), "import skypilot"),
    Other(("setup", "run"), say("a task of SkyPilot"), "import skypilot"),
)
_DVC = Other(("stages",), say("a dvc.yaml"), "import dvc")
_GITLAB = Other(("stages",), say("a pipeline of GitLab"), "name")


def foreign(root: Node | None, file: str) -> Finding | None:
    """What to say of a document that is something else; None for all others."""
    other = _other(root)
    if other is None:
        return None
    advice = "again" if other.advice == "run" and not _runs(root) else other.advice
    return Finding(
        "DS114",
        Severity.ERROR,
        (),
        say("this looks like {what}, not like a contract", "foreign", what=other.what),
        help=say(_ADVICE[advice], file=shlex.quote(file)),
    )


def _runs(root: Node | None) -> bool:
    """Whether `dsec run` takes it for a plan, whole or damaged: see `dsec.quickplan.is_plan`."""
    mapping = follow(root)
    if not isinstance(mapping, Mapping) or not mapping.flow:
        return False
    stated = {pair.key: follow(pair.value) for pair in pairs(mapping)}
    form = stated.get("format")
    return stated.keys() >= {"hash", "steps"} or (
        isinstance(form, Scalar) and form.text.startswith("dsec.plan/")
    )


def _other(root: Node | None) -> Other | None:
    mapping = follow(root)
    if not isinstance(mapping, Mapping):
        return None
    stated = {pair.key: follow(pair.value) for pair in pairs(mapping)}
    form = stated.get("format")
    if isinstance(form, Scalar) and form.text.startswith("dsec."):
        return OURS.get(form.text[len("dsec.") :].partition("/")[0], OURS[""])
    if "stages" in stated:
        return _DVC if isinstance(stated["stages"], Mapping) else _GITLAB
    return next((one for one in OTHERS if stated.keys() >= set(one.keys)), None)
