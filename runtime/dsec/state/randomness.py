"""The random generators of a process as plain values, to go on with the very next number after a restart."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def random_states() -> dict[str, Any]:
    """Where Python's generator is, and those of numpy and torch where they are loaded; plain values."""
    import random

    version, words, gauss = random.getstate()
    states: dict[str, Any] = {"python": [version, list(words), gauss]}
    if (np := sys.modules.get("numpy")) is not None:
        name, keys, position, has_gauss, cached = np.random.get_state()
        states["numpy"] = [
            str(name),
            [int(key) for key in keys],
            int(position),
            int(has_gauss),
            float(cached),
        ]
    if (torch := sys.modules.get("torch")) is not None:
        states["torch"] = bytes(torch.get_rng_state().tolist())
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            states["torch.cuda"] = [bytes(one.tolist()) for one in torch.cuda.get_rng_state_all()]
    return states


def set_random_states(states: Mapping[str, Any]) -> list[str]:
    """Put the generators where they were; gives the names of those that this process does not have loaded."""
    import random

    left: list[str] = []
    for name, state in states.items():
        if name == "python":
            version, words, gauss = state
            random.setstate((version, tuple(words), gauss))
        elif name == "numpy" and (np := sys.modules.get("numpy")) is not None:
            kind, keys, *rest = state
            np.random.set_state((kind, np.array(keys, dtype=np.uint32), *rest))
        elif name.startswith("torch") and (torch := sys.modules.get("torch")) is not None:
            _set_torch(torch, name, state)
        else:
            left.append(name)
    return left


def _set_torch(torch: Any, name: str, state: Any) -> None:
    if name == "torch":
        torch.set_rng_state(_tensor(torch, state))
    else:
        torch.cuda.set_rng_state_all([_tensor(torch, one) for one in state])


def _tensor(torch: Any, data: bytes) -> Any:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
