"""What can be reached from each node of a graph, as one number whose bits are what one collects."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    N = TypeVar("N", int, str, "int | str")


def closure(
    roots: Iterable[N], following: Callable[[N], Iterable[N]], own: Callable[[N], int]
) -> dict[N, int]:
    """For every node that a root leads to: the bits of it and of all that it leads to.

    Tarjan's strongly connected components, without recursion: nodes that lead to each other share bits.
    """
    order: dict[N, int] = {}
    low: dict[N, int] = {}
    bits: dict[N, int] = {}
    stack: list[N] = []
    for root in roots:
        if root not in order:
            _visit(root, following, own, order=order, low=low, bits=bits, stack=stack)
    return bits


def _visit(
    root: N,
    following: Callable[[N], Iterable[N]],
    own: Callable[[N], int],
    *,
    order: dict[N, int],
    low: dict[N, int],
    bits: dict[N, int],
    stack: list[N],
) -> None:
    """One depth-first walk; a node is on `stack` until its component is complete."""
    gathered: dict[N, int] = {}
    path = [(root, iter(following(root)))]
    order[root] = low[root] = len(order)
    gathered[root] = own(root)
    stack.append(root)
    while path:
        node, rest = path[-1]
        for other in rest:
            if other in bits:
                gathered[node] |= bits[other]
            elif other in order:
                low[node] = min(low[node], order[other])
            else:
                order[other] = low[other] = len(order)
                gathered[other] = own(other)
                stack.append(other)
                path.append((other, iter(following(other))))
                break
        else:
            path.pop()
            if path:
                above = path[-1][0]
                low[above] = min(low[above], low[node])
            if low[node] == order[node]:
                _complete(node, stack, gathered, bits)
            if path:
                gathered[path[-1][0]] |= bits.get(node, gathered.get(node, 0))


def _complete(node: N, stack: list[N], gathered: dict[N, int], bits: dict[N, int]) -> None:
    members = []
    while True:
        member = stack.pop()
        members.append(member)
        if member == node:
            break
    whole = 0
    for member in members:
        whole |= gathered.pop(member)
    for member in members:
        bits[member] = whole


def numbers(bits: int) -> list[int]:
    """The positions of the bits that are set, ascending."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
