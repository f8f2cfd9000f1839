"""Keys of neighbouring tools in a contract: containers, clusters, batch systems, workflows of CI.

Imported only for a document with a key that no section has.
"""

from __future__ import annotations

from dsec.units import UnitProblem
from dsec_cli.contract import quantities
from dsec_cli.contract.suggest import SYNONYMS, folded
from dsec_cli.contract.table import ROOTS, SECTIONS
from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.tree import Mapping, Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.source.tree import Node

_MOUNTS = say("use runtime_context.mounts: - {path: /data, source: /mnt/data, mode: ro}")
_PORTS = say('remove it: a run forwards no ports; env gives a Step a free one: env: {PORT: "{port}"}')
_IMAGE = say("use base at the root of the contract: all Steps have one environment")
_NODES = say("a plan places Steps on the inventory's devices: remove it, and state resources.gpu.count")
_QUEUE = say("remove it: a run takes this machine, or the one that --inventory describes")
_KUBERNETES = say(
    "remove it: a contract is no Kubernetes manifest, and its keys stand at the root, without a spec"
)
_USES = say("write the command as run: a Step starts a program or calls a function, never an action")
_IF = say(
    "remove it: a Step runs when those in needs are complete; a condition stands in its script (run: |)"
)
_RUNNER = say("remove it: a run takes this machine; what a Step needs is stated in resources")
_RETRIES = say("use retries: how many times a Step is started again after it has failed")
_SECRETS = say("use runtime_context.env_vars: - {name: API_KEY, source: vault://PATH}")
_MATRIX = say("write one Step for each case: a contract has no matrix")
_ON_FAILURE = say("remove it: what waits for a Step that has failed is never started")
_BEGIN = say("put it first into the script of the Step (run: |)")
_HEALTH = say("let the script wait until the server answers: a contract has no health checks")
_SCHEDULE = say("remove it: cron or the CI starts dsec run")
_ACCOUNT = say("remove it: dsec asks no batch system")
_EGRESS = say("use security_policy.network.egress: - {domain: api.example.org, ports: [443]}")
_PARALLEL = say("remove it: Steps that do not wait for each other run side by side as resources permit")
_LABELS = say("remove it: contracts have no labels; put a comment there")
_USER = say("remove it: Steps run as who started dsec run")
_GPUS = say("use resources.gpu: {count: 1, type: a100-pcie-40gb}")

STEP_KEYS = {
    **dict.fromkeys(
        ("image", "container", "containers", "dockerimage", "baseimage", "containerimage"), _IMAGE
    ),
    **dict.fromkeys(("volumes", "volumemounts", "mounts", "binds", "filemounts"), _MOUNTS),
    **dict.fromkeys(("ports", "port", "expose", "hostports"), _PORTS),
    **dict.fromkeys(("gres", "gpuspernode", "gpuspertask", "gpulimit", "nvidia.com/gpu"), _GPUS),
    **dict.fromkeys(("nodes", "numnodes", "nnodes", "nodelist", "hosts", "replicas", "ntasks"), _NODES),
    **dict.fromkeys(("partition", "queue", "qos", "constraint", "nodeselector", "tolerations"), _QUEUE),
    **dict.fromkeys(("account", "mailuser", "mailtype", "reservation", "exclusive"), _ACCOUNT),
    **dict.fromkeys(("uses", "with"), _USES),
    **dict.fromkeys(("if", "when", "only", "except", "rules", "condition"), _IF),
    **dict.fromkeys(("runson", "runner", "pool"), _RUNNER),
    **dict.fromkeys(("restart", "restartpolicy", "maxrestarts"), _RETRIES),
    **dict.fromkeys(("secrets", "secret", "envfrom", "envfile", "secretenv"), _SECRETS),
    **dict.fromkeys(("strategy", "matrix", "foreach", "withitems"), _MATRIX),
    **dict.fromkeys(("continueonerror", "allowfailure", "failfast", "ignoreerrors"), _ON_FAILURE),
    **dict.fromkeys(("beforescript", "afterscript", "setup", "prerun", "postrun", "initcontainers"), _BEGIN),
    **dict.fromkeys(("healthcheck", "readinessprobe", "livenessprobe", "healthcheckurl"), _HEALTH),
    **dict.fromkeys(("schedule", "cron", "trigger"), _SCHEDULE),
    **dict.fromkeys(("networks", "networkmode", "egress", "allowhosts"), _EGRESS),
    **dict.fromkeys(("concurrency", "parallelism", "parallel"), _PARALLEL),
    **dict.fromkeys(("labels", "tags", "annotations", "metadata"), _LABELS),
    **dict.fromkeys(("user", "privileged", "securitycontext", "runas"), _USER),
}
"""Keys that people bring into a Step, `folded`, and what this language has for them."""

ROOT_KEYS = {
    **{
        key: STEP_KEYS[key]
        for key in (
            *(
                "volumes",
                "volumemounts",
                "mounts",
                "binds",
                "filemounts",
                "ports",
                "expose",
                "nodes",
                "numnodes",
            ),
            *("nnodes", "replicas", "partition", "queue", "qos", "nodeselector", "tolerations", "account"),
            *("mailuser", "restart", "restartpolicy", "secrets", "envfrom", "envfile", "strategy", "matrix"),
            *("beforescript", "setup", "schedule", "cron", "trigger", "networks", "egress", "concurrency"),
            *(
                "labels",
                "tags",
                "annotations",
                "user",
                "privileged",
                "runson",
                "healthcheck",
                "initcontainers",
            ),
        )
    },
    **dict.fromkeys(("apiversion", "kind", "metadata", "spec"), _KUBERNETES),
    **dict.fromkeys(
        ("environment", "envs", "variables"),
        say("use runtime_context.env_vars: - {name: NAME, value: ...}"),
    ),
    **dict.fromkeys(
        ("requirements", "packages", "pip"), say('use dependencies: - {package: NAME, version: ">=1.0"}')
    ),
    **dict.fromkeys(
        ("models", "datasets"), say("use dependencies: - {name: NAME, version: 1.0.0, type: model}")
    ),
    "on": _SCHEDULE,
}
"""The same for the root of a contract."""

RESOURCE_KEYS = {
    **dict.fromkeys(
        ("gres", "nvidia.com/gpu", "gpupernode", "gpuspernode"),
        say("use gpu: {count: 1, type: a100-pcie-40gb}"),
    ),
    **dict.fromkeys(("nodes", "nnodes", "numnodes", "replicas", "instances"), _NODES),
    **dict.fromkeys(("accelerator", "accelerators"), say("use gpu: {count: 1, type: a100-pcie-40gb}")),
    **dict.fromkeys(("storage", "ephemeralstorage", "scratch"), say("use disk: 20GB")),
    **dict.fromkeys(("shmsize", "shm", "sharedmemory"), say("remove it: Steps have the machine's /dev/shm")),
    **dict.fromkeys(("bandwidth", "netbandwidth"), say("use network: 1Gbps")),
}

VARIABLE_KEYS = dict.fromkeys(
    ("secret", "secretname", "secretkeyref", "valuefrom", "from", "ref", "vault", "key", "file"),
    say("use source: vault://PATH, or source: env://NAME"),
)
"""The same for a variable: where its secret comes from."""

_BRIEF = 4
_STEP_SECTIONS = frozenset(("Step", "Task"))

UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("duration", "s")),
    **dict.fromkeys(("ms", "millis", "milliseconds"), ("duration", "ms")),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), ("duration", "m")),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("duration", "h")),
    **dict.fromkeys(("d", "day", "days"), ("duration", "d")),
    **dict.fromkeys(("b", "byte", "bytes"), ("size", "B")),
    **dict.fromkeys(("mb",), ("size", "MB")),
    **dict.fromkeys(("mib",), ("size", "Mi")),
    **dict.fromkeys(("gb", "g"), ("size", "GB")),
    **dict.fromkeys(("gib", "gi"), ("size", "Gi")),
    **dict.fromkeys(("tb",), ("size", "TB")),
    **dict.fromkeys(("mbps", "mbit"), ("bandwidth", "Mbps")),
    **dict.fromkeys(("gbps", "gbit"), ("bandwidth", "Gbps")),
}
"""Ends of keys that name a unit: here the unit stands in the value."""


def advice(key: str, value: Node | None, section: str, free: Iterable[str]) -> str:
    """What to write for a key of another tool, or for one with its unit in its name; "" for any other."""
    return _with_unit(key, value, section, free) or _by_value(key, value, section) or _of_tools(key, section)


def _of_tools(key: str, section: str) -> str:
    plain = folded(key)
    if section in _STEP_SECTIONS:
        return STEP_KEYS.get(plain, "")
    if section == "Resources":
        return RESOURCE_KEYS.get(plain, "")
    if section == "EnvVar":
        return VARIABLE_KEYS.get(plain, "")
    return ROOT_KEYS.get(plain, "") if section == ROOTS["contract"] else ""


def _with_unit(key: str, value: Node | None, section: str, free: Iterable[str]) -> str:
    """`timeout-minutes: 40`: the key that is meant, and its value with the unit."""
    parts = key.replace("-", "_").split("_")
    unit = UNITS.get(parts[-1].lower())
    if unit is None or len(parts) < 2:
        return ""
    stem = folded("_".join(parts[:-1]))
    known = tuple(free)
    meant = next((one for one in known if folded(one) == stem or one == SYNONYMS.get(stem)), "")
    begun = [one for one in known if len(stem) > _BRIEF and folded(one).startswith(stem)]
    meant = meant or (begun[0] if len(begun) == 1 else "")
    shape = SECTIONS[section][2].get(meant, ())
    scalar = follow(value)
    if shape[:1] != ("quantity",) or not isinstance(scalar, Scalar):
        return ""
    text = f"{scalar.text}{unit[1]}"
    try:
        quantities.read(str(shape[1]), text)
    except UnitProblem:
        return say("did you mean {word}?", word=meant)
    return say("write `{key}: {value}`: the unit stands in the value", key=meant, value=text)


def _by_value(key: str, value: Node | None, section: str) -> str:
    """What only the value tells: `read_only: true`, and a Step whose id is its key."""
    scalar, plain = follow(value), folded(key)
    if section == "Mount" and plain in ("readonly", "ro", "writable", "rw") and isinstance(scalar, Scalar):
        only_read = (scalar.text.lower() in ("true", "yes", "on")) == (plain in ("readonly", "ro"))
        return say("write `mode: {mode}`", mode="ro" if only_read else "rw")
    if section in _STEP_SECTIONS and isinstance(scalar, Mapping):
        inner = {pair.key for pair in pairs(scalar)}
        if len(inner & {"run", "call", "needs", "timeout", "script", "command"}) > 0:
            name = "name" if section == "Task" else "id"
            return say("write `- {name}: {key}`, and what is below it beside that", name=name, key=key)
    return ""
