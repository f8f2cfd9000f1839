"""Documents of other kinds that are taken for contracts, known by their root keys.

Imported only for documents with a key that no contract has.
"""

from __future__ import annotations

import shlex

from dsec.record import Record
from dsec_cli.contract.complaints import shown
from dsec_cli.contract.resemblance import strange_keys
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.tree import Node

    Solid = Scalar | Sequence | Mapping


class Other(Record):
    """A kind of document: the root keys that give it away, what it is, and what to do with it."""

    keys: tuple[str, ...]
    what: str
    advice: str


_NAMED = 4
"""Keys that are named of a document of another kind."""
_ADVICE = {
    "name": "name the contract instead (dsandbox.yaml)",
    "code": "dsec code reads the Python of a folder; name the contract instead (dsandbox.yaml)",
    "made": "check the contract that it was made of",
    "run": "dsec run {file} runs it; check the contract that it was made of",
    "again": "dsec plan CONTRACT -o {file} writes it anew; check the contract that it was made of",
    "show": "dsec inventory --inventory {file} shows it, dsec plan --inventory {file} plans for it",
    "import compose": "dsec import compose {file} makes a contract of it",
    "import dvc": "dsec import dvc {file} makes a contract of it",
    "import skypilot": "dsec import skypilot {file} makes a contract of it",
    "import slurm": "dsec import slurm {file} makes a contract of it",
    "import wfcommons": "dsec import wfcommons {file} makes a contract of it",
}
OURS = {
    "plan": Other((), say("a plan"), "run"),
    "inventory": Other((), say("an inventory"), "show"),
    "": Other((), say("what another command has written"), "made"),
}
"""By the word in their `format`."""
_COMPOSE, _SKYPILOT = say("a compose file"), say("a task of SkyPilot")
_RAY, _ANYSCALE = say("a cluster configuration of Ray"), say("a configuration of Anyscale")
_TRAINING = say("a configuration of a training framework")
_DSTACK = say("a configuration of dstack")
_SERVING = say("a configuration of a model server")
OTHERS = (
    Other(("hash", "inventory", "steps"), say("a plan"), "run"),
    Other(("machines",), say("an inventory"), "show"),
    Other(("gpus",), say("an inventory"), "show"),
    Other(("on", "jobs"), say("a GitHub workflow"), "name"),
    Other(("true", "jobs"), say("a GitHub workflow"), "name"),
    Other(("jobs", "permissions"), say("a GitHub workflow"), "name"),
    Other(("runs", "name", "description"), say("a GitHub action"), "name"),
    Other(("version", "updates"), say("a configuration of Dependabot"), "name"),
    Other(("jobs", "workflows"), say("a pipeline of CircleCI"), "name"),
    Other(("jobs", "orbs"), say("a pipeline of CircleCI"), "name"),
    Other(("trigger", "pool"), say("a pipeline of Azure"), "name"),
    Other(("pool", "steps"), say("a pipeline of Azure"), "name"),
    Other(("apiVersion",), say("a Kubernetes manifest"), "name"),
    Other(("workflow", "schemaVersion"), say("a workflow in WfFormat"), "import wfcommons"),
    Other(("repos",), say("a configuration of pre-commit"), "name"),
    Other(("channels", "dependencies"), say("an environment of conda"), "name"),
    Other(("$schema", "command"), say("a job of Azure Machine Learning"), "name"),
    Other(("$schema", "runs"), say("a SARIF log"), "name"),
    Other(("$schema", "properties"), say("a JSON Schema"), "name"),
    Other(("openapi", "paths"), say("an OpenAPI description"), "name"),
    Other(("cluster_name", "provider"), _RAY, "name"),
    Other(("available_node_types", "head_node_type"), _RAY, "name"),
    Other(("applications", "http_options"), _RAY, "name"),
    Other(("applications", "proxy_location"), _RAY, "name"),
    Other(("head_node", "worker_nodes"), _ANYSCALE, "name"),
    Other(("head_node_type", "worker_node_types"), _ANYSCALE, "name"),
    Other(("entrypoint", "compute_config"), _ANYSCALE, "name"),
    Other(("entrypoint", "working_dir"), _ANYSCALE, "name"),
    Other(("entrypoint", "image_uri"), _ANYSCALE, "name"),
    Other(("entrypoint", "containerfile"), _ANYSCALE, "name"),
    Other(("entrypoint", "cluster_env"), _ANYSCALE, "name"),
    Other(("applications", "compute_config"), _ANYSCALE, "name"),
    Other(("entrypoint", "searcher"), say("an experiment of Determined"), "name"),
    Other(("entrypoint", "hyperparameters"), say("an experiment of Determined"), "name"),
    Other(("actor_rollout_ref",), say("a configuration of verl"), "name"),
    Other(("experiment_name", "trial_name"), say("a configuration of AReaL"), "name"),
    Other(("allocation_mode", "cluster"), say("a configuration of AReaL"), "name"),
    Other(("defaults", "hydra"), say("a configuration of Hydra"), "name"),
    Other(("policy", "grpo"), _TRAINING, "name"),
    Other(("base_model", "datasets"), _TRAINING, "name"),
    Other(("model_name_or_path", "output_dir"), _TRAINING, "name"),
    Other(("model_name_or_path", "finetuning_type"), _TRAINING, "name"),
    Other(("compute_environment", "distributed_type"), say("a configuration of Accelerate"), "name"),
    Other(("zero_optimization",), say("a configuration of DeepSpeed"), "name"),
    Other(("train_micro_batch_size_per_gpu",), say("a configuration of DeepSpeed"), "name"),
    Other(("task", "doc_to_text"), say("a task of an evaluation harness"), "name"),
    Other(("task", "dataset_path"), say("a task of an evaluation harness"), "name"),
    Other(("program", "method", "parameters"), say("a sweep of Weights & Biases"), "name"),
    Other(("method", "parameters"), say("a sweep of Weights & Biases"), "name"),
    Other(("model_list",), _SERVING, "name"),
    Other(("name", "version", "scripts"), say("a package.json"), "name"),
    Other(("dependencies", "devDependencies"), say("a package.json"), "name"),
    Other(("compilerOptions",), say("a tsconfig.json"), "name"),
    Other(("cells", "nbformat"), say("a notebook"), "name"),
    Other(("mcpServers",), say("a list of MCP servers"), "name"),
    Other(("prompts", "providers"), say("an evaluation of promptfoo"), "name"),
    Other(("entry_points",), say("a project of MLflow"), "name"),
    Other(("site_name",), say("a configuration of MkDocs"), "name"),
    Other(("scrape_configs",), say("a configuration of Prometheus"), "name"),
    Other(("file_mounts", "run"), _SKYPILOT, "import skypilot"),
    Other(("setup", "run"), _SKYPILOT, "import skypilot"),
    Other(("resources", "run"), _SKYPILOT, "import skypilot"),
    Other(("envs", "run"), _SKYPILOT, "import skypilot"),
    Other(("num_nodes", "run"), _SKYPILOT, "import skypilot"),
    Other(("resources", "setup"), _SKYPILOT, "import skypilot"),
    Other(("resources", "service", "run"), _SKYPILOT, "import skypilot"),
)
"""The first whose keys a document has all of; those of one key are words that nothing else uses."""
_DVC = Other(("stages",), say("a dvc.yaml"), "import dvc")
_GITLAB = Other(("stages",), say("a pipeline of GitLab"), "name")
_DSTACK_TYPES = ("task", "dev-environment", "service", "fleet", "volume", "gateway", "cluster")
_OF_SERVICE = frozenset(
    ("image", "build", "command", "ports", "environment", "volumes", "depends_on", "deploy", "extends")
)


def foreign(root: Node | None, file: str) -> Finding | None:
    """What to say of a document that is something else; None for all others."""
    other = _other(root)
    if other is None:
        return None
    return finding(other.what, "again" if other.advice == "run" and not _runs(root) else other.advice, file)


def unknown(root: Node | None, kind: str) -> Finding | None:
    """One finding for a document whose root keys are hardly a contract's; None: it may be one with slips."""
    keys = strange_keys(root, kind)
    if not keys:
        return None
    named = ", ".join(shown(key) for key in keys[:_NAMED]) + (", ..." if len(keys) > _NAMED else "")
    return finding(say("a file of another kind"), "name", "")._replace(
        help=say(
            "no contract has the keys {keys}; name the contract (dsandbox.yaml), or run dsec init",
            keys=named,
        )
    )


def finding(what: str, advice: str, file: str) -> Finding:
    """That the file is something else, and what to do with it."""
    return Finding(
        "DS114",
        Severity.ERROR,
        (),
        say("this looks like {what}, not like a contract", "foreign", what=what),
        help=say(_ADVICE[advice], file=shlex.quote(file)),
    )


def _runs(root: Node | None) -> bool:
    """Whether `dsec run` takes it for a plan, whole or damaged: see `dsec.quickplan.is_plan`."""
    mapping = follow(root)
    if not isinstance(mapping, Mapping) or not mapping.flow:
        return False
    stated = {pair.key: follow(pair.value) for pair in pairs(mapping)}
    form = stated.get("format")
    return stated.keys() >= {"hash", "steps"} or (
        isinstance(form, Scalar) and form.text.startswith("dsec.plan/")
    )


def _other(root: Node | None) -> Other | None:
    mapping = follow(root)
    if not isinstance(mapping, Mapping):
        return None
    stated = {pair.key: follow(pair.value) for pair in pairs(mapping)}
    form = stated.get("format")
    if isinstance(form, Scalar) and form.text.startswith("dsec."):
        return OURS.get(form.text[len("dsec.") :].partition("/")[0], OURS[""])
    if "stages" in stated:
        return _DVC if isinstance(stated["stages"], Mapping) else _GITLAB
    found = next((one for one in OTHERS if stated.keys() >= set(one.keys)), None)
    return found or _by_values(stated)


def _by_values(stated: dict[str, Solid | None]) -> Other | None:
    """Kinds that are told by what their keys hold."""
    kind = stated.get("type")
    if isinstance(kind, Scalar) and kind.text in _DSTACK_TYPES and len(stated) > 1:
        return Other(("type",), _DSTACK, "name")
    if _any_holds(stated.get("services"), _OF_SERVICE) or ("services" in stated and len(stated) < 4):
        return Other(("services",), _COMPOSE, "import compose")
    names = {key for key in stated if key not in ("default", "variables", "include", "workflow")}
    if any(_holds(stated[name], frozenset(("script",))) for name in names) and not stated.keys() & {"steps"}:
        return _GITLAB
    defaults = stated.get("defaults")
    if isinstance(defaults, Sequence) and len(stated) > 1:
        return Other(("defaults",), say("a configuration of Hydra"), "name")
    if any(_holds(node, frozenset(("_target_",))) for node in stated.values()) or "_target_" in stated:
        return Other(("_target_",), say("a configuration of Hydra"), "name")
    if any(_holds(node, frozenset(("_component_",))) for node in stated.values()):
        return Other(("_component_",), _TRAINING, "name")
    return None


def _any_holds(node: Solid | None, keys: frozenset[str]) -> bool:
    """Whether any entry of a mapping is one with such a key."""
    return isinstance(node, Mapping) and any(_holds(follow(pair.value), keys) for pair in pairs(node))


def _holds(node: Solid | None, keys: frozenset[str]) -> bool:
    return isinstance(node, Mapping) and any(pair.key in keys for pair in pairs(node))
