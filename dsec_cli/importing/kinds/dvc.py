"""DVC pipelines: the stages of a dvc.yaml, with `vars`, `foreach` and `matrix` written out."""

from __future__ import annotations

from dsec.core.paths import normal
from dsec_cli.importing.commands import shell_command
from dsec_cli.importing.draft import Command, Draft, Step
from dsec_cli.importing.kind import ImportProblem, Kind
from dsec_cli.importing.naming import Ids, legal
from dsec_cli.importing.overlaps import Writers
from dsec_cli.importing.stages import Stage, stages
from dsec_cli.importing.tables import Table, documents, span_of
from dsec_cli.importing.templates import fill
from dsec_cli.importing.variables import DEFAULT, context_of, file_names, file_values
from dsec_cli.source.resolve import follow
from dsec_cli.source.tree import Mapping, Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.importing.kind import Beside
    from dsec_cli.importing.notes import Notes
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Node

_SHOWN_BY_DVC = "what DVC shows of results; the file is an output"
_WHY = {
    "frozen": "a frozen stage is not run by DVC; here it is",
    "always_changed": "every Step of a run runs",
    "meta": "notes of the user",
    "params": "parameters are not tracked one by one; their file is an input",
    "metrics": _SHOWN_BY_DVC,
    "plots": _SHOWN_BY_DVC,
    "artifacts": "a registry of models is no part of a contract",
    "datasets": "data sets are dependencies: write name, version and source",
}
_OUTS = ("outs", "metrics", "plots")


def read(sources: tuple[SourceText, ...], beside: Beside, notes: Notes) -> Draft:
    """One Step for each stage; a stage waits for whoever writes what it depends on."""
    source = sources[0]
    roots = documents(source)
    top = Table(source, roots[0], notes) if roots else None
    declared = None if top is None else top.table("stages")
    if top is None or declared is None:
        raise ImportProblem(
            say("{name} has no stages", name=source.name), hint="a dvc.yaml has the key stages"
        )
    context = context_of(top, beside, file_values(DEFAULT, beside, top) or {})
    ids, writers = Ids(), Writers()
    steps = [_step(stage, ids.give(stage.name), writers) for stage in stages(declared, context, beside)]
    top.close(_WHY, ("vars",))
    for path in writers.several():
        notes.left(source, declared.span(""), say("out {path}", path=path), "more than one stage writes it")
    return Draft(
        legal(source.name.replace("\\", "/").rpartition("/")[0].rpartition("/")[2], "pipeline"),
        source.name,
        tuple(_waiting(step, writers) for step in steps),
    )


def _waiting(step: Step, writers: Writers) -> Step:
    """The Step with its needs on those who write parts of its inputs, or folders around them."""
    needs = [id_ for path in step.inputs for id_ in writers.apart(path) if id_ != step.id]
    return step._replace(needs=tuple(dict.fromkeys(needs)))


def _step(stage: Stage, id_: str, writers: Writers) -> Step:
    folder = _filled(stage, "wdir") or ""
    folder = "" if folder in ("", ".") else normal(folder)
    inputs = [_below(folder, path) for path in _paths(stage, "deps")]
    inputs += [_below(folder, path) for path in _parameter_files(stage)]
    outputs = [_below(folder, path) for key in _OUTS for path in _paths(stage, key)]
    for path in outputs:
        writers.add(path, id_)
    remark = _filled(stage, "desc") or ""
    command = _command(stage)
    stage.table.close(_WHY, ("vars",))
    return Step(
        id_,
        command,
        name="" if id_ == stage.name else stage.name,
        inputs=tuple(dict.fromkeys(inputs)),
        outputs=tuple(dict.fromkeys(outputs)),
        cwd=folder,
        remark=" ".join(remark.split()),
    )


def _below(folder: str, path: str) -> str:
    return normal(f"{folder}/{path}") if folder and not path.startswith("/") else normal(path)


def _filled(stage: Stage, key: str) -> str | None:
    text = stage.table.text(key)
    return None if text is None else _fill(stage, text, key)


def _fill(stage: Stage, text: str, key: str) -> str:
    filled, unknown = fill(text, stage.context)
    for expression in unknown:
        stage.table.notes.left(
            stage.table.source,
            stage.table.span(key),
            f"{stage.declared}.{key}: ${{{expression}}}",
            "no variable has a single value of that name",
        )
    return filled


def _command(stage: Stage) -> Command:
    lines = [_fill(stage, text, "cmd") for text in stage.table.texts("cmd")]
    if not any(line.strip() for line in lines):
        return Command()
    return shell_command("\n".join(lines), stage.table.source, stage.table.span("cmd"), stage.table.notes)


def _paths(stage: Stage, key: str) -> Iterator[str]:
    """Paths of a list whose items may be mappings with options; those that are no files are told."""
    for item in stage.table.items(key):
        for node, options in _entries(item):
            path = _fill(stage, node.text, key)
            why = ""
            if "://" in path:
                why = "not a local file"
            elif not path or "{" in path:
                why = "not a name that a contract can hold"
            if why:
                stage.table.notes.left(
                    stage.table.source, span_of(node), f"{stage.declared}.{key}: {node.text}", why
                )
                continue
            if options is not None and key == "outs":
                told = "options of DVC's cache"
                stage.table.notes.left(
                    stage.table.source, span_of(options), f"{stage.declared}.{key}: options", told
                )
            yield path


def _entries(item: Node) -> Iterator[tuple[Scalar, Node | None]]:
    if isinstance(item, Scalar):
        yield item, None
    elif isinstance(item, Mapping):
        for entry in item.entries:
            key = follow(entry.key)
            if isinstance(key, Scalar):
                yield key, follow(entry.value)


def _parameter_files(stage: Stage) -> Iterator[str]:
    items = stage.table.items("params")
    for item in items:
        if isinstance(item, Scalar):
            yield DEFAULT
        else:
            yield from (_fill(stage, node.text, "params") for node, _ in _entries(item))
    if items:
        stage.table.left("params", _WHY["params"])


KIND = Kind("dvc", "a pipeline of DVC (dvc.yaml)", read, beside=file_names)
