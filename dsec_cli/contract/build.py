"""From a located document to the contract that it states, and the findings of its structure.

Tolerant: what is wrong or absent is None, so that one document gets all its findings at once.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.contract import complaints
from dsec_cli.contract.build_steps import communication, iterations, steps
from dsec_cli.contract.check import Command, check, root_keys
from dsec_cli.contract.kinds import DIMENSIONS, MEANT, classify, has_key_of_contract, may_be_foreign
from dsec_cli.contract.read import (
    bandwidth,
    counts,
    cpu_m,
    duration,
    flag,
    gpu,
    gpu_memory,
    items,
    number,
    section,
    size,
    text,
    texts,
    whole,
)
from dsec_cli.contract.values import (
    Baseline,
    Contract,
    Dependency,
    Egress,
    ElasticGpu,
    Elasticity,
    ElasticNetwork,
    EnvVar,
    FaultTolerance,
    Mount,
    SecurityPolicy,
)
from dsec_cli.diagnostics import Finding
from dsec_cli.source.resolve import resolve
from dsec_cli.source.tree import Document, Node, Path, Scalar, Tree, with_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dsec_cli.contract.check import Values
    from dsec_cli.contract.memory import Memory


class Built(Record):
    """What a document states, and what is structurally wrong with it."""

    contract: Contract
    findings: tuple[Finding, ...]


def build_all(tree: Tree, file_name: str, memory: Memory | None = None) -> tuple[Built, ...]:
    """Every document of a file; empty ones are skipped where there are others."""
    stated = tuple(document for document in tree.documents if not _empty(document.root))
    built = tuple(build(document, file_name, memory) for document in stated or tree.documents[:1])
    return built[:1] + tuple(_further(one, at, built[0]) for at, one in enumerate(built[1:], 2))


def build_text(
    tree: Tree, text: str, file_name: str, memory: Memory | None = None
) -> tuple[Tree, tuple[Built, ...]]:
    """The same of a text and its tree; a text that is no YAML is told to be none, and its tree is empty."""
    other = other_kind(tree, text, file_name)
    if other is None:
        return tree, build_all(tree, file_name, memory)
    empty = with_document(Tree((), (), ()), len(text))
    nothing = _contract({}, "contract", empty.documents[0], frozenset(), findings=[], memory=None)
    return empty, (Built(nothing, (other,)),)


def other_kind(tree: Tree, text: str, file_name: str) -> Finding | None:
    """What to say of a text that is no YAML at all; None for all others."""
    keys = frozenset[str]().union(*(root_keys(document.root) for document in tree.documents))
    plain = file_name.endswith((".yaml", ".yml")) and not tree.problems and keys
    stated = plain or (has_key_of_contract(keys) and not tree.problems)
    if not text.strip() or (stated and not text.startswith("#!")):
        return None
    from dsec_cli.contract.foreign_text import of_text  # few texts are no contract at all

    roots = tuple(document.root for document in tree.documents)
    return of_text(text, file_name, roots, broken=bool(tree.problems))


def _further(built: Built, number: int, first: Built) -> Built:
    """A document that is not the file's first: a part of the one above, or one that nothing would run."""
    missing = [one for one in built.findings if one.code == "DS102"]
    if len(missing) < len(DIMENSIONS):
        said = complaints.further_document(built.contract.name, number, first.contract.name)
        return built._replace(findings=(*built.findings, said))
    others = tuple(one for one in built.findings if one.code != "DS102")
    return built._replace(findings=(complaints.cut_off(), *others))


def build(document: Document, file_name: str, memory: Memory | None = None) -> Built:
    """Check one document and read it; the file's name helps to tell which kind it is."""
    stated = root_keys(document.root)
    kind = classify(stated, file_name)
    if document.gaps:
        memory = None  # what is missing may stand where nothing could be read
    if kind not in ("health", "steps") and may_be_foreign(stated):
        from dsec_cli.contract.foreign import foreign  # few documents are

        other = foreign(document.root, file_name)
        if other is not None:
            nothing = _contract({}, "contract", document, frozenset(), findings=[], memory=None)
            return Built(nothing, (other,))
    values, findings = check(document, kind, memory)
    if _empty(document.root) and not document.gaps:
        findings = [complaints.empty_document(document.span)]
    if _may_be_unknown(findings, stated, file_name) and not document.gaps:
        from dsec_cli.contract.foreign import unknown  # few documents are

        if (other := unknown(document.root, kind)) is not None:
            findings = [other]
    contract = _contract(values, kind, document, stated, findings=findings, memory=memory)
    if len(findings) > 1 and {one.code for one in findings} & {"DS102", "DS109"}:
        findings = _told_once(findings)
    if findings and document.gaps:
        from dsec_cli.contract.echoes import without_unread  # few texts cannot be read as a whole

        findings = without_unread(findings, document)
    if document.nul:
        findings.extend(_ended_early(values, ()))
    return Built(contract, tuple(findings))


def _may_be_unknown(findings: list[Finding], stated: frozenset[str], file_name: str) -> bool:
    """Whether a document may be of an unknown kind: one with a root key that no contract has."""
    if not may_be_foreign(stated) or file_name.replace("\\", "/").rpartition("/")[2] in MEANT:
        return False
    return any(one.code == "DS101" and len(one.where) == 1 for one in findings)


def _told_once(findings: list[Finding]) -> list[Finding]:
    if not any(one.code == "DS101" for one in findings):
        return findings
    from dsec_cli.contract.echoes import without_echoes  # a document without a wrong key does not pay

    return without_echoes(findings)


def _ended_early(value: object, at: Path) -> Iterator[Finding]:
    """Texts with a NUL: the system ends a program's name, a path or a variable there."""
    if isinstance(value, str):
        if "\0" in value:
            yield complaints.holds_nul(at)
    elif isinstance(value, Command):
        yield from _ended_early(value.text, at)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _ended_early(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _ended_early(inner, (*at, index))


def _empty(root: Node | None) -> bool:
    """No root, or one that says nothing: `---` alone, or comments only."""
    return root is None or (isinstance(root, Scalar) and resolve(root)[1] is None)


def _contract(
    values: Values,
    kind: str,
    document: Document,
    stated: frozenset[str],
    *,
    findings: list[Finding],
    memory: Memory | None,
) -> Contract:
    code = section(values, "include-code")
    return Contract(
        kind=kind,
        document=document.index,
        name=text(values, "name"),
        version=text(values, "version"),
        base=text(values, "base"),
        baseline=_baseline(values),
        elasticity=_elasticity(values),
        fault_tolerance=_fault_tolerance(values),
        dependencies=tuple(_dependency(item, at) for at, item in items(values, "dependencies")),
        env_vars=_env_vars(values, findings, whole=not document.gaps),
        mounts=_mounts(values),
        security_policy=_security_policy(values),
        exclude_patterns=None if code is None else texts(code, "exclude_patterns"),
        data_source=text(values, "data_source"),
        nvlink_mode=text(values, "nvlink_mode"),
        max_gpu_hours=number(values, "max_gpu_hours"),
        min_gpu_hours=number(values, "min_gpu_hours"),
        bandwidth_cap=bandwidth(values, "bandwidth_cap"),
        latency_cap=duration(values, "latency_cap"),
        snapshot_interval=duration(values, "snapshot_interval"),
        steps=steps(values, findings, whole=not document.gaps, memory=memory),
        communication=communication(values),
        iterations=iterations(values),
        stated=stated,
        tokens=counts(values, "tokens"),
        shell=text(values, "shell"),
        max_steps_per_episode=whole(values, "max_steps_per_episode"),
        checkpoint_interval_steps=whole(values, "checkpoint_interval_steps"),
    )


def _baseline(values: Values) -> Baseline | None:
    stated = section(values, "baseline")
    if stated is None:
        return None
    path = ("baseline",)
    return Baseline(path=path, gpu=gpu(stated, path), cpu_m=cpu_m(stated), memory=size(stated, "memory"))


def _elasticity(values: Values) -> Elasticity | None:
    stated = section(values, "elasticity")
    if stated is None:
        return None
    return Elasticity(path=("elasticity",), gpu=_elastic_gpu(stated), network=_elastic_network(stated))


def _elastic_gpu(elasticity: Values) -> ElasticGpu | None:
    stated = section(elasticity, "gpu")
    if stated is None:
        return None
    return ElasticGpu(
        path=("elasticity", "gpu"),
        min_count=whole(stated, "min_count"),
        max_count=whole(stated, "max_count"),
        memory_min=gpu_memory(stated, "memory_min"),
        memory_max=gpu_memory(stated, "memory_max"),
    )


def _elastic_network(elasticity: Values) -> ElasticNetwork | None:
    stated = section(elasticity, "network")
    if stated is None:
        return None
    return ElasticNetwork(
        path=("elasticity", "network"),
        bandwidth_min=bandwidth(stated, "bandwidth_min"),
        bandwidth_max=bandwidth(stated, "bandwidth_max"),
    )


def _fault_tolerance(values: Values) -> FaultTolerance | None:
    stated = section(values, "fault_tolerance")
    if stated is None:
        return None
    return FaultTolerance(
        path=("fault_tolerance",),
        level=text(stated, "level"),
        checkpoint_grace_period=duration(stated, "checkpoint_grace_period"),
        resume_strategy=text(stated, "resume_strategy"),
    )


def _dependency(stated: Values, at: Path) -> Dependency:
    return Dependency(
        path=at,
        name=text(stated, "name"),
        package=text(stated, "package"),
        version=text(stated, "version"),
        type=text(stated, "type"),
        source=text(stated, "source"),
        hash=text(stated, "hash"),
        build_options=texts(stated, "build_options"),
    )


def _env_vars(values: Values, findings: list[Finding], *, whole: bool) -> tuple[EnvVar, ...]:
    context = section(values, "runtime_context") or {}
    found = tuple(
        EnvVar(
            path=("runtime_context", *at),
            name=text(stated, "name"),
            value=text(stated, "value"),
            source=text(stated, "source"),
            ttl=duration(stated, "ttl"),
        )
        for at, stated in items(context, "env_vars")
    )
    for one in found:
        if (one.value is None) == (one.source is None) and (whole or one.value is not None):
            findings.extend(_given_by_no_one(one, findings))
    return found


def _given_by_no_one(one: EnvVar, findings: list[Finding]) -> Iterator[Finding]:
    """A variable with both a value and a source, or with neither; a value that is wrong is told already."""
    if not any(told.where[: len(one.path)] == one.path for told in findings if told.code != "DS101"):
        yield complaints.not_one_value(one.path, one.name or "?", neither=one.value is None)


def _mounts(values: Values) -> tuple[Mount, ...]:
    context = section(values, "runtime_context") or {}
    return tuple(
        Mount(
            path=("runtime_context", *at),
            target=text(stated, "path"),
            source=text(stated, "source"),
            mode=text(stated, "mode"),
            cache_ttl=duration(stated, "cache_ttl"),
        )
        for at, stated in items(context, "mounts")
    )


def _security_policy(values: Values) -> SecurityPolicy | None:
    stated = section(values, "security_policy")
    if stated is None:
        return None
    path = ("security_policy",)
    network = section(stated, "network") or {}
    files = section(stated, "filesystem") or {}
    return SecurityPolicy(
        path=path,
        egress=tuple(_egress(item, (*path, "network", *at)) for at, item in items(network, "egress")),
        read_allowed=texts(files, "read_allowed"),
        write_allowed=texts(files, "write_allowed"),
        allow_sbrk=flag(section(stated, "memory") or {}, "allow_sbrk"),
        dns_passthrough=flag(stated, "dns_passthrough"),
    )


def _egress(stated: Values, at: Path) -> Egress:
    limit = stated.get("rate_limit")
    ports = stated.get("ports")
    return Egress(
        path=at,
        domain=text(stated, "domain"),
        ports=tuple(port for port in ports if isinstance(port, int)) if isinstance(ports, list) else (),
        rate_limit=None if limit is None else str(limit),
        allow_internal_only=flag(stated, "allow_internal_only") or False,
    )


def merge(contract: Contract, other: Contract) -> Contract:
    """The contract with what only `other` states (a `ds_config.yaml` beside it) taken from there.

    Whole root keys are taken, never parts of one, so a reader knows the file of every statement:
    the contract's where `contract.stated` has the key, else the other.
    """
    taken: dict[str, Any] = {}
    for field, keys in _FIELDS.items():
        if not keys & contract.stated and keys & other.stated:
            taken[field] = getattr(other, field)
    return contract._replace(**taken, stated=contract.stated | other.stated)


_FIELDS = {
    "env_vars": frozenset(("runtime_context",)),
    "mounts": frozenset(("runtime_context",)),
    "exclude_patterns": frozenset(("include-code",)),
    "steps": frozenset(("steps", "tasks")),
    **{
        name: frozenset((name,))
        for name in Contract._fields
        if name not in ("kind", "document", "stated", "env_vars", "mounts", "exclude_patterns", "steps")
    },
}
"""Root keys from which each field of a contract is read."""
