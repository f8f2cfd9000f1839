"""How many GPUs a command takes, by what it tells its launcher or its inference engine.

Only sizes that are written in the command count; those of configuration files are not known here.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step

Factors = tuple[tuple[str, ...], ...]
"""Options (each by all its spellings) whose product is the number of GPUs."""

_NPROC: Factors = (("--nproc_per_node", "--nproc"),)
_ENGINE: Factors = (
    ("--tensor_parallel_size", "-tp", "--tp"),
    ("--pipeline_parallel_size", "-pp", "--pp"),
    ("--data_parallel_size", "-dp", "--dp"),
)
_SGLANG: Factors = (
    ("--tp_size", "--tp", "--tensor_parallel_size"),
    ("--pp_size", "--pp", "--pipeline_parallel_size"),
    ("--dp_size", "--dp", "--data_parallel_size"),
)
LAUNCHERS: dict[str, Factors] = {
    "torchrun": _NPROC,
    "torch.distributed.run": _NPROC,
    "torch.distributed.launch": _NPROC,
    "tune": _NPROC,
    "accelerate": (("--num_processes",),),
    "deepspeed": (("--num_gpus",),),
    "colossalai": _NPROC,
    "horovodrun": (("-np", "--num_proc"),),
}
"""Programs that start one process for each GPU."""
ENGINES: dict[str, Factors] = {
    "vllm": _ENGINE,
    "vllm.entrypoints.openai.api_server": _ENGINE,
    "vllm.entrypoints.api_server": _ENGINE,
    "sglang.launch_server": _SGLANG,
    "trtllm-serve": (("--tp_size",), ("--pp_size",)),
    "lmdeploy": (("--tp",), ("--dp",)),
    "text-generation-launcher": (("--num_shard",),),
}
"""Inference engines, which lay one model over several GPUs."""
NAMED: tuple[Factors, ...] = (
    (
        (
            "--tensor_parallel_size",
            "--tensor_model_parallel_size",
            "--vllm_tensor_parallel_size",
            "tensor_parallel_size",
            "tensor_model_parallel_size",
            "actor_rollout_ref.rollout.tensor_model_parallel_size",
            "generator.inference_engine_tensor_parallel_size",
            "generator.inference_engine.tensor_parallel_size",
        ),
        (
            "--pipeline_parallel_size",
            "--pipeline_model_parallel_size",
            "pipeline_parallel_size",
            "pipeline_model_parallel_size",
        ),
    ),
    (
        (
            "--n_gpus_per_node",
            "--num_gpus_per_node",
            "--gpus_per_node",
            "--actor_num_gpus_per_node",
            "trainer.n_gpus_per_node",
            "cluster.n_gpus_per_node",
            "trainer.placement.policy_num_gpus_per_node",
            "trainer.devices",
            "--trainer.devices",
        ),
    ),
)
"""Options that mean the same with every program."""
_ELSEWHERE = frozenset(
    ("--num_machines", "--nnodes", "--num_nodes", "--cpu", "--use_cpu", "--hostfile", "-H", "trainer.nnodes")
) | {"--data_parallel_size_local", "-dpl", "--data_parallel_address", "-dpa"}
"""Options with which the processes are not all of this machine, or take no GPU."""
_ATTENTION = "--enable_dp_attention"
"""With it SGLang's data parallel groups are parts of its tensor parallel one, and take no GPU more."""
_PRINTS = frozenset(("echo", "printf", ":"))
_DIVIDERS = frozenset(("&&", "||", ";", "|", "&", "\n", "do", "then", "else"))

Options = dict[str, tuple[str, str]]
"""Options of a command, dashes within read as underscores: the value, and the name as it is written."""


class Launch(Record):
    """One command that says how many GPUs it takes."""

    option: str
    """What says so, as it is written; several with ` x ` between."""
    count: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    kind: str
    """`launcher` or `engine` for a program that is known, `option` for one that is not."""


def launches(step: Step) -> list[Launch]:
    """Every command of the Step that says how many GPUs it takes on this machine."""
    if step.run is None or step.kind != "step":
        return []
    stated = {name: int(value) for name, value in step.env if name == "NPROC_PER_NODE" and _is_count(value)}
    found = [Launch("NPROC_PER_NODE", count, "launcher") for count in stated.values()]
    for words in _commands(step):
        found += _of_command(words)
    return found


def _commands(step: Step) -> Iterator[list[str]]:
    """The words of each command; the script of a block has several."""
    if step.run is None:
        return
    if step.run.shell is None:
        yield list(step.run.argv)
        return
    words: list[str] = []
    for line in step.run.shell.replace("\\\n", " ").split("\n"):
        if line.lstrip().startswith("#"):
            continue
        for word in (*line.replace(";", " ; ").split(), "\n"):
            if word in _DIVIDERS:
                yield words
                words = []
            else:
                words.append(word.strip("'\""))
    yield words


def _of_command(words: list[str]) -> Iterator[Launch]:
    options = {_plain(name): (value, name) for name, value in _options(words)}
    if any(name in options and options[name][0] not in ("1", "1:1") for name in _ELSEWHERE):
        return
    if words[:1] and words[0] in _PRINTS:
        return
    for kind, table in (("launcher", LAUNCHERS), ("engine", ENGINES)):
        for word in words:
            factors = table.get(word.rpartition("/")[2])
            if factors and _ATTENTION in options:
                factors = tuple(one for one in factors if "--data_parallel_size" not in one)
            launch = factors and _product(options, factors, kind)
            if launch:
                yield launch
                return
    for factors in NAMED:
        launch = _product(options, factors, "option")
        if launch:
            yield launch
            return


def _product(options: Options, factors: Factors, kind: str) -> Launch | None:
    """What those of the factors that are stated come to; None where none is."""
    names, count = [], 1
    for spellings in factors:
        stated = next(
            (options[one] for one in spellings if one in options and _is_count(options[one][0])), None
        )
        if stated is not None:
            names.append(stated)
            count *= int(stated[0])
    if not names:
        return None
    shown = names[0][1] if len(names) == 1 else " x ".join(f"{name} {value}" for value, name in names)
    return Launch(shown, count, kind)


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """`--name value`, `--name=value`, `name=value`, and those that a value joins by commas."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.startswith("-") and not equals:
            value = words[at + 1] if at + 1 < len(words) and not words[at + 1].startswith("-") else ""
            yield name, value
        elif equals:
            yield name.lstrip("+"), value.strip("'\"")
        if "," in word:
            for part in word.split(","):
                key, equals, value = part.partition("=")
                if equals:
                    yield key, value


def _plain(name: str) -> str:
    bare = name.lstrip("-")
    return name[: len(name) - len(bare)] + bare.replace("-", "_")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text) > 0
