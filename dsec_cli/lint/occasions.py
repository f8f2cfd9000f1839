"""What a document gives rules occasion to look at, in words: a rule whose words do not all hold is not asked.

The words of a document are its root keys, the codes of what reading and building it have found, what
is `given` besides the text, and those of the tables below. Each may hold in vain, none may be missing
where a rule that names it would find something: a test asks all rules and compares.
"""

from __future__ import annotations

from dsec_cli.contract.unapplied import unapplied
from dsec_cli.lint.suspects import ODD, has_odd_quotes, has_two_readings, holds_secrets, is_untidy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from dsec_cli.contract.values import Contract, Dependency, FaultTolerance, Gpu, Step
    from dsec_cli.lint.rule import Facts, Surroundings

    T = TypeVar("T")

MANY = 12
"""Steps that no rule counts."""
BRIEF_NS = 10**9
PAIR = 2
SPELT = ("&", "$", "unsettled:", "CUDA_VISIBLE_DEVICES")
"""Words that hold where the text has them."""
MEETING = ("port", "rdzv", "init", "MASTER")
"""Parts of commands and variables by which processes find each other."""
SIZED = ("train_batch_size", "generation_batch_size", "n_gpus_per_node", "num_gpus_per_node")
"""Parts of commands that give a training framework its sizes."""

LAUNCHED = ("nproc", "NPROC", "num_proc", "num-proc", "gpus", "parallel", "tp", "-np", "num-shard", "devices")
"""Parts of commands that say how many GPUs they take (`lint.launchers`): without one no command does."""

OF_TEXT: dict[str, Callable[[Facts], object]] = {
    "suppression": lambda facts: facts.suppressions,
    "spelt-suppression": lambda facts: _names_suppression(facts.text.text),
    "unexpanded": lambda facts: any(sign in facts.text.text for sign in ("$", "{{", "`", "%")),
    "untidy": lambda facts: is_untidy(facts.text),
    "odd-character": lambda facts: (
        any(one.code == ODD for one in facts.tree.problems) or has_odd_quotes(facts.text.text)
    ),
    "two-readings": lambda facts: has_two_readings(facts.text.text, facts.tree.comments),
    "secret": lambda facts: holds_secrets(facts.text.text),
}
GIVEN: dict[str, Callable[[Surroundings], object]] = {
    "given:inventory": lambda around: around.inventory is not None,
    "given:code": lambda around: around.needs is not None,
    "given:packages": lambda around: around.packages is not None,
    "given:beside": lambda around: around.beside is not None,
}
OF_CONTRACT: dict[str, Callable[[Contract], object]] = {
    "elasticity.gpu": lambda contract: contract.elasticity is not None and contract.elasticity.gpu,
    "elasticity.network": lambda contract: contract.elasticity is not None and contract.elasticity.network,
    "bounds": lambda contract: (
        contract.elasticity is not None
        or contract.min_gpu_hours is not None
        or any(_has_bounds(step) for step in contract.steps)
    ),
    "gpu-hours": lambda contract: contract.max_gpu_hours is not None or contract.min_gpu_hours is not None,
    "step": lambda contract: contract.steps,
    "many-steps": lambda contract: len(contract.steps) > MANY,
    "named-step": lambda contract: contract.communication or contract.iterations or _needs_unknown(contract),
    "located": lambda contract: (
        contract.data_source is not None or any(one.source is not None for one in contract.dependencies)
    ),
    "plain-shell": lambda contract: (
        contract.shell
        or any(
            step.shell or step.checkpoint_cmd or (step.run and step.run.shell and step.run.shell[:2] == "#!")
            for step in contract.steps
        )
    ),
    "source-stated": lambda contract: (
        contract.data_source is not None
        or any(one.source for one in contract.dependencies)
        or any(one.source for one in contract.env_vars)
        or contract.mounts
    ),
    "mount": lambda contract: contract.mounts,
    "rate": lambda contract: any(
        step.demand.fp16_throughput or step.demand.memory_bandwidth for step in contract.steps
    ),
    "egress": lambda contract: contract.security_policy is not None and contract.security_policy.egress,
    "fetched-variable": lambda contract: any(one.source for one in contract.env_vars),
    "plugin-manifest": lambda contract: contract.kind == "plugin",
    "permission": lambda contract: not contract.stated.isdisjoint(("permissions", "plugins")),
    "entry-twice": lambda contract: _names_twice(contract),
    "not-applied": lambda contract: any(unapplied(contract)),
    "odd-version": lambda contract: "plugins" in contract.stated or _is_odd(contract.version),
}
OF_DEPENDENCY: dict[str, Callable[[Dependency], object]] = {
    "package": lambda one: one.package is not None,
    "source": lambda one: one.source is not None and one.package is None,
    "odd-version": lambda one: _is_odd(one.version) and (one.package is None or _begins_number(one.version)),
}
OF_GPU: dict[str, Callable[[Gpu], object]] = {
    "gpu-type": lambda gpu: gpu.type is not None,
    "gpu-memory": lambda gpu: gpu.memory is not None,
    "over-two-gpus": lambda gpu: (gpu.count or 0) > PAIR,
}
OF_STEP: dict[str, Callable[[Step], object]] = {
    "need": lambda step: step.needs,
    "input": lambda step: step.inputs,
    "output": lambda step: step.outputs,
    "cut": lambda step: step.break_cycle or step.break_point is not None,
    "no-time": lambda step: step.timeout is None or step.timeout.ms == 0,
    "past-timeout": lambda step: _passes(step),
    "brief": lambda step: step.expect is not None and step.expect < BRIEF_NS,
    "discardable": lambda step: step.level == "discardable",
    "pauseable": lambda step: step.level == "pauseable",
    "step-grace": lambda step: step.grace is not None,
    "step-gpu": lambda step: step.demand.gpu,
    "folder": lambda step: step.cwd is not None and ".." in step.cwd,
    "script-folded": lambda step: step.run is not None and step.run.shell,
    "tokens-held": lambda step: step.demand.tokens,
    "layers": lambda step: step.layers or step.all_reduce,
}


def _names_suppression(text: str) -> bool:
    """Whether a comment may be meant to suppress something."""
    return "#" in text and (
        "dsec:" in text or "DSEC:" in text or "Sec:" in text or "Dsec:" in text or "DS" in text
    )


def _has_bounds(step: Step) -> bool:
    """Whether the Step may be started with fewer or more GPUs."""
    gpu = step.demand.gpu
    return gpu is not None and (gpu.min_count is not None or gpu.max_count is not None)


def of_text(facts: Facts) -> frozenset[str]:
    """The words of a whole text."""
    text = facts.text.text
    words = {problem.code for problem in facts.tree.problems}
    words.update(sign for sign in SPELT if sign in text)
    return frozenset(words.union(_holding(OF_TEXT, facts)))


def of_end(facts: Facts) -> frozenset[str]:
    """The words when all other findings are known."""
    return frozenset(word for word, some in (("unused", facts.unused), ("crash", facts.crashes)) if some)


def of_document(facts: Facts) -> set[str]:
    """The words of one document, those of its text left out."""
    contract = facts.contract
    words = {*contract.stated, *_holding(GIVEN, facts.around), *_holding(OF_CONTRACT, contract)}
    if facts.structural:
        # What could not be read may be what a rule looks for in the tree.
        words.update(finding.code for finding in facts.structural)
        words.add("odd-version")
    if contract.dependencies:
        words.update(_found(OF_DEPENDENCY, contract.dependencies), _of_packages(contract, words))
    words.update(_of_gpus(contract, words))
    if contract.fault_tolerance is not None:
        words.update(_of_tolerance(contract.fault_tolerance))
    if contract.steps:
        words.update(_found(OF_STEP, contract.steps), _of_steps(contract))
    if any("MASTER" in (variable.name or "") for variable in contract.env_vars):
        words.add("meeting")
    return words


def _holding(table: dict[str, Callable[[T], object]], value: T) -> list[str]:
    return [word for word, test in table.items() if test(value)]


def _found(table: dict[str, Callable[[T], object]], values: Iterable[T]) -> list[str]:
    return [word for word, test in table.items() if any(map(test, values))]


def _needs_unknown(contract: Contract) -> bool:
    """Whether a Step needs one that is none."""
    known = {step.id for step in contract.steps}
    return any(need.step not in known for step in contract.steps for need in step.needs)


def _names_twice(contract: Contract) -> bool:
    """Whether a list says something twice."""
    lists: list[list[object]] = [
        [one.name for one in contract.env_vars],
        [one.target for one in contract.mounts],
        [(one.package, one.version) for one in contract.dependencies if one.package is not None],
        [one.name for one in contract.dependencies if one.name],
    ]
    policy = contract.security_policy
    if policy is not None:
        lists += [[one[1:] for one in policy.egress], [*policy.read_allowed], [*policy.write_allowed]]
    for step in contract.steps:
        lists += [[need[1:] for need in part] for part in (step.needs, step.inputs, step.outputs) if part[1:]]
    return any(len(set(one)) < len(one) for one in lists)


def _of_packages(contract: Contract, words: set[str]) -> Iterator[str]:
    """Whether there are packages that may get in each other's way."""
    count = sum(one.package is not None for one in contract.dependencies)
    if count > 1 or (count and "given:packages" in words):
        yield "packages"


def _of_gpus(contract: Contract, words: set[str]) -> Iterator[str]:
    """What is asked of GPUs, by the baseline, by elasticity and by Steps."""
    baseline = contract.baseline.gpu if contract.baseline is not None else None
    asks = [step.demand.gpu for step in contract.steps if step.demand.gpu is not None]
    if baseline is not None:
        asks.append(baseline)
        yield "baseline.gpu"
    if asks and (baseline is None or baseline.type is None):
        yield "gpu-without-type"
    elastic = contract.elasticity.gpu if contract.elasticity is not None else None
    found = _found(OF_GPU, asks)
    if elastic is not None and (elastic.min_count or 0) > PAIR:
        found.append("over-two-gpus")
    sized = "gpu-memory" in found or any(step.layers for step in contract.steps)
    if "given:inventory" in words or sized or (elastic is not None and elastic.memory_min):
        found.append("demand")
    yield from found


def _of_tolerance(tolerance: FaultTolerance) -> Iterator[str]:
    """The level that Steps have by default, as if each stated it."""
    if tolerance.level is not None:
        yield tolerance.level
    if tolerance.checkpoint_grace_period is not None:
        yield "grace"


def _of_steps(contract: Contract) -> Iterator[str]:
    """What the Steps are only together."""
    steps = contract.steps
    distinct = len({step.id for step in steps}) == len(steps)
    if not distinct:
        yield "same-id"
    if not distinct or contract.communication or _waits_for_later(steps):
        yield "later-step"
    if any(step.grace is not None for step in steps):
        yield "grace"
    runs = [step.run for step in steps if step.run is not None]
    commands = "\n".join([run.shell or " ".join(run.argv) for run in runs])
    if any(name in commands for name in LAUNCHED) or any("NPROC" in n for step in steps for n, _ in step.env):
        yield "launcher"
    if any(name in commands.replace("-", "_") for name in SIZED):
        yield "sized"
    named = any("MASTER" in name for step in steps for name, _ in step.env)
    if named or any(part in commands for part in MEETING):
        yield "meeting"


def _waits_for_later(steps: tuple[Step, ...]) -> bool:
    """Whether a Step may wait for itself or a later one; where none does, none waits in a circle."""
    above: set[str] = set()
    read: set[str] = set()
    for step in steps:
        if any(need.step not in above and not need.carried for need in step.needs):
            return True
        for _, text in step.outputs:
            if text in read or _is_odd_path(text):
                return True
        for _, text in step.inputs:
            if _is_odd_path(text):
                return True
            read.add(text)
        above.add(step.id)
    return False


def _is_odd_path(text: str) -> bool:
    """Whether a path may be another spelling of a file, or a folder that holds it."""
    return "./" in text or "//" in text or text[-1:] in ("/", ".", "")


def _passes(step: Step) -> bool:
    """Whether a time of the Step is longer than its timeout."""
    most = step.timeout
    return most is not None and any(time is not None and time > most for time in (step.expect, step.grace))


def _is_odd(version: str | None) -> bool:
    """Whether a version is not plainly three numbers."""
    if version is None:
        return False
    parts = version.split(".")
    return len(parts) != 3 or not all(
        part.isascii() and part.isdigit() and (part[0] != "0" or part == "0") for part in parts
    )


def _begins_number(version: str | None) -> bool:
    return version is not None and (version[:1] in "+-." or version[:1].isdigit())
