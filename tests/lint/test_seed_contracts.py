"""Every YAML block of the seeds gets the findings that the seed's text says, at the exact place."""

from __future__ import annotations

from pathlib import Path

import pytest

SEEDS = Path(__file__).resolve().parents[1] / "golden" / "lint" / "seeds"
FILES = sorted(SEEDS.glob("*.yaml"))

BRANCH = "DS402 warning dependencies[1].source `git+ssh://git@internal.git/sim-env@main#subdirectory=core`"
RESOLVER = "DS603 warning security_policy.filesystem.read_allowed `read_allowed`"
S3 = "DS405 warning runtime_context.mounts[0].source `s3://ds-bucket/finetune-datasets/v2/`"
LATEST = "DS403 warning base `deepseek/dsec-python311-cu121:latest`"
V42 = "DS107 warning dependencies[1].version `v4.2`"
PAUSE = "DS310 info fault_tolerance.level `pauseable`"
EXPECTED: dict[str, tuple[str, ...]] = {
    # One dimension alone is a fragment: all four must be there (A, 2.1).
    "a-2.1-baseline": (
        "DS102 error - `baseline` dependencies",
        "DS102 error - `baseline` elasticity",
        "DS102 error - `baseline` fault_tolerance",
    ),
    "a-2.1-elasticity": (
        "DS102 error - `elasticity` baseline",
        "DS102 error - `elasticity` dependencies",
        "DS102 error - `elasticity` fault_tolerance",
    ),
    "a-2.1-fault-tolerance": (
        "DS102 error - `fault_tolerance` baseline",
        "DS102 error - `fault_tolerance` dependencies",
        "DS102 error - `fault_tolerance` elasticity",
    ),
    "a-2.1-dependencies": (
        "DS102 error - `dependencies` baseline",
        "DS102 error - `dependencies` elasticity",
        "DS102 error - `dependencies` fault_tolerance",
        V42,
        BRANCH,
    ),
    # The four together are accepted; `v4.2` is not semantic, which the seed itself demands (A, 2.2),
    # and a branch has no hash that could be checked, which it says is done (A, 2.1).
    "a-2.1-all-four-dimensions": (PAUSE, V42, BRANCH),
    "a-2.1-type-left-out": ("DS204 error baseline.gpu `gpu`", PAUSE, V42, BRANCH),
    "a-2.2-baseline-above-minimum": ("DS201 error baseline.gpu.count `2`", PAUSE, V42, BRANCH),
    "a-2-trainer-parameters": (PAUSE, V42, BRANCH, "DS101 error max_epochs `max_epochs`"),
    "a-3-seven-steps": (
        "DS310 info steps[S2].level `pauseable`",
        "DS310 info steps[S4].level `pauseable`",
    ),
    "a-4.1-data-source": (),
    "a-4.2-hermes-deploy": (),
    "a-5.3-over-commitment": (
        "DS203 warning elasticity.gpu.max_count `8`",
        PAUSE,
        "DS301 warning fault_tolerance.checkpoint_grace_period `5s`",
        V42,
        BRANCH,
    ),
    "a-5.3-elastic-pool": ("DS206 warning elasticity.gpu.max_count `4`", PAUSE, V42, BRANCH),
    "a-5.4-cycle": ("DS503 error steps[S2].needs[1] `S3`",),
    "a-5.4-cycle-broken": (),
    "a-5.4-no-timeout": (
        "DS505 error steps[S1].id `S1`",
        "DS505 error steps[S2].id `S2`",
        "DS310 info steps[S2].level `pauseable`",
        "DS505 error steps[S3].id `S3`",
        "DS505 error steps[S4].id `S4`",
        "DS310 info steps[S4].level `pauseable`",
        "DS505 error steps[S5].id `S5`",
        "DS505 error steps[S6].id `S6`",
        "DS505 error steps[S7].id `S7`",
    ),
    # The manifest shows permissions only; a plugin's signature is checked, too (A, 4.3).
    "a-5.5-plugin-permissions": ("DS606 warning name `skill-manager`",),
    "a-5.5-telemetry-off": (),
    # The example runs into three traps that its own text tells of later: an image that moves (A, 5.1),
    # objects without cache_ttl (B, 4.5), and names that cannot be resolved (B, 4.1).
    "b-2-agent-train-sandbox": (
        "DS103 warning version `1.2`",
        LATEST,
        S3,
        RESOLVER,
    ),
    "b-2-agent-train-sandbox-as-extracted": (
        "DS103 warning version `1.2`",
        LATEST,
        "DS108 error dependencies[0].version `4.40.0,4.42.0`",
        S3,
        RESOLVER,
    ),
    # A demands a timeout of every Step; B's tasks show none, so it is said as a warning.
    "b-3.1-rag-training-task": (
        "DS505 warning tasks[embedding-gen].name `embedding-gen`",
        "DS505 warning tasks[llm-inference].name `llm-inference`",
        "DS505 warning tasks[vector-search].name `vector-search`",
        # The text leaves the choice of a bridge between an A100 and an H100 to DSec; there is none.
        "DS509 info communication[0].protocol `nvlink-p2p`",
    ),
    "b-4-remedies": (LATEST,),
    "b-4.3-include-code": (LATEST,),
    "b-4.3-include-code-as-extracted": (LATEST, "DS002 error - `*`"),
    "c-3.1-plugins": (),
    "c-4.2-thresholds": (),
    "c-4.2-thresholds-tuned": (),
}
"""File -> all that its text says must be found: code, severity, path and the marked text."""

ACCEPTED = (
    "a-2.1-all-four-dimensions",
    "a-3-seven-steps",
    "a-4.2-hermes-deploy",
    "b-2-agent-train-sandbox",
    "b-3.1-rag-training-task",
    "b-4-remedies",
    "b-4.3-include-code",
    "c-3.1-plugins",
    "c-4.2-thresholds",
)
"""What the seeds present as a working contract."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_seed(path: Path, cases) -> None:
    cases.compare(path, cases.run(path.read_bytes()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_seed_gets_what_its_text_says(path: Path, cases) -> None:
    data = path.read_bytes()
    text = data.decode()
    got = []
    for one in cases.run(data):
        if one.code == "DS116":
            continue  # keys that no run applies yet: ours to say, and true of most of them
        marked = text[one.place.span.start : one.place.span.end]
        missing = one.message.split()[3].strip(",") if one.code == "DS102" else ""
        got.append(f"{one.code} {one.severity.value} {one.path or '-'} `{marked}` {missing}".strip())
    assert tuple(got) == EXPECTED[path.stem]


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_seeds_accept_has_no_error(name: str, cases) -> None:
    found = cases.run((SEEDS / f"{name}.yaml").read_bytes())
    assert [one for one in found if one.severity.value == "error"] == []


def test_every_expectation_has_its_file() -> None:
    assert set(EXPECTED) == {path.stem for path in FILES}
