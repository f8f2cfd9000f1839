"""A Step graph with split Steps in their parts: each part a Step, and one that puts them together."""

from __future__ import annotations

from itertools import accumulate

from dsec.parts import told
from dsec.units import Bytes, Duration
from dsec_cli.contract.canonical import canonical_json
from dsec_cli.contract.values import Demand, GpuMemory, Run
from dsec_cli.dag.graph import Edge, StepGraph, adjacency
from dsec_cli.dag.splittable import how_reduced, part_id, part_outputs, reduce_id, rounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeVar

    from dsec_cli.contract.values import Contract, Link, Step
    from dsec_cli.dag.split import Split

    E = TypeVar("E", Edge, Link)

ALL_REDUCE = "dsec.allreduce:all_reduce"


def split_graph(graph: StepGraph, splits: Mapping[str, Split], learned: Mapping[str, int]) -> StepGraph:
    """The graph with these Steps split: who needs one waits for all its parts, put together."""
    if not splits:
        return graph
    steps: list[Step] = []
    inner: list[Edge] = []
    for step in graph.steps:
        split = splits.get(step.id)
        if split is None:
            steps.append(step)
            continue
        known = step.id in learned or step.expect is not None
        parts = [
            _part(step, split, at, shared_out=known and part_id(step.id, at) not in learned)
            for at in range(len(split.ends))
        ]
        together = _together(step, split)
        steps += [*parts, together]
        inner += [_inner(step, part, together) for part in parts]
    numbers = {step.id: at for at, step in enumerate(steps)}
    edges = [*_rewired(graph.edges, splits), *inner]
    return graph._replace(
        steps=tuple(steps),
        numbers=numbers,
        edges=tuple(edges),
        carried=tuple(_rewired(graph.carried, splits)),
        cuts=tuple(_rewired(graph.cuts, splits)),
        successors=adjacency(len(steps), numbers, edges),
    )


def split_contract(contract: Contract, splits: Mapping[str, Split]) -> Contract:
    """The contract whose communication is that of the parts."""
    if not splits or not contract.communication:
        return contract
    return contract._replace(communication=tuple(_rewired(contract.communication, splits)))


def learned_of_parts(learned: Mapping[str, int], splits: Mapping[str, Split]) -> Mapping[str, int]:
    """What is learned of whole Steps, shared out to parts that have not run yet."""
    more: dict[str, int] = {}
    for step, split in splits.items():
        total = sum(split.sizes)
        if step in learned and total:
            for at, share in enumerate(_shares(split)):
                more[part_id(step, at)] = learned[step] * share // total
    return {**more, **learned} if more else learned


def _shares(split: Split) -> list[int]:
    """Bytes of layers in each part."""
    row = (0, *accumulate(split.sizes))
    return [row[end] - row[start] for start, end in zip((0, *split.ends), split.ends, strict=False)]


def _part(step: Step, split: Split, at: int, *, shared_out: bool) -> Step:
    """One part; `shared_out`: whether its estimate is its share of the whole Step's."""
    count = len(split.ends)
    first, last = (0, *split.ends)[at], split.ends[at] - 1
    share, total = _shares(split)[at], sum(split.sizes)
    gpu, expect = step.demand.gpu, step.expect
    taken = Bytes(share + split.beside)
    if gpu is not None:
        gpu = gpu._replace(
            count=1, memory=GpuMemory(taken, False, str(taken)), min_count=None, max_count=None
        )
    layers = f"layer {first}" if first == last else f"layers {first}-{last}"
    held = f"{rounded(share)} of {rounded(total)}"
    because = [f"split: {layers} of 0-{len(split.sizes) - 1} of {step.id}, {held}"]
    if shared_out and total:
        because.append(f"estimate: {share * 100 // total} % of {step.id}'s, as of its layers' memory")
    return step._replace(
        id=part_id(step.id, at),
        name=f"{step.name or 'layers'} {first}-{last}",
        worker=_worker(step, count, first, last),
        env=(*step.env, *told(at, count, (first, last)).items()),
        demand=step.demand._replace(gpu=gpu),
        outputs=part_outputs(step, at),
        expect=Duration(int(expect) * share // total) if expect is not None and total else expect,
        layers=(),
        all_reduce=None,
        because=tuple(because),
    )


def _worker(step: Step, count: int, first: int, last: int) -> str | None:
    """Steps that share a worker and are cut alike share that of a part, too: it holds the same layers."""
    if step.run is None or step.run.call is None or step.worker is None:
        return None
    return f"{step.worker}.{first}-{last}-of-{count}"


def _together(step: Step, split: Split) -> Step:
    how, count = how_reduced(step), len(split.ends)
    stated = "" if step.all_reduce is not None else ", the default"
    return step._replace(
        id=reduce_id(step.id),
        name="AllReduce",
        run=Run((), None, ALL_REDUCE),
        args=canonical_json({"how": how, "outputs": [text for _, text in step.outputs], "parts": count}),
        worker=None,
        env=(),
        cwd=None,
        demand=_nothing(step),
        inputs=tuple(pair for at in range(count) for pair in part_outputs(step, at)),
        expect=None,
        break_cycle=False,
        break_point=None,
        layers=(),
        all_reduce=None,
        because=(
            f"split: makes one of the outputs of the {count} parts of {step.id} ({how}{stated})",
            f"split: {split.why}",
        ),
        checkpoint_cmd=None,
    )


def _nothing(step: Step) -> Demand:
    """No demand but the core that every process takes."""
    values: dict[str, Any] = dict.fromkeys(Demand._fields)
    return Demand(**{**values, "path": step.demand.path})


def _inner(step: Step, part: Step, together: Step) -> Edge:
    via = part.outputs[0][1] if part.outputs else ""
    return Edge(part.id, together.id, "data" if via else "order", (*step.path, "layers"), via)


def _rewired(edges: Iterable[E], splits: Mapping[str, Split]) -> list[E]:
    """Edges from a split Step come from what puts it together, edges to it lead to every part."""
    found: list[E] = []
    for edge in edges:
        source = reduce_id(edge.source) if edge.source in splits else edge.source
        split = splits.get(edge.target)
        ends = [edge.target] if split is None else [part_id(edge.target, at) for at in range(len(split.ends))]
        found += [edge._replace(source=source, target=target) for target in ends]
    return found
