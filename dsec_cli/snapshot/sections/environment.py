"""The environment: values of variables that are known to be harmless, keyed digests of all others."""

from __future__ import annotations

import re

from dsec_cli.snapshot.environmentcauses import cause_of
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.secretvalues import is_drawn
from dsec_cli.snapshot.section import Captured, Difference, Part, present
from dsec_cli.source.secrets import name_strength

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.section import Pair, Scene

_STARTS = (
    *("CUDA_", "CUDNN_", "CUBLAS_", "NCCL_", "NVIDIA_", "NV_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_"),
    *("TRITON_", "OMP_", "MKL_", "OPENBLAS_", "GOMP_", "KMP_", "NUMEXPR_", "VECLIB_", "BLIS_", "TF_"),
    *("XLA_", "JAX_", "HF_HUB_", "HF_HOME", "HF_DATASETS_", "TRANSFORMERS_", "TOKENIZERS_", "VLLM_"),
    *("SGLANG_", "RAY_", "UCX_", "GLOO_", "MASTER_", "PYTHON", "LD_", "MALLOC_", "GLIBC_", "ROCR_", "HIP_"),
    *("MIOPEN_", "HSA_", "LC_", "ACCELERATE_", "DEEPSPEED_", "NUMBA_", "FLASH_ATTENTION_", "DSEC_SEED"),
)
_NAMES = frozenset(
    (
        *("LANG", "TZ", "PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "RANK", "WORLD_SIZE"),
        *("LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "TMPDIR", "XDG_CACHE_HOME", "CC", "CXX", "CFLAGS"),
        *("CXXFLAGS", "MAX_JOBS", "SEED", "DISPLAY_SEED", "NO_PROXY", "no_proxy", "CPATH", "LIBRARY_PATH"),
    )
)
_PASSING = frozenset(
    (
        *("_", "PWD", "OLDPWD", "SHLVL", "TERM", "COLUMNS", "LINES", "PS1", "PS2", "WINDOWID", "DISPLAY"),
        *(
            "TERM_PROGRAM",
            "TERM_PROGRAM_VERSION",
            "COLORTERM",
            "LS_COLORS",
            "SSH_TTY",
            "SSH_CLIENT",
            "GPG_TTY",
        ),
        *("SSH_CONNECTION", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "DBUS_SESSION_BUS_ADDRESS", "INVOCATION_ID"),
        *(
            "JOURNAL_STREAM",
            "TMUX",
            "TMUX_PANE",
            "STY",
            "NO_COLOR",
            "FORCE_COLOR",
            "HISTFILE",
            "PYTEST_CURRENT_TEST",
        ),
    )
)
"""Of a terminal or a login: they differ from one window to the next and mean nothing to a run."""
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}(?:%%)?\Z")
_SHOWN = 2000


def capture(scene: Scene) -> Captured:
    """Take the variables down."""
    values: dict[str, str] = {}
    hidden: dict[str, str] = {}
    for name, value in sorted(scene.environ.items()):
        if name in _PASSING or name.startswith(("DSEC_RUN", "DSEC_JOB", "DSEC_STEP", "DSEC_EXECUTOR")):
            continue
        called = _called(scene, name)
        raw = value.encode("utf-8", "surrogateescape")
        if not allowed(name) or len(raw) > 1 << 20 or holds_secret(name, value):
            hidden[called] = scene.redactor.digest(raw)
            continue
        clean, found = scene.redactor.text(value)
        values[called] = clean
        scene.redactions.extend((f"variable {called}", one) for one in found)
    return present({"values": values, "hidden": hidden})


def _called(scene: Scene, name: str) -> str:
    """The name, unless it is none that people give: it may be a secret itself."""
    if not _PLAIN_NAME.match(name):
        return scene.redactor.instead(name.encode("utf-8", "surrogateescape"))
    return scene.redactor.text(name)[0]


def allowed(name: str) -> bool:
    """Whether the value of this variable may be in a snapshot."""
    return name in _NAMES or name.startswith(_STARTS)


_SECRETS = frozenset(
    (
        *("password", "passwd", "passphrase", "passcode", "pass", "pwd", "userpass", "secret", "secrets"),
        *("credential", "credentials", "creds", "cred", "apikey", "apikeys", "cookie", "cookies", "jwt"),
        *("bearer", "dsn", "otp", "webhook", "authorization"),
    )
)
"""Words of a name that say that its value is a secret."""
_PERHAPS = frozenset(
    (
        *("key", "keys", "pkey", "token", "tokens", "auth", "session", "access", "cert", "account", "sas"),
        *("pat", "login", "private", "pin", "salt", "signature", "pw"),
    )
)
"""Words that say so unless the value plainly is none: a number of tokens, a switch."""
_ENDS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "authkey",
    "pwd",
    "creds",
)
_PLAIN_VALUE = re.compile(r"(?i)[+-]?\d{1,9}(?:\.\d{1,9})?|true|false|yes|no|on|off|none|null|auto|default|")
_OF_FILE = ("path", "file", "dir", "folder", "backend")
_PARTS = re.compile(r"([a-z0-9])([A-Z])")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-")


def holds_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret, going by its name, or by a value that is drawn by lot as a whole."""
    words = _PARTS.sub(r"\1_\2", name).lower().replace("-", "_").split("_")
    if words[-1] in _OF_FILE and value.startswith(("/", "~", ".")):
        return False
    if not _SECRETS.isdisjoint(words) or any(word.endswith(_ENDS) for word in words):
        return not (words[-1] in ("token", "tokens") and _PLAIN_VALUE.fullmatch(value))
    if not _PERHAPS.isdisjoint(words) or name_strength(name):
        return _PLAIN_VALUE.fullmatch(value) is None
    return is_drawn(value) and not _UUID.search(value) and not any(char in value for char in "/:,.")


def compare(pair: Pair) -> Iterator[Difference]:
    """Variables by name; of hidden ones only whether they are equal."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    before, after = ({**side.data["hidden"], **side.data["values"]} for side in (pair.before, pair.after))
    secret = {*pair.before.data["hidden"], *pair.after.data["hidden"]}
    same_key = pair.before.key == pair.after.key
    for name in sorted({*before, *after}):
        one, two = before.get(name), after.get(name)
        if (
            one is not None
            and two is not None
            and name in secret
            and not (name in pair.before.data["hidden"] and name in pair.after.data["hidden"])
        ):
            text = "hidden in one of the two"
            yield Difference("environment", "unknown", name, text, text, 1)
            continue
        hides = name in secret
        if one == two or (hides and not same_key and one is not None and two is not None):
            continue
        if not hides and one and two and _is_list(one) and _is_list(two):
            yield _difference(name, *_entries(one, two))
        else:
            yield _difference(name, _told(one, hides=hides), _told(two, hides=hides))
    if not same_key and secret:
        text = "made with another key"
        yield Difference("environment", "unknown", f"{len(secret)} hidden values", text, text, 1)


def _is_list(value: str) -> bool:
    """Whether it is a list of folders, as PATH is."""
    return ":/" in value or value.startswith("/")


def _entries(one: str, two: str) -> tuple[str, str]:
    """What only one of two lists has; of the same entries in another order, that."""
    before, after = one.split(":"), two.split(":")
    gone = [entry for entry in before if entry not in after]
    new = [entry for entry in after if entry not in before]
    if not gone and not new:
        return "the same entries", "in another order"
    return ":".join(gone) or "-", ":".join(new) or "-"


def _told(value: str | None, *, hides: bool) -> str | None:
    if value is None:
        return None
    return f"hidden {value[:8]}" if hides else value[:_SHOWN]


def _difference(name: str, one: str | None, two: str | None) -> Difference:
    kind = "added" if one is None else "removed" if two is None else "changed"
    weight, cause = cause_of(name)
    return Difference("environment", kind, name, one or "", two or "", weight, cause)


PART = Part("environment", "environment", 30, capture, compare)
