"""Lines that write the place of compiled kernels out: on another GPU they lead to the wrong ones.

A cache of compiled kernels belongs to one type of GPU. Where its path is written into the code, a run
on another type loads, or overwrites, what was compiled for the first.
"""

from __future__ import annotations

import re

from dsec_cli.snapshot.codediff import content, entries
from dsec_cli.snapshot.hunks import context, is_text
from dsec_cli.snapshot.section import Difference, Hunk
from dsec_cli.snapshot.spelling import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.store import TreeEntry
    from dsec_cli.snapshot.section import Side

_ENDS = (b".py", b".sh", b".bash", b".yaml", b".yml", b".toml", b".json", b".cfg", b".env")
_VARIABLES = (
    *("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "CUDA_CACHE_PATH"),
    *("PYTORCH_KERNEL_CACHE_PATH", "NUMBA_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR", "VLLM_CACHE_ROOT"),
    *("CUPY_CACHE_DIR", "jax_compilation_cache_dir"),
)
_ARCHITECTURE = re.compile(
    r"(?i)(?<![a-z])(?:volta|turing|ampere|ada|hopper|blackwell|sm_?\d{2,3}|[avhbl]\d{2,3}|rtx\d*|mi\d{3}x?|gfx\d+)(?![a-z])"
)
_PATH = re.compile(r"""["']?(?P<path>(?:/|~/|\./|[A-Za-z]:\\)[^\s"'`,;)]{2,300})""")
_CACHE = re.compile(r"(?i)cache|triton|inductor|kernels?\b|compiled|engine")
MOST = 20
_CERTAIN, _LIKELY, _POSSIBLE = 96, 90, 60
AROUND = 2


def search(side: Side) -> Iterator[Difference]:
    """Such lines of the newer code, the surest first."""
    found = [one for path, entry in sorted(entries(side).items()) for one in _in_file(side, path, entry)]
    found.sort(key=lambda one: -one.weight)
    yield from found[:MOST]


def _in_file(side: Side, path: bytes, entry: TreeEntry) -> Iterator[Difference]:
    if not path.endswith(_ENDS) or entry.kind != "file":
        return
    data = content(side.store, entry)
    if data is None or not is_text(data):
        return
    lines = data.decode("utf-8", "backslashreplace").splitlines()
    for at, line in enumerate(lines):
        weight, why = _judged(line)
        if weight:
            yield Difference(
                "code",
                "suspect",
                spelled(path),
                "",
                line.strip()[:200],
                weight,
                why,
                spelled(path),
                at + 1,
                (_around(lines, at, spelled(path)),),
            )


def _judged(line: str) -> tuple[int, str]:
    """How sure it is that the line names a cache of kernels, and what to say; (0, ""): it does not."""
    bare = line.strip()
    if bare.startswith(("#", "//")) or len(bare) > 2000:
        return 0, ""
    hit = _PATH.search(line)
    if hit is None:
        return 0, ""
    path = hit["path"]
    named = any(name in line for name in _VARIABLES)
    if _CACHE.search(path) and (arch := _ARCHITECTURE.search(path)):
        return (
            _CERTAIN,
            f"the path of a kernel cache is written out, for {arch[0]}: another GPU type needs another",
        )
    if named:
        return _LIKELY, "the path of a kernel cache is written out: GPU types must not share one"
    if _CACHE.search(path) and "cache" in path.lower():
        return (
            _POSSIBLE,
            "a cache path is written out: kernels compiled for one GPU type do not run on another",
        )
    return 0, ""


def _around(lines: list[str], at: int, name: str) -> Hunk:
    first = max(0, at - AROUND)
    shown = tuple(
        ("!" if number == at else " ", lines[number])
        for number in range(first, min(len(lines), at + AROUND + 1))
    )
    return Hunk(first + 1, first + 1, context(lines, at, name), shown)
