"""Who may run before whom, over plain integers: orders, circles, levels, longest paths.

Nodes are 0..n-1 in document order and `successors[u]` lists, without doubles, the nodes that wait
for u. Everything is iterative (a chain of 100,000 nodes is ordinary input) and depends only on
its arguments, so results are the same under every hash seed.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    Adjacency = Sequence[Sequence[int]]
    Partial = Adjacency | Mapping[int, Sequence[int]]


def topological(successors: Adjacency) -> list[int]:
    """Kahn's order, lowest ready node first; nodes that wait in or behind a circle are left out."""
    if all(not targets or min(targets) > node for node, targets in enumerate(successors)):
        return list(range(len(successors)))  # written in an order that can run, as most graphs are
    waits = waiting(successors)
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


def generations(successors: Adjacency) -> list[list[int]]:
    """Nodes by level, each level ascending; nodes that wait in or behind a circle are left out."""
    waits = waiting(successors)
    some = [node for node, count in enumerate(waits) if not count]
    found: list[list[int]] = []
    while some:
        found.append(some)
        following: list[int] = []
        for node in some:
            for target in successors[node]:
                waits[target] -= 1
                if not waits[target]:
                    following.append(target)
        following.sort()
        some = following
    return found


def waiting(successors: Adjacency) -> list[int]:
    """How many nodes each one waits for."""
    waits = [0] * len(successors)
    for targets in successors:
        for target in targets:
            waits[target] += 1
    return waits


def components(nodes: Iterable[int], successors: Partial) -> list[list[int]]:
    """Circles among `nodes`: every strongly connected component that holds one.

    Members ascend, components are ordered by their lowest member; a node alone counts only when
    it waits for itself.
    """
    names = sorted(nodes)
    number = {node: at for at, node in enumerate(names)}
    near = [[number[target] for target in successors[node] if target in number] for node in names]
    return [[names[at] for at in members] for members in circles(near)]


def circles(successors: Adjacency) -> list[list[int]]:
    """`components` of a whole graph (Tarjan, iterative)."""
    size = len(successors)
    # 0: not seen yet. Finished nodes get a number above all others, so they never lower a low link.
    seen, low, done = [0] * size, [0] * size, size + 1
    clock = 0
    stack: list[int] = []
    found: list[list[int]] = []
    for root in range(size):
        if seen[root]:
            continue
        clock += 1
        seen[root] = low[root] = clock
        stack.append(root)
        trail, rest = [root], [iter(successors[root])]
        while trail:
            node = trail[-1]
            target = _unseen(node, rest[-1], seen, low)
            if target >= 0:
                clock += 1
                seen[target] = low[target] = clock
                stack.append(target)
                trail.append(target)
                rest.append(iter(successors[target]))
                continue
            trail.pop()
            rest.pop()
            if low[node] != seen[node]:
                low[trail[-1]] = min(low[trail[-1]], low[node])
                continue
            members = _unstack(node, stack)
            for member in members:
                seen[member] = done
            if len(members) > 1 or node in successors[node]:
                found.append(members)
    return sorted(found)


def _unseen(node: int, rest: Iterator[int], seen: list[int], low: list[int]) -> int:
    """The next target not seen yet, -1: none; targets still on the stack lower the low link on the way."""
    lowest = low[node]
    for target in rest:
        at = seen[target]
        if not at:
            low[node] = lowest
            return target
        if at < lowest:
            lowest = at
    low[node] = lowest
    return -1


def _unstack(node: int, stack: list[int]) -> list[int]:
    """Take the finished component that begins at `node` off Tarjan's stack."""
    at = len(stack) - 1
    while stack[at] != node:
        at -= 1
    members = sorted(stack[at:])
    del stack[at:]
    return members


def shortest_loop(start: int, inside: Container[int], successors: Partial) -> list[int]:
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
    return earliest_starts(order, successors, [1] * len(successors))


def upward_ranks(order: Sequence[int], successors: Adjacency, weights: Sequence[int]) -> list[int]:
    """Longest weighted path from each node to the end, the node's own weight included."""
    rank = list(weights)
    of = rank.__getitem__
    for node in reversed(order):
        targets = successors[node]
        if targets:
            rank[node] += max(map(of, targets))
    return rank


def earliest_starts(order: Sequence[int], successors: Adjacency, weights: Sequence[int]) -> list[int]:
    """When each node could start if nothing but its needs held it up."""
    start = [0] * len(successors)
    for node in order:
        end = start[node] + weights[node]
        for target in successors[node]:
            if start[target] < end:
                start[target] = end
    return start


def critical_path(successors: Adjacency, ranks: Sequence[int]) -> list[int]:
    """One longest path of a graph without circles; the lowest node wins a tie."""
    if not ranks:
        return []
    node = ranks.index(max(ranks))
    path = [node]
    while successors[node]:
        node = min(successors[node], key=lambda at: (-ranks[at], at))
        path.append(node)
    return path
