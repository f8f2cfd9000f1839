"""`gpu_layout.dot`: GPUs, the memory nodes that they hang on, and their links, as a graph. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.manifest import Plain

_UNSEEN = "which tensor lies in which GPU's memory was not observed: the driver does not tell"


def rendered(hardware: Plain) -> str:
    """The graph of a snapshot's machine; one without GPUs, or an absent one, says so."""
    lines = ["graph gpu_layout {", "  // " + _UNSEEN, '  node [shape=box, fontname="sans-serif"];']
    if hardware is None:
        lines.append(f"  none [label={_quoted('the machine was not captured')}];")
    elif not hardware["gpus"]:
        lines.append(f"  none [label={_quoted('no GPU')}];")
    else:
        lines += _machine(hardware)
    return "\n".join([*lines, "}", ""])


def _machine(hardware: Plain) -> Iterator[str]:
    driver, cuda = hardware["driver"] or "unknown", hardware["cuda"] or "unknown"
    yield f"  label={_quoted(f'driver {driver}, CUDA {cuda}')};"
    gpus = hardware["gpus"]
    for node in sorted({gpu["numa"] for gpu in gpus if gpu["numa"] is not None}):
        yield f"  numa{node} [shape=ellipse, label={_quoted(f'memory node {node}')}];"
    for gpu in gpus:
        yield f"  gpu{gpu['index']} [label={_quoted(_label(gpu))}];"
        if gpu["numa"] is not None:
            yield f"  numa{gpu['numa']} -- gpu{gpu['index']} [style=dotted];"
    yield from _links(gpus)


def _links(gpus: list[Plain]) -> Iterator[str]:
    """Each pair once; equal links of a pair are counted."""
    seen: dict[tuple[int, int, str], int] = {}
    for gpu in gpus:
        for other, kind in gpu["links"]:
            if gpu["index"] < other:
                key = (gpu["index"], other, str(kind))
                seen[key] = seen.get(key, 0) + 1
    for (one, other, kind), count in sorted(seen.items()):
        label = kind if count == 1 else f"{count} x {kind}"
        yield f"  gpu{one} -- gpu{other} [label={_quoted(label)}];"


def _label(gpu: Plain) -> str:
    memory = f"{gpu['memory_bytes'] / (1 << 30):.0f} GiB" if gpu["memory_bytes"] else "memory unknown"
    rest = [gpu[key] for key in ("uuid", "pci") if gpu.get(key)]
    return "\n".join([f"GPU {gpu['index']}: {gpu['model']}", memory, *map(str, rest)])


def _quoted(text: str) -> str:
    clean = "".join(ch if ch.isprintable() or ch == "\n" else "?" for ch in text)
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
