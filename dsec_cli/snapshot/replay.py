"""Which recorded variables a new run gets, and which stay as they are here."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.snapshot.redaction import MARK
from dsec_cli.snapshot.sections.environment import allowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.snapshot.manifest import Plain

_PLACES = frozenset(
    (
        *("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX"),
        *("CONDA_DEFAULT_ENV", "TMPDIR", "XDG_CACHE_HOME", "LIBRARY_PATH", "CPATH", "CC", "CXX", "LANG"),
        *("MASTER_ADDR", "MASTER_PORT", "CUDA_HOME", "CUDA_PATH", "HF_HOME", "TZ", "NO_PROXY", "no_proxy"),
        *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "RANK", "LOCAL_RANK", "NODE_RANK"),
    )
)
"""They name places or devices of a machine, not what a run computes."""
_PLACE_STARTS = ("LC_", "CONDA_", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPYCACHEPREFIX")


class Replayed(Record):
    """What happens to the environment."""

    put: tuple[tuple[str, str], ...]
    """Set as recorded; it was something else here, or not set."""
    taken: tuple[str, ...]
    """Unset, as it was not set then."""
    kept: tuple[str, ...]
    """Differ and stay as they are here: they name places."""
    hidden: tuple[str, ...]
    """Recorded by a digest only, and other here, or not set: secrets that this machine has to supply."""


def replay(recorded: Plain, environ: Mapping[str, str], now: Plain) -> Replayed:
    """`recorded` and `now` are the environment sections of then and of the present."""
    values, here = recorded["values"], now["values"]
    put, kept = [], []
    for name, value in sorted(values.items()):
        if environ.get(name) == value or here.get(name) == value:
            continue
        if _names_a_place(name) or MARK in value:
            kept.append(name)
        else:
            put.append((name, value))
    taken = [
        name for name in sorted(here) if name not in values and not _names_a_place(name) and allowed(name)
    ]
    hidden = [name for name in sorted(recorded["hidden"]) if name not in environ]
    return Replayed(tuple(put), tuple(taken), tuple(kept), tuple(hidden))


def _names_a_place(name: str) -> bool:
    return name in _PLACES or name.startswith(_PLACE_STARTS)
