"""Whether a Step with layers can be split at all: what its contract must say for that, devices aside."""

from __future__ import annotations

from dsec.parts import part_path
from dsec.record import Record
from dsec.units import Bytes
from dsec_cli.contract.forms import is_step_id
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dsec_cli.contract.values import GpuMemory, Step
    from dsec_cli.source.tree import Path

MOST_LAYERS = 20_000
SUM = "sum"
"""The reduction where none is stated, as in MPI and NCCL examples."""
ARRAYS = (".npy", ".npz")
"""Files that the named reductions read."""
REDUCE = "all-reduce"
"""What the id of the Step that puts parts together ends with."""


class Obstacle(Record):
    """Why a Step cannot be split."""

    where: Path
    message: str
    help: str


def part_id(step: str, index: int) -> str:
    """The id of a part: `S2.0`."""
    return f"{step}.{index}"


def reduce_id(step: str) -> str:
    """The id of the Step that puts the parts together: `S2.all-reduce`."""
    return f"{step}.{REDUCE}"


def how_reduced(step: Step) -> str:
    """The reduction of the outputs, the default filled in."""
    return step.all_reduce or SUM


def layer_count(step: Step) -> int:
    """How many layers there are."""
    return sum(layer.many for layer in step.layers)


def layer_sizes(step: Step) -> list[int]:
    """What each layer takes, in order."""
    return [int(layer.memory) for layer in step.layers for _ in range(layer.many)]


def layers_bytes(step: Step) -> int:
    """What all layers take together."""
    return sum(layer.many * layer.memory for layer in step.layers)


def beside_layers(step: Step) -> int:
    """What the Step takes on a device besides its layers: as much as its GPU memory is larger."""
    gpu = step.demand.gpu
    if gpu is None or gpu.memory is None:
        return 0
    return max(0, _exact(gpu.memory) - layers_bytes(step))


def rounded(amount: int) -> str:
    """`15.7Gi`: what a reader needs of a size."""
    unit, name = (2**30, "Gi") if amount >= 2**30 else (2**20, "Mi")
    return f"{amount / unit:.1f}".removesuffix(".0") + name


def _exact(memory: GpuMemory) -> int:
    if not memory.nominal:
        return int(memory.bytes)
    from dsec.cards import class_bytes

    return class_bytes(int(memory.bytes))


def obstacles(step: Step, others: Collection[str]) -> Iterator[Obstacle]:
    """What in the Step itself forbids to split it; `others` are the ids that are taken."""
    at = (*step.path, "layers")
    gpu = step.demand.gpu
    if layer_count(step) > MOST_LAYERS:
        yield Obstacle(
            at,
            say("{count} layers are more than {most}", count=layer_count(step), most=MOST_LAYERS),
            say("state blocks of layers, each as one"),
        )
    if gpu is not None and (gpu.count or 0) > 1:
        yield Obstacle(
            (*gpu.path, "count"),
            say("it asks for {count} GPUs, and layers are those of a Step on one", count=gpu.count),
            say("write count: 1 and let DSec split it, or leave out layers"),
        )
    short = memory_short_of_layers(step)
    if short is not None:
        yield short
    yield from _of_files(step)
    yield from _of_ids(step, others)


def memory_short_of_layers(step: Step, gpus: int = 1) -> Obstacle | None:
    """What is wrong where the memory that is stated, of so many GPUs, is less than the layers take."""
    gpu = step.demand.gpu
    if gpu is None or gpu.memory is None or _exact(gpu.memory) * gpus >= layers_bytes(step):
        return None
    return Obstacle(
        (*gpu.path, "memory"),
        say(
            "its memory is {memory}, its layers alone take {layers}",
            memory=gpu.memory.text,
            layers=Bytes(layers_bytes(step)),
        ),
        say("leave out resources.gpu.memory, or state layers and what comes besides"),
    )


def _of_files(step: Step) -> Iterator[Obstacle]:
    how = how_reduced(step)
    read = {text for _, text in step.inputs}
    for path, text in step.outputs:
        if ":" not in how and not text.endswith(ARRAYS):
            yield Obstacle(
                path,
                say(
                    "its output {path} is no .npy or .npz file, which is all that {how} reads",
                    path=text,
                    how=how,
                ),
                say("name a function that puts parts together: all_reduce: module:function"),
            )
        if text in read:
            yield Obstacle(
                path,
                say(
                    "it reads its own output {path}, which its parts would read half old, half new", path=text
                ),
                say("give each iteration a file of its own: {previous} read, {iteration} written"),
            )


def _of_ids(step: Step, others: Collection[str]) -> Iterator[Obstacle]:
    longest = reduce_id(step.id)
    if not is_step_id(longest):
        yield Obstacle(
            (*step.path, "id"),
            say("its id is too long for parts: {id} has {count} characters", id=longest, count=len(longest)),
            say("give it an id of at most {most} characters", most=64 - len(REDUCE) - 1),
        )
    taken = [
        name for name in (reduce_id(step.id), part_id(step.id, 0), part_id(step.id, 1)) if name in others
    ]
    for name in taken:
        yield Obstacle(
            (*step.path, "id"),
            say("{name} is the id of another Step, and would be that of a part", name=name),
            say("give the other Step another id"),
        )


def part_outputs(step: Step, index: int) -> tuple[tuple[Path, str], ...]:
    """The outputs of one part."""
    return tuple((path, part_path(text, index)) for path, text in step.outputs)
