"""Who may run before whom, over plain integers: orders, circles, levels, longest paths.

Nodes are 0..n-1 in document order and `successors[u]` lists, without doubles, the nodes that wait
for u. Everything is iterative (a chain of 100,000 nodes is ordinary input) and depends only on
its arguments, so results are the same under every hash seed.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Adjacency = Sequence[Sequence[int]]
    Partial = Adjacency | Mapping[int, Sequence[int]]


def topological(successors: Adjacency) -> list[int]:
    """Kahn's order, lowest ready node first; nodes that wait in or behind a circle are left out."""
    waits = [0] * len(successors)
    for targets in successors:
        for target in targets:
            waits[target] += 1
    ready = [node for node, count in enumerate(waits) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for target in successors[node]:
            waits[target] -= 1
            if not waits[target]:
                heappush(ready, target)
    return order


def components(nodes: Iterable[int], successors: Partial) -> list[list[int]]:
    """Circles among `nodes`: every strongly connected component that holds one (Tarjan, iterative).

    Members ascend, components are ordered by their lowest member; a node alone counts only when
    it waits for itself.
    """
    # -1: not seen yet. Finished nodes get a number above all others, so they never lower a low link.
    seen = dict.fromkeys(nodes, -1)
    done = len(seen)
    clock = 0
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []
    for root in sorted(seen):
        if seen[root] >= 0:
            continue
        trail = [(root, iter(successors[root]))]
        seen[root] = low[root] = clock
        clock += 1
        stack.append(root)
        while trail:
            node, rest = trail[-1]
            target = _descend(node, rest, seen, low)
            if target is not None:
                seen[target] = low[target] = clock
                clock += 1
                stack.append(target)
                trail.append((target, iter(successors[target])))
                continue
            trail.pop()
            if trail and low[node] < low[trail[-1][0]]:
                low[trail[-1][0]] = low[node]
            if low[node] == seen[node]:
                members = _unstack(node, stack)
                seen.update(dict.fromkeys(members, done))
                if len(members) > 1 or node in successors[node]:
                    found.append(members)
    return sorted(found)


def _descend(node: int, rest: Iterator[int], seen: dict[int, int], low: dict[int, int]) -> int | None:
    """The next target not seen yet; targets still on the stack lower the low link on the way."""
    for target in rest:
        at = seen.get(target)
        if at is None:
            continue
        if at < 0:
            return target
        if at < low[node]:
            low[node] = at
    return None


def _unstack(node: int, stack: list[int]) -> list[int]:
    """Take the finished component that begins at `node` off Tarjan's stack."""
    at = len(stack) - 1
    while stack[at] != node:
        at -= 1
    members = sorted(stack[at:])
    del stack[at:]
    return members


def shortest_loop(start: int, inside: set[int], successors: Partial) -> list[int]:
    """A shortest circle through `start` that stays inside: its nodes, `start` first and not repeated."""
    came: dict[int, int] = {}
    frontier = [start]
    while frontier:
        following: list[int] = []
        for node in frontier:
            for target in successors[node]:
                if target == start:
                    return _walk_back(node, start, came)
                if target in inside and target not in came:
                    came[target] = node
                    following.append(target)
        frontier = following
    raise AssertionError(f"node {start} is in a component, so a circle leads through it")


def _walk_back(node: int, start: int, came: dict[int, int]) -> list[int]:
    path = [node]
    while path[-1] != start:
        path.append(came[path[-1]])
    return path[::-1]


def levels(order: Sequence[int], successors: Adjacency) -> list[int]:
    """Level of each node: 0 where nothing is waited for, else one more than the latest need."""
    level = [0] * len(successors)
    for node in order:
        below = level[node] + 1
        for target in successors[node]:
            level[target] = max(level[target], below)
    return level


def upward_ranks(order: Sequence[int], successors: Adjacency, weights: Sequence[int]) -> list[int]:
    """Longest weighted path from each node to the end, the node's own weight included."""
    rank = list(weights)
    for node in reversed(order):
        rank[node] += max((rank[target] for target in successors[node]), default=0)
    return rank


def earliest_starts(order: Sequence[int], successors: Adjacency, weights: Sequence[int]) -> list[int]:
    """When each node could start if nothing but its needs held it up."""
    start = [0] * len(successors)
    for node in order:
        end = start[node] + weights[node]
        for target in successors[node]:
            start[target] = max(start[target], end)
    return start


def critical_path(order: Sequence[int], successors: Adjacency, ranks: Sequence[int]) -> list[int]:
    """One longest path, from a node that waits for nothing; the lowest node wins a tie."""
    if not order:
        return []
    node = min(range(len(ranks)), key=lambda at: (-ranks[at], at))
    path = [node]
    while successors[node]:
        node = min(successors[node], key=lambda at: (-ranks[at], at))
        path.append(node)
    return path
