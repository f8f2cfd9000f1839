"""Words of neighbouring tools for a choice, and the word that this language has for it.

Imported only for a document with a word outside a closed set, or a text of no known form.
"""

from __future__ import annotations

from dsec_cli.contract.forms import FORMS
from dsec_cli.contract.suggest import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

CHOICES = {
    "fraction": ("shared", "share", "partial", "fractional", "mps", "timeslicing", "timeslice", "slice"),
    "exclusive": ("whole", "full", "dedicated", "single", "notshared", "private"),
    "mig": ("migslice", "instance", "partition"),
    "nvlink": ("nvswitch", "nvl", "nv4", "nv12", "nv18"),
    "numa": ("node", "socket", "host", "machine", "numanode", "sys"),
    "switch": ("pcie", "pix", "pxb", "pcieswitch", "plx"),
    "strict": ("required", "hard", "must", "mandatory", "true"),
    "prefer": ("soft", "preferred", "besteffort", "optional", "any", "loose", "relaxed"),
    "rw": ("readwrite", "write", "writable", "writeable", "rwx", "w", "rwo"),
    "ro": ("readonly", "read", "r", "rox"),
    "ro-encrypted": ("encrypted", "roencrypt", "readonlyencrypted"),
    "tcp": ("grpc", "http", "https", "socket", "sockets", "gloo", "rpc", "zmq", "ethernet"),
    "quic": ("udp", "http3", "webtransport"),
    "rdma-over-converged-ethernet": ("roce", "rocev2", "infiniband", "ib", "rdma", "verbs"),
    "nvlink-p2p": ("nccl", "nvlink", "p2p", "gpudirect", "cudaipc"),
    "shared-memory": ("shm", "sharedmem", "sharedmemory", "ipc", "mmap", "plasma", "devshm"),
    "model": ("checkpoint", "weights", "llm", "adapter", "lora", "policy"),
    "dataset": ("data", "corpus", "datasets", "parquet"),
    "environment": ("image", "env", "container", "conda", "docker", "simulator"),
    "tool": ("library", "binary", "program", "api", "service"),
    "switched": ("nvswitch", "full", "on", "true", "switch", "all"),
    "off": ("false", "disabled", "no", "none", "disable"),
    "p2p": ("direct", "peer", "peertopeer", "mesh", "bridge"),
    "pauseable": ("preemptible", "preemptable", "interruptible", "suspendable", "spot", "normal", "medium"),
    "discardable": ("besteffort", "optional", "low", "killable", "disposable"),
    "critical": ("mandatory", "required", "high", "guaranteed", "never", "essential"),
    "elastic": ("scalable", "flexible", "autoscale", "burstable", "resizable"),
    "step_resume": (
        "checkpoint",
        "resume",
        "fromcheckpoint",
        "restart",
        "auto",
        "latest",
        "continue",
        "step",
    ),
}
"""For each legal word, what else it is called, `folded`."""
_REDUCTIONS = {"avg": "mean", "average": "mean", "add": "sum", "maximum": "max", "minimum": "min", "none": ""}
_HASH_LENGTH = 64


def meant(word: str, legal: Iterable[str]) -> str:
    """The legal word that another tool's word stands for; "" where none does."""
    plain = folded(word)
    return next((one for one in legal if plain in CHOICES.get(one, ())), "")


def well_formed(text: str, form: str) -> str:
    """What a text without the grammar of its form most likely means, where that can be told; else ""."""
    accepts = FORMS[form].accepts
    found = ""
    if form in ("step id", "token name"):
        kept = "".join(char if accepts(f"a{char}") else "-" for char in text.strip())
        found = kept.lstrip("-_.").rstrip("-")
    elif form == "reduction":
        found = _REDUCTIONS.get(text.lower(), text.lower())
    elif form == "content hash":
        found = _hash(text)
    if form in ("call", "reduction") and not accepts(found):
        found = _call(text)
    return found if found != text and accepts(found) else ""


def _call(text: str) -> str:
    """`policy.forward`, `policy.py:forward` and `policy:forward()` as module:function."""
    plain = text.strip().removesuffix("()")
    module, colon, function = plain.partition(":")
    if not colon:
        module, _, function = plain.rpartition(".")
    return f"{module.removesuffix('.py').replace('/', '.')}:{function}"


def _hash(text: str) -> str:
    """A hash with its algorithm before a colon; 64 digits alone are most often those of sha256sum."""
    plain = text.strip().lower()
    for sign in ("-", "=", " "):
        plain = plain.replace(f"sha256{sign}", "sha256:", 1).replace(f"blake3{sign}", "blake3:", 1)
    return f"sha256:{plain}" if len(plain) == _HASH_LENGTH else plain
