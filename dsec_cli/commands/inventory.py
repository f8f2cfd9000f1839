"""`dsec inventory`: what this machine, or a described one, has; and `--inventory` of every command."""

from __future__ import annotations

import json
import os
from typing import Any

from dsec.codec import decode, encode
from dsec.devices import nvml, smi, visible
from dsec.devices.described import from_document
from dsec.devices.profiles import PREFIX, profile
from dsec.errors import FileProblem, InventoryProblem
from dsec.inventory import FORMAT, Inventory, steady
from dsec_cli.commands.sources import read_source
from dsec_cli.commands.speaking import listener
from dsec_cli.report.output import emit
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Node, Problem, Tree

_ODD_CHARACTER = "DS005"
"""The one complaint of the YAML door that leaves the meaning clear."""


def main(args: Args) -> int:
    """Show the inventory: exit 0 also without a GPU, because that was found out."""
    from dsec_cli.commands.inventoried import render  # whoever plans on an inventory shows none

    inventory = read_inventory(args.inventory)
    emit(as_json(inventory) if args.json else render(inventory, listener(args.lang)), args.output)
    return 0


def read_inventory(spec: str | None) -> Inventory:
    """This machine (None), `builtin:NAME`, or the machines that a file describes.

    A file is YAML or JSON, the output of `dsec inventory --json`, or saved output of `nvidia-smi`.
    GPUs that CUDA_VISIBLE_DEVICES hides from this process are not part of this machine's inventory.
    Raises InventoryProblem or FileProblem.
    """
    if spec is None:
        return visible.restrict(nvml.read(), os.environ)
    if spec.startswith(PREFIX):
        return profile(spec)
    source = _file(spec)
    if source.undecodable is not None:
        raise InventoryProblem(
            say("{spec} is no text: {undecodable}", spec=spec, undecodable=source.undecodable[1]),
            hint="save it as UTF-8",
        )
    if smi.is_output(source.text):
        return smi.from_output(source.text, spec)
    _refuse_other_output(source.text, spec)
    document = _json(source) if source.text.lstrip()[:1] == "{" else _yaml(source)
    if isinstance(document, dict) and "format" in document:
        return stored(document, spec)
    return from_document(document, spec)


def _file(spec: str) -> SourceText:
    try:
        return read_source(spec)
    except FileProblem as problem:
        if not isinstance(problem.__cause__, FileNotFoundError):
            raise
        raise FileProblem(
            problem.what, hint=say("name a file that dsec inventory --json wrote, or builtin:NAME")
        ) from problem


_OTHER_OUTPUT = {
    "NVSMI LOG==": "text of nvidia-smi -q without a GPU",
    "| NVIDIA-SMI ": "a table of nvidia-smi without a GPU",
    "pci.bus_id": "a table of nvidia-smi --query-gpu without name and memory.total",
    "gpu_bus_id": "a table of nvidia-smi --query-compute-apps",
    "# Idx ": "a table of nvidia-smi pmon or dmon",
    "Failed to initialize NVML": "the failure of an nvidia-smi",
    "NVIDIA-SMI has failed": "the failure of an nvidia-smi",
}
"""What nvidia-smi also prints, by a mark of its first lines."""


def _refuse_other_output(text: str, name: str) -> None:
    for mark, what in _OTHER_OUTPUT.items():
        if mark in text[:4000]:
            raise InventoryProblem(
                say("{name} is {what}, which is no inventory", name=name, what=what),
                hint="save the output of nvidia-smi -q -x and topo -m, or of nvidia-smi -L and topo -m",
            )


def stored(document: dict[str, Any], name: str) -> Inventory:
    """An inventory saved by `dsec inventory --json`, as a description of that machine."""
    fields = dict(document)
    form = fields.pop("format")
    if form != FORMAT:
        raise InventoryProblem(
            say(
                "{name} has the format {form!r}; this dsec reads {format}",
                name=name,
                form=form,
                format=FORMAT,
            ),
            hint="use the dsec that wrote it",
        )
    return _sound(steady(decode(Inventory, fields, where=name)), name)


def _sound(inventory: Inventory, name: str) -> Inventory:
    """The same; raises InventoryProblem for one that no machine is like, as after an edit by hand."""
    devices = inventory.devices
    amounts = (inventory.memory_bytes, *(device.memory_bytes for device in devices))
    wrong = (
        ("cpu_m", inventory.cpu_m < 1),
        ("memory_bytes", any(amount is not None and amount < 1 for amount in amounts)),
        ("speed", any(device.speed < 1 for device in devices)),
        ("uuid", len({device.uuid for device in devices}) < len(devices)),
    )
    for field, is_wrong in wrong:
        if is_wrong:
            raise InventoryProblem(
                say("{name} has a {field} that no machine has", name=name, field=field),
                hint=say("write it again: dsec inventory --json"),
            )
    return inventory


def _json(source: SourceText) -> object:
    try:
        return json.loads(source.text)
    except (ValueError, RecursionError) as problem:
        raise InventoryProblem(
            say("{name} is no JSON: {problem}", name=source.name, problem=problem),
            hint="dsec inventory --json writes it",
        ) from None


def _yaml(source: SourceText) -> object:
    from dsec_cli.source.resolve import plain_value
    from dsec_cli.source.yaml import parse

    tree = parse(source)
    for problem in [*tree.problems, *_repeated_keys(tree)]:
        if problem.code != _ODD_CHARACTER:
            where = source.position(problem.span.start)
            what = f"{source.name}:{where.line}:{where.column}: {problem.message}"
            raise InventoryProblem(what, hint=problem.help)
    if not tree.documents:
        raise InventoryProblem(
            say("{name} is empty", name=source.name),
            hint=say("name a file that dsec inventory --json wrote, or builtin:NAME"),
        )
    if len(tree.documents) != 1:
        what = f"{source.name} holds {len(tree.documents)} documents, not one"
        raise InventoryProblem(what, hint="write one inventory a file")
    return plain_value(tree.documents[0].root)


def _repeated_keys(tree: Tree) -> list[Problem]:
    """Keys written twice, anywhere: which of the two is meant cannot be known."""
    from dsec_cli.source.resolve import key_problems
    from dsec_cli.source.tree import Mapping, Sequence

    found: list[Problem] = []
    nodes: list[Node | None] = [document.root for document in tree.documents]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Mapping):
            found += [problem for problem in key_problems(node) if problem.code == "DS003"]
            nodes += [entry.value for entry in node.entries]
        elif isinstance(node, Sequence):
            nodes += node.items
    return found


def as_json(inventory: Inventory) -> str:
    """The stored form, indented for reading."""
    fields = encode(inventory)
    assert isinstance(fields, dict)
    return json.dumps({"format": FORMAT, **fields}, indent=2, ensure_ascii=False) + "\n"
