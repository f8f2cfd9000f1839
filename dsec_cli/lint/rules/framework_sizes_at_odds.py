"""Sizes that a command gives to its training framework do not go together.

Why: Batches must fall into whole groups and whole shares of a GPU, and where policy and inference engines
share their GPUs both must ask for as many. The framework works that out when models are loaded, minutes
into the run, or not at all. Looked at are options and `key=value` words of verl, SkyRL and TRL; what a
command does not state is not guessed.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: >-
          python -m verl.trainer.main_ppo data.train_batch_size=30 actor_rollout_ref.rollout.n=5
          trainer.n_gpus_per_node=8 trainer.nnodes=1
        timeout: 1h

Good (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: >-
          python -m verl.trainer.main_ppo data.train_batch_size=32 actor_rollout_ref.rollout.n=5
          trainer.n_gpus_per_node=8 trainer.nnodes=1
        timeout: 1h

Source: users' reports on sizes that are invalid together and fail late; the checks that verl, SkyRL and
TRL make themselves.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dsec_cli.contract.values import Step

WHOLE = (
    (
        ("data.train_batch_size", "actor_rollout_ref.rollout.n"),
        ("trainer.n_gpus_per_node", "trainer.nnodes"),
    ),
    (
        ("trainer.n_gpus_per_node", "trainer.nnodes"),
        ("actor_rollout_ref.rollout.tensor_model_parallel_size",),
    ),
    (("trainer.train_batch_size",), ("trainer.policy_mini_batch_size",)),
    (("generation_batch_size",), ("num_generations",)),
)
"""The product of the first names must be a multiple of that of the second ones.

The first does not hold with Megatron, where several GPUs may have one share of a batch together.
"""
NODES = ("trainer.placement.policy_num_nodes", "trainer.nnodes")
"""One, where a command does not say."""
SHARED = (
    ("trainer.placement.policy_num_gpus_per_node", "trainer.placement.policy_num_nodes"),
    (
        ("generator.num_inference_engines", "generator.inference_engine.num_engines"),
        (
            "generator.inference_engine_tensor_parallel_size",
            "generator.inference_engine.tensor_parallel_size",
        ),
        (
            "generator.inference_engine_pipeline_parallel_size",
            "generator.inference_engine.pipeline_parallel_size",
        ),
        ("generator.inference_engine_data_parallel_size", "generator.inference_engine.data_parallel_size"),
    ),
)
"""GPUs of the policy, and the factors (each by two spellings) whose product the engines take."""
APART = "trainer.placement.colocate_all=false"
_PARTS = ("pipeline_parallel_size", "data_parallel_size")


def check(facts: Facts) -> Iterator[Finding]:
    """Commands of Steps."""
    for step in facts.contract.steps:
        if step.run is not None and step.kind != "task":
            words = (step.run.shell or "").replace("\\\n", " ").split() or list(step.run.argv)
            yield from _judged(step, words)


def _judged(step: Step, words: list[str]) -> Iterator[Finding]:
    stated = _stated(words)
    uneven = any("megatron" in word for word in words)
    for whole, part in WHOLE[uneven:]:
        yield from _not_whole(step, _known(stated, whole), _known(stated, part))
    if not any(word.strip("'\"").lower() == APART for word in words):
        yield from _not_equal(step, _known(stated, SHARED[0]), _engines(stated))


def _stated(words: list[str]) -> dict[str, int]:
    """Each size that the command states, and states once: two commands of one script are not mixed."""
    found: dict[str, set[int]] = {}
    for name, value in _sizes(words):
        found.setdefault(name, set()).add(value)
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def _sizes(words: list[str]) -> Iterator[tuple[str, int]]:
    """`name=3`, `+name=3`, `--name 3` and `--name=3`."""
    for at, word in enumerate(words):
        name, equals, value = word.strip("'\"").partition("=")
        option = name.startswith("--")
        if option and not equals:
            value = words[at + 1] if at + 1 < len(words) else ""
        elif not equals:
            continue
        name, value = name.lstrip("+-"), value.strip("'\"")
        if value.isascii() and value.isdigit() and 0 < len(value) < 10 and int(value):
            yield (name.replace("-", "_") if option else name), int(value)


def _known(stated: Mapping[str, int], names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """The factors that are stated; () where one is missing that has no value of its own."""
    found = []
    for name in names:
        if name in stated:
            found.append((name, stated[name]))
        elif name not in NODES:
            return ()
    return tuple(found)


def _engines(stated: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    found = []
    for spellings in SHARED[1]:
        known = [(name, stated[name]) for name in spellings if name in stated]
        if not known and not spellings[0].endswith(_PARTS):
            return ()
        found += known
    return tuple(found)


def _not_whole(
    step: Step, whole: tuple[tuple[str, int], ...], part: tuple[tuple[str, int], ...]
) -> Iterator[Finding]:
    have, per = _product(whole), _product(part)
    if whole and part and have % per:
        yield _finding(
            step,
            say(
                "Step {step}: {whole} is no multiple of {part}: {rest} over",
                "rest",
                step=step.id,
                whole=_shown(whole),
                part=_shown(part),
                rest=have % per,
            ),
            say(
                "change one, for example {name} so that the first is {less} or {more}",
                name=whole[0][0],
                less=max(per, have - have % per),
                more=have - have % per + per,
            ),
        )


def _not_equal(
    step: Step, policy: tuple[tuple[str, int], ...], engines: tuple[tuple[str, int], ...]
) -> Iterator[Finding]:
    if policy and engines and _product(policy) != _product(engines):
        yield _finding(
            step,
            say(
                "Step {step}: the GPUs of the policy ({policy}) are not those of the engines "
                "that share them ({engines})",
                step=step.id,
                policy=_shown(policy),
                engines=_shown(engines),
            ),
            say("make both the same, or set trainer.placement.colocate_all=false"),
        )


def _product(factors: tuple[tuple[str, int], ...]) -> int:
    found = 1
    for _, value in factors:
        found *= value
    return found


def _shown(factors: tuple[tuple[str, int], ...]) -> str:
    """`rollout.n 5`, or `train_batch_size 30 x n 5 = 150`; names without what they stand under."""
    terms = " x ".join(f"{name.rpartition('.')[2]} {value}" for name, value in factors)
    return terms if len(factors) == 1 else f"{terms} = {_product(factors)}"


def _finding(step: Step, message: str, help_: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*step.path, "run"),
        message=message,
        reason=say("the framework refuses it once the models are loaded, or splits unevenly"),
        help=help_,
    )


RULE = Rule("DS520", "framework-sizes-at-odds", Severity.WARNING, check, when=("sized",))
