"""From text to the typed contract: every seed's document, tolerance, commands, merging."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.units import BitsPerSecond, Bytes, BytesPerSecond, Duration, FlopsPerSecond
from dsec.units import parse as quantity
from dsec_cli.contract import words
from dsec_cli.contract.build import Built, build, build_all, merge
from dsec_cli.contract.kinds import classify
from dsec_cli.contract.values import Contract, GpuMemory, Link, Need, Retries, Run, Step
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

CONTRACT = """\
version: "1.2.0"
name: ppo
baseline:
  gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
  cpu: 8
  memory: 64Gi
elasticity:
  gpu: {min_count: 2, max_count: 4, memory_min: 24Gi, memory_max: 40GB-class}
  network: {bandwidth_min: 1Gbps, bandwidth_max: 5Gbps}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s, resume_strategy: step_resume}
dependencies:
  - {name: reward_model_v2, version: 1.3.0, type: model, source: "ds://models/reward/2024q3"}
  - {package: vllm, version: 0.6.1, build_options: [--enable-cuda-graph, "--max-seq-len 8192"]}
"""

SANDBOX = """\
version: 1.2
base: deepseek/dsec-python311-cu121:latest
runtime_context:
  env_vars:
    - {name: TOOL_API_KEY, source: "vault://prod/agent-tools/websearch-key", ttl: 2h}
    - {name: WORKERS, value: 4}
  mounts:
    - {path: /workspace/data, source: "s3://ds-bucket/v2/", mode: ro-encrypted, cache_ttl: 300s}
security_policy:
  network:
    egress:
      - {domain: api.websearch.com, ports: [443], rate_limit: 100req/min}
      - {domain: internal-kv-store.prod, ports: [6379], allow_internal_only: true}
  filesystem: {write_allowed: [/workspace/output, /tmp], read_allowed: [/workspace/data]}
  memory: {allow_sbrk: true}
  dns_passthrough: true
include-code: {exclude_patterns: [".git/**", "*.log"]}
"""

TASKS = """\
tasks:
  - name: embedding-gen
    compute_unit: {gpu_type: a100, min_memory: 64GB, nvlink_affinity: link-group-0}
    script: python embed_gen.py
  - name: llm-inference
    compute_unit: {gpu_type: h100, fp16_throughput: 2000 TFLOPS, script: python llm_infer.py}
    timeout: 2h
  - name: vector-search
    compute_unit: {gpu_type: mi300x, memory_bandwidth: 3.2 TB/s}
communication:
  - {from: embedding-gen, to: llm-inference, protocol: nvlink-p2p}
  - {from: llm-inference, to: vector-search, protocol: rdma-over-converged-ethernet}
"""


def built(text: str, name: str = "dsandbox.yaml") -> Built:
    return build(parse(SourceText.from_bytes(name, text.encode())).documents[0], name)


def contract(text: str, name: str = "dsandbox.yaml") -> Contract:
    found = built(text, name)
    assert found.findings == ()
    return found.contract


def step(body: str) -> Step:
    [found] = contract(f"steps:\n  - {{id: a, {body}}}\n", "ds_config.yaml").steps
    return found


def codes(text: str, name: str = "ds_config.yaml") -> list[str]:
    return [finding.code for finding in built(text, name).findings]


def test_the_four_dimensions() -> None:
    found = contract(CONTRACT)
    assert found.kind == "contract"
    assert found.stated >= {"baseline", "elasticity", "fault_tolerance", "dependencies"}
    assert found.baseline is not None
    assert found.baseline.gpu is not None
    assert found.baseline.gpu.memory == GpuMemory(quantity(Bytes, "24Gi"), nominal=False, text="24Gi")
    assert (found.baseline.cpu_m, found.baseline.memory) == (8000, quantity(Bytes, "64Gi"))
    assert found.elasticity is not None
    assert found.elasticity.gpu is not None
    assert found.elasticity.gpu.memory_max == GpuMemory(
        quantity(Bytes, "40GB"), nominal=True, text="40GB-class"
    )
    assert found.elasticity.network is not None
    assert found.elasticity.network.bandwidth_max == quantity(BitsPerSecond, "5Gbps")
    assert found.fault_tolerance is not None
    assert found.fault_tolerance.checkpoint_grace_period == quantity(Duration, "30s")
    model, package = found.dependencies
    assert (model.path, model.name, model.version, model.type) == (
        ("dependencies", 0), "reward_model_v2", "1.3.0", "model",
    )  # fmt: skip
    assert package.build_options == ("--enable-cuda-graph", "--max-seq-len 8192")


def test_environment_and_policy() -> None:
    found = contract(SANDBOX)
    assert (found.kind, found.version) == ("environment", "1.2")
    assert [(var.name, var.value) for var in found.env_vars] == [("TOOL_API_KEY", None), ("WORKERS", "4")]
    assert found.mounts[0].cache_ttl == quantity(Duration, "300s")
    policy = found.security_policy
    assert policy is not None
    assert policy.egress[0].path == ("security_policy", "network", "egress", 0)
    assert (policy.egress[0].ports, policy.egress[0].rate_limit) == ((443,), "100req/min")
    assert policy.egress[1].allow_internal_only
    assert (policy.allow_sbrk, policy.dns_passthrough) == (True, True)
    assert found.exclude_patterns == (".git/**", "*.log")


def test_tasks_become_steps() -> None:
    found = contract(TASKS)
    assert [task.id for task in found.steps] == ["embedding-gen", "llm-inference", "vector-search"]
    assert {task.kind for task in found.steps} == {"task"}
    first, second, third = found.steps
    assert first.run == Run(argv=("python", "embed_gen.py"), shell=None, call=None)
    assert second.run == Run(argv=("python", "llm_infer.py"), shell=None, call=None)
    assert third.run is None
    assert first.demand.gpu is not None
    assert (first.demand.gpu.count, first.demand.gpu.type) == (1, "a100")
    assert second.demand.fp16_throughput == quantity(FlopsPerSecond, "2000TFLOPS")
    assert third.demand.memory_bandwidth == quantity(BytesPerSecond, "3.2TB/s")
    assert found.communication[0] == Link(
        ("communication", 0), "embedding-gen", "llm-inference", "nvlink-p2p"
    )


def test_a_step_in_full() -> None:
    [found] = contract(
        """\
steps:
  - id: S4
    name: GRPOSampling
    call: policy:sample
    args: {b: [1, 2.5, "文"], a: true}
    worker: learner
    needs: [S2, {step: S5, carried: true}]
    resources: {gpu: {count: 1, memory: 12Gi}, cpu: 0.5, memory: 1GB, disk: 2GB, pcie: 12GB/s, network: 1Gbps}
    level: elastic
    timeout: 1m
    checkpoint_grace_period: 5s
    retries: {max: 3, backoff: 2s, factor: 1}
    inputs: ["{run}/a"]
    outputs: ["{run}/b", "{run}/c"]
    expected_duration: 10s
    env: {A: 1, B: x, C: 1.50}
    cwd: sub
    break_cycle: true
    break_point: S2
""",
        "ds_config.yaml",
    ).steps
    assert found.run == Run(argv=(), shell=None, call="policy:sample")
    assert found.args == '{"a":true,"b":[1,2.5,"文"]}'
    assert found.needs == (
        Need(("steps", 0, "needs", 0), "S2", carried=False),
        Need(("steps", 0, "needs", 1), "S5", carried=True),
    )
    assert found.demand.path == ("steps", 0, "resources")
    assert (found.demand.cpu_m, found.demand.disk) == (500, quantity(Bytes, "2GB"))
    assert found.demand.pcie == quantity(BytesPerSecond, "12GB/s")
    assert found.retries == Retries(max=3, backoff=quantity(Duration, "2s"), factor=1)
    assert found.outputs == ((("steps", 0, "outputs", 0), "{run}/b"), (("steps", 0, "outputs", 1), "{run}/c"))
    assert found.env == (("A", "1"), ("B", "x"), ("C", "1.50"))
    assert (found.break_cycle, found.break_point) == (True, "S2")


def test_defaults_of_a_step() -> None:
    found = step("run: x, retries: 2")
    assert found.retries == Retries(max=2, backoff=quantity(Duration, "1s"), factor=2)
    assert (found.needs, found.args, found.timeout, found.level) == ((), "{}", None, None)
    assert found.demand.path == ("steps", 0)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("python train.py --steps 100", ("python", "train.py", "--steps", "100")),
        ("'python  -c  \"a b\"'", ("python", "-c", "a b")),
        (r'"echo a\\ b"', ("echo", "a b")),
        ("[python, '-c', 'print( 1 )']", ("python", "-c", "print( 1 )")),
        ("echo $HOME | cat", ("echo", "$HOME", "|", "cat")),
    ],
)
def test_commands_are_words(run: str, expected: tuple[str, ...]) -> None:
    found = (
        step(f"run: {run}")
        if "," not in run
        else contract(f"steps:\n- id: a\n  run: {run}\n", "ds_config.yaml").steps[0]
    )
    assert found.run == Run(argv=expected, shell=None, call=None)


@pytest.mark.parametrize(("style", "script"), [("|", "a\nb\n"), (">", "a b\n"), ("|-", "a\nb")])
def test_blocks_are_shell_scripts(style: str, script: str) -> None:
    [found] = contract(f"steps:\n- id: a\n  run: {style}\n    a\n    b\n", "ds_config.yaml").steps
    assert found.run == Run(argv=(), shell=script, call=None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{id: a}", ["DS109"]),
        ("{id: a, run: x, call: 'm:f'}", ["DS109"]),
        ('{id: a, run: "\'open"}', ["DS104"]),
        ("{id: a, run: '  '}", ["DS104"]),
        ("{id: a, call: 'm:f', args: {x: .nan}}", ["DS104"]),
        ("{id: a, call: 5}", ["DS104"]),
    ],
)
def test_commands_that_cannot_be(body: str, expected: list[str]) -> None:
    assert codes(f"steps: [{body}]") == expected


def steps_built(text: str) -> Built:
    return build(parse(SourceText.from_bytes("ds_config.yaml", text.encode())).documents[0], "ds_config.yaml")


def test_what_only_a_call_takes_is_refused_beside_a_command() -> None:
    built = steps_built("steps: [{id: a, run: ls, args: {x: 1}, worker: w, timeout: 5s}]")
    assert [(one.code, one.where) for one in built.findings] == [
        ("DS109", ("steps", 0, "args")),
        ("DS109", ("steps", 0, "worker")),
    ]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (r'run: "ls \0"', ("run",)),
        (r'run: [ls, "\x00"]', ("run", 1)),
        (r'run: ls, env: {A: "\u0000"}', ("env", "A")),
        (r'run: ls, cwd: "a\0"', ("cwd",)),
        (r'run: ls, outputs: [a, "b\0"]', ("outputs", 1)),
    ],
)
def test_nul_ends_texts_early_and_is_refused(body: str, where: tuple[str | int, ...]) -> None:
    built = steps_built(f"steps: [{{id: a, timeout: 5s, {body}}}]")
    assert [(one.code, one.where) for one in built.findings] == [("DS104", ("steps", 0, *where))]


def test_wrong_statements_are_none_and_the_rest_stays() -> None:
    found = built(
        """\
baseline: {gpu: {count: two, memory: 24, type: a100}, cpu: 4}
elasticity: []
fault_tolerance: {level: x, checkpoint_grace_period: 5s}
dependencies: [{name: a}, 5]
steps: [{id: 1, run: x}, {run: y}, {id: b, run: z, needs: [1, {step: b}], timeout: 5}, 7]
iterations: {max_staleness: 1}
"""
    )
    assert [finding.code for finding in found.findings] == [
        "DS104", "DS106", "DS104", "DS105", "DS109", "DS109", "DS104",
        "DS104", "DS109", "DS104", "DS106", "DS104", "DS109",
    ]  # fmt: skip
    stated = found.contract
    assert stated.baseline is not None
    assert stated.baseline.gpu is not None
    assert (stated.baseline.gpu.count, stated.baseline.gpu.memory, stated.baseline.gpu.type) == (
        None,
        None,
        "a100",
    )
    assert stated.baseline.cpu_m == 4000
    assert stated.elasticity is None
    assert stated.iterations is None
    assert [item.id for item in stated.steps] == ["1", "b"], "a wrong id still names its Step"
    assert [need.step for need in stated.steps[1].needs] == ["1", "b"]


def test_iterations() -> None:
    found = contract(
        "iterations: {count: 20, max_staleness: 1, carried: [{from: S5, to: S2}]}", "ds_config.yaml"
    )
    assert found.iterations is not None
    assert (found.iterations.count, found.iterations.max_staleness, found.iterations.in_flight) == (20, 1, 3)
    assert found.iterations.carried == (Link(("iterations", "carried", 0), "S5", "S2", None),)


@pytest.mark.parametrize(
    ("keys", "name", "kind"),
    [
        ("baseline steps", "dsandbox.yaml", "contract"),
        ("elasticity base", "any.yaml", "contract"),
        ("base dependencies", "agent-train-sandbox.yaml", "environment"),
        ("tasks communication", "rag-training-task.yaml", "tasks"),
        ("model runtime resources", "hermes-deploy.yaml", "deploy"),
        ("steps", "a/ds_config.yaml", "steps"),
        ("steps", "a\\ds_config.yml", "steps"),
        ("bandwidth_cap latency_cap snapshot_interval", "x.yaml", "health"),
        ("plugins", "x.yaml", "health"),
        ("name version", "plugin.yaml", "plugin"),
        ("name permissions", "x.yaml", "plugin"),
        ("steps", "x.yaml", "contract"),
        ("basline", "x.yaml", "contract"),
        ("", "x.yaml", "contract"),
    ],
)
def test_kinds_of_documents(keys: str, name: str, kind: str) -> None:
    assert classify(frozenset(keys.split()), name) == kind


def test_every_document_of_a_file_is_built() -> None:
    tree = parse(SourceText.from_bytes("all.yaml", f"---\n{CONTRACT}---\n---\n{TASKS}".encode()))
    found = build_all(tree, "all.yaml")
    assert [(one.contract.kind, one.contract.document) for one in found] == [("contract", 0), ("tasks", 2)]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "---\n---\n"])
def test_an_empty_file_lacks_everything(text: str) -> None:
    tree = parse(SourceText.from_bytes("dsandbox.yaml", text.encode()))
    found = build_all(tree, "dsandbox.yaml")
    assert [finding.code for one in found for finding in one.findings] == ["DS102"] * len(found)
    assert len(found) == min(1, len(tree.documents))


def test_merging_takes_whole_keys_that_the_contract_lacks() -> None:
    own = contract(CONTRACT + "data_source: ds://own\n")
    other = contract(
        "steps: [{id: a, run: x}]\niterations: {count: 3}\ndata_source: ds://other\nlatency_cap: 75ms\n",
        "ds_config.yaml",
    )
    merged = merge(own, other)
    assert merged.data_source == "ds://own"
    assert (merged.steps, merged.iterations, merged.latency_cap) == (
        other.steps,
        other.iterations,
        other.latency_cap,
    )
    assert (merged.kind, merged.baseline, merged.stated) == (
        "contract",
        own.baseline,
        own.stated | other.stated,
    )
    assert merge(own, own) == own


def test_merging_keeps_the_contracts_own_tasks_whole() -> None:
    merged = merge(contract(TASKS), contract("steps: [{id: a, run: x}]", "ds_config.yaml"))
    assert [item.id for item in merged.steps] == ["embedding-gen", "llm-inference", "vector-search"]


@given(st.text(alphabet=" \t\n'\"\\ab文\x0b;|#", max_size=12))
def test_words_are_those_of_the_standard_library(text: str) -> None:
    from shlex import split

    def outcome(function: object) -> object:
        try:
            return tuple(function(text))  # type: ignore[operator]
        except ValueError as problem:
            return str(problem)

    assert outcome(words.split) == outcome(split)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=("C", "Z")), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), json_values, max_size=3))
def test_arguments_are_canonical_json(args: dict[str, object]) -> None:
    text = json.dumps([{"id": "a", "call": "m:f", "args": args}], ensure_ascii=False)
    [found] = contract(f"steps: {text}\n", "ds_config.yaml").steps
    assert found.args == json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@given(st.text(max_size=60))
def test_any_text_builds(text: str) -> None:
    tree = parse(SourceText.from_bytes("dsandbox.yaml", text.encode("utf-8", "surrogatepass")))
    for one in build_all(tree, "dsandbox.yaml"):
        assert all(finding.message for finding in one.findings)
