"""The account of a run as plain data, and as lines for people."""

from __future__ import annotations

from dsec.core.heat import bars, filled
from dsec.core.settlement import HOUR_US
from dsec.progress import span
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dsec.core.settlement import Settlement

_ROWS = 40
_DEVICES = 64


def as_data(found: Settlement, names: Mapping[str, str]) -> dict[str, Any]:
    """JSON-ready; amounts in millionths of the currency, unknown is null. `names`: of the devices."""
    idle = found.idle
    return {
        "currency": found.currency or None,
        "used_gpu_us": found.used_us,
        "least_gpu_us": found.least_us,
        "most_gpu_us": found.most_us,
        "over_gpu_us": found.over_us,
        "short_gpu_us": found.short_us,
        "cost_millionths": found.cost,
        "surcharge_millionths": found.surcharge,
        "shortfall_millionths": found.shortfall,
        "bill_millionths": found.bill,
        "hidden": {
            "between_gpu_us": found.between_us,
            "between_millionths": found.between_cost,
            "executor_cpu_us": found.own.executor_us,
            "monitor_cpu_us": found.own.monitor_us,
            "cpu_millionths": found.own_cost,
        },
        "opportunity": {
            "measured_gpu_us": None if idle is None else idle.measured_us,
            "idle_gpu_us": None if idle is None else idle.idle_us,
            "idle_millionths": None if idle is None else idle.cost,
        },
        "cells": [
            {
                "step": cell.step,
                "worker": cell.worker,
                "device": cell.device,
                "device_name": names.get(cell.device, cell.device),
                "held_us": cell.held_us,
                "cost_millionths": cell.cost,
            }
            for cell in found.cells
        ],
    }


def hours(time_us: int) -> str:
    """GPU-hours for people."""
    amount = time_us / HOUR_US
    return f"{amount:.2f}" if amount >= 1 or not time_us else f"{amount:.4f}"


def money(amount: int | None, currency: str | None) -> str:
    """An amount for people."""
    if amount is None or not currency:
        return say("unknown")
    places = 2 if amount >= 100_000 or not amount else 6
    return f"{amount / 1_000_000:,.{places}f} {currency}"


def lines(account: dict[str, Any]) -> list[str]:
    """The settlement in Markdown."""
    found = [say("## Settlement"), "", _use(account), ""]
    found += _table(account)
    found += ["", *_costs(account)]
    return found


def _use(account: dict[str, Any]) -> str:
    used, least, most = (account[f"{name}_gpu_us"] for name in ("used", "least", "most"))
    head = say("GPU-hours held: {used}", used=hours(used))
    if most is not None and account["over_gpu_us"]:
        return say(
            "{head}, {over} more than max_gpu_hours ({most})",
            head=head,
            over=hours(account["over_gpu_us"]),
            most=hours(most),
        )
    if least is not None and account["short_gpu_us"]:
        return say(
            "{head}, {short} less than min_gpu_hours ({least}), which is charged",
            head=head,
            short=hours(account["short_gpu_us"]),
            least=hours(least),
        )
    if most is not None:
        return say("{head}, of at most {most}", head=head, most=hours(most))
    return head


def _table(account: dict[str, Any]) -> list[str]:
    """A row for each Step, one for each device."""
    whole = account["used_gpu_us"]
    currency = account["currency"]
    by_step = summed(account["cells"], lambda cell: cell["step"] or f"({cell['worker']})")
    by_device = summed(account["cells"], lambda cell: cell["device_name"])
    rows: list[str] = []
    for head, table, most in (
        (say("| Step | GPU-hours | share | cost |"), by_step, _ROWS),
        (say("| device | GPU-hours | share | cost |"), by_device, _DEVICES),
    ):
        rows += ["", head, "|---|---|---|---|"] if rows else [head, "|---|---|---|---|"]
        ordered = sorted(table.items(), key=lambda one: (-one[1][0], one[0]))
        for name, (held, cost) in ordered[:most]:
            share = f"{held / whole:.0%}" if whole else "-"
            rows.append(
                say(
                    "| {name} | {hours} | {share} | {cost} |",
                    name=name,
                    hours=hours(held),
                    share=share,
                    cost=money(cost, currency),
                )
            )
        if len(ordered) > most:
            rows.append(say("| and {count} more | | | |", count=len(ordered) - most))
    return rows


def summed(cells: list[dict[str, Any]], key: Any) -> dict[str, tuple[int, int | None]]:
    """Held time and cost by what `key` makes of a cell; a cost that is partly unknown is unknown."""
    found: dict[str, tuple[int, int | None]] = {}
    for cell in cells:
        name, cost = key(cell), cell["cost_millionths"]
        held, known = found.get(name, (0, 0))
        both = None if cost is None or known is None else known + cost
        found[name] = (held + cell["held_us"], both)
    return found


def _costs(account: dict[str, Any]) -> list[str]:
    currency = account["currency"]
    hidden, idle = account["hidden"], account["opportunity"]
    if currency is None:
        bill = say("- Cost: unknown, as there are no prices (dsec report --prices FILE)")
    else:
        bill = say(
            "- Cost: {bill} ({held} for what was held, {over} beyond max_gpu_hours, {short} up to "
            "min_gpu_hours)",
            bill=money(account["bill_millionths"], currency),
            held=money(account["cost_millionths"], currency),
            over=money(account["surcharge_millionths"], currency),
            short=money(account["shortfall_millionths"], currency),
        )
    own = (hidden["executor_cpu_us"], hidden["monitor_cpu_us"])
    return [
        bill,
        say(
            "- Hidden: {hours} GPU-hours of it ({cost}) were held by workers between their calls; DSec "
            "itself took {own} of a processor ({own_cost})",
            hours=hours(hidden["between_gpu_us"]),
            cost=money(hidden["between_millionths"], currency),
            own=say("unknown time") if None in own else span(sum(own) / 1e6),
            own_cost=money(hidden["cpu_millionths"], currency),
        ),
        _opportunity(account, idle, currency),
    ]


def _opportunity(account: dict[str, Any], idle: dict[str, Any], currency: str | None) -> str:
    if idle["measured_gpu_us"] is None:
        return say("- Opportunity: how much of it stood idle is unknown, as no device was read meanwhile")
    return say(
        "- Opportunity: {idle} of {measured} GPU-hours that were looked at stood idle ({cost} of the cost); "
        "{rest} were not looked at",
        idle=hours(idle["idle_gpu_us"]),
        measured=hours(idle["measured_gpu_us"]),
        cost=money(idle["idle_millionths"], currency),
        rest=hours(max(0, account["used_gpu_us"] - idle["measured_gpu_us"])),
    )


def heat_lines(rows: list[dict[str, Any]]) -> list[str]:
    """The heat map in Markdown: two rows a device, from the run's start to its end."""
    found = [say("## Use of the GPUs"), "", "```"]
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows[:_DEVICES]:
        for label, key in (("busy", "busy_permille"), ("memory", "memory_permille")):
            name = row["name"] if key == "busy_permille" else ""
            found.append(f"{name:{width}}  {label:6}  {bars(filled(row[key]))}")
    found += ["```", "", say("From the start of the run to its end; a point: not read.")]
    return found
