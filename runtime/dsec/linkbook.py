"""What `DSEC_LINKS` tells a Step of its communications: the way to each end, from where both really are."""

from __future__ import annotations

import json

from dsec.core.links import Impossible, Ways

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.inventory import Inventory
    from dsec.plan import Link, Plan


class LinkBook:
    """The links of a plan, and where their ends were started."""

    def __init__(self, plan: Plan, inventory: Inventory) -> None:
        self._ways = Ways(inventory, nvlink=plan.nvlink_mode != "off")
        self._of: dict[str, list[Link]] = {}
        for link in plan.links or ():
            for end in {link.source: None, link.target: None}:
                self._of.setdefault(end, []).append(link)
        self._planned = {step.id: step.placement.devices for step in plan.steps if step.id in self._of}
        self._last: dict[str, tuple[str, ...]] = {}
        """Where each Step was started last."""

    def text(self, step: str, devices: tuple[str, ...]) -> str:
        """The variable's value for a Step that is started on these devices; empty: it has no link.

        It is a JSON list, one object for each communication that the Step takes part in. A Step that
        has not been started yet is taken to be where the plan has it.
        """
        links = self._of.get(step)
        if not links:
            return ""
        self._last[step] = devices
        return json.dumps([self._told(link) for link in links], separators=(",", ":"))

    def _told(self, link: Link) -> dict[str, object]:
        ends = [self._last.get(name, self._planned[name]) for name in (link.source, link.target)]
        told: dict[str, object] = {"from": link.source, "to": link.target}
        if ends == [self._planned[link.source], self._planned[link.target]]:
            return told | {
                "protocol": link.protocol,
                "route": link.route,
                "bandwidth": link.bandwidth,
                "reason": link.reason,
            }
        way = self._ways.way(ends[0], ends[1], link.protocol if link.declared else None)
        if not isinstance(way, Impossible):
            return told | way._asdict()
        other = self._ways.way(ends[0], ends[1])
        if isinstance(other, Impossible):
            raise AssertionError("without a declaration there is always a way")
        return told | other._asdict() | {"reason": f"not {link.protocol}: {way.text}"}
