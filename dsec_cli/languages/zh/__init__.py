"""Chinese: one module for each group of rules and of commands, one for words around findings, one for pages."""

from __future__ import annotations

from dsec_cli.languages.zh import (
    code,
    dependencies,
    doctor,
    errors,
    foreign_keys,
    form,
    formats,
    health,
    importing,
    indexes,
    launcher_sizes,
    leftovers,
    linter,
    netcheck,
    netcheck_reports,
    packaging,
    plugin_scan,
    plugins,
    probing,
    resources,
    runs,
    scenarios,
    security,
    settling,
    sharing,
    simulating_gpus,
    simulation,
    snapshots,
    steps,
    storing,
    system,
    text,
    tolerance,
    trust,
    watching,
)

PARTS = (
    code, dependencies, doctor, errors, foreign_keys, form, formats, health, importing, indexes, launcher_sizes, leftovers, linter, packaging, netcheck, netcheck_reports, plugin_scan, plugins, probing,
    resources, runs, scenarios, security, settling, sharing, simulating_gpus, simulation, snapshots, steps, storing, system, text, tolerance, trust, watching,
)  # fmt: skip
"""All but the pages."""


def findings() -> dict[str, str]:
    """Every text but those of pages."""
    return {english: chinese for part in PARTS for english, chinese in part.TEXTS.items()}


def of_pages() -> dict[str, str]:
    """The texts of the rules' pages, and what the keys of the contract mean."""
    from dsec_cli.languages.zh import keys, pages  # findings are shown without them

    return pages.TEXTS | keys.TEXTS
