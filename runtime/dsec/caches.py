"""Giving back the GPU memory that libraries hold in reserve; of those that are imported, none is imported."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def empty_caches(modules: Mapping[str, Any]) -> str:
    """Empty what can be emptied and say what was done, in one clause; a library's failure is said, too."""
    import gc

    gc.collect()  # tensors in reference cycles are held by nobody else
    told = [
        f"{name}: {_emptied(modules[name], empty)}" for name, empty in _KNOWN if modules.get(name) is not None
    ]
    return "; ".join(told) or "no library that keeps GPU memory is imported"


def _emptied(module: Any, empty: Any) -> str:
    try:
        empty(module)
    except (AttributeError, ImportError, OSError, RuntimeError, TypeError) as problem:
        # What the three raise of a broken driver or of another version; it must not cost the worker.
        return f"failed ({type(problem).__name__})"
    return "emptied"


def _torch(torch: Any) -> None:
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def _cupy(cupy: Any) -> None:
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()


def _jax(jax: Any) -> None:
    jax.clear_caches()  # compiled programs and constants; jax gives arrays back by itself


_KNOWN = (("torch", _torch), ("cupy", _cupy), ("jax", _jax))
