"""Metrics of devices, running attempts and the machine: from the latest sample of the audit."""

from __future__ import annotations

from dsec.core.families import MOST_STEPS, OTHER, Family, by, one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from dsec.core.totals import Totals

_DEVICE_STATES = ("ok", "dirty", "hot", "failing", "lost")
_OF_DEVICE = (
    ("dsec_gpu_utilization_ratio", "busy_permille", 1000, "Share of the last moments that the GPU was busy."),
    ("dsec_gpu_memory_used_bytes", "memory_used_bytes", 1, "Memory in use on the GPU, by anybody."),
    ("dsec_gpu_memory_bytes", "memory_total_bytes", 1, "Memory that the GPU has."),
    (
        "dsec_gpu_memory_others_bytes",
        "others_bytes",
        1,
        "Memory that processes which are not of this run hold.",
    ),
    ("dsec_gpu_temperature_celsius", "temperature_c", 1, "Temperature of the GPU."),
    ("dsec_gpu_power_watts", "power_mw", 1000, "Power that the GPU draws."),
    ("dsec_gpu_pcie_receive_bytes_per_second", "pcie_rx_kbps", 0, "Bytes received over PCIe."),
    ("dsec_gpu_pcie_transmit_bytes_per_second", "pcie_tx_kbps", 0, "Bytes sent over PCIe."),
    ("dsec_gpu_nvlink_receive_bytes_per_second", "nvlink_rx_kbps", 0, "Bytes received over NVLink."),
    ("dsec_gpu_nvlink_transmit_bytes_per_second", "nvlink_tx_kbps", 0, "Bytes sent over NVLink."),
)
"""Name, field of the sample, what to divide by (0: kilobytes, to be multiplied), help."""


def of_sample(sample: Mapping[str, Any], totals: Totals) -> Iterator[Family]:
    """What a sample of the audit file says; nothing of what it leaves open."""
    devices = list(sample.get("devices") or ())
    for name, field, divisor, told in _OF_DEVICE:
        yield by(
            name,
            "gauge",
            told,
            "gpu",
            ((card["uuid"], _scaled(card.get(field), divisor)) for card in devices),
        )
    yield by(
        "dsec_gpu_ecc_uncorrected_total",
        "counter",
        "Memory errors of the GPU that could not be mended.",
        "gpu",
        ((card["uuid"], card.get("ecc_uncorrected")) for card in devices),
    )
    yield Family(
        "dsec_gpu_state",
        "gauge",
        "1 for the state that the GPU is in, 0 for the others.",
        tuple(
            ("", (("gpu", uuid), ("state", state)), int(state == now))
            for uuid, now in sorted(_device_states(devices, totals).items())
            for state in _DEVICE_STATES
        ),
    )
    yield from _of_attempts(list(sample.get("steps") or ()))
    yield from _of_host(sample.get("host") or {})


def _device_states(devices: list[Mapping[str, Any]], totals: Totals) -> dict[str, str]:
    """The run's own word goes before the driver's: a device may answer well and still be dirty."""
    driver = {card["uuid"]: str(card.get("state") or "") for card in devices}
    return {uuid: state for uuid, state in {**driver, **totals.devices}.items() if state in _DEVICE_STATES}


def _scaled(value: float | None, divisor: int) -> float | int | None:
    if value is None:
        return None
    if not divisor:
        return value * 1000
    return value if divisor == 1 else value / divisor


def _of_attempts(steps: list[Mapping[str, Any]]) -> Iterator[Family]:
    memory: dict[str, int] = {}
    ages: dict[str, float] = {}
    on_gpu: dict[tuple[str, str], int] = {}
    for use in steps:
        name = use["step"] or "idle workers"
        if name not in memory and len(memory) >= MOST_STEPS:
            name = OTHER
        if use.get("rss_bytes") is not None:
            memory[name] = memory.get(name, 0) + use["rss_bytes"]
        if use.get("log_age_ms") is not None:
            ages[name] = max(ages.get(name, 0.0), use["log_age_ms"] / 1000)
        for uuid, held in (use.get("devices") or {}).items():
            if held is not None:
                on_gpu[name, uuid] = on_gpu.get((name, uuid), 0) + held
    yield by(
        "dsec_step_memory_bytes",
        "gauge",
        "Resident memory of the Step's running attempts.",
        "step",
        memory.items(),
    )
    yield by(
        "dsec_step_log_age_seconds", "gauge", "Since the Step last wrote to its log.", "step", ages.items()
    )
    yield Family(
        "dsec_step_gpu_memory_bytes",
        "gauge",
        "GPU memory of the Step's running attempts.",
        tuple(("", (("step", name), ("gpu", uuid)), held) for (name, uuid), held in on_gpu.items()),
    )


def _of_host(host: Mapping[str, Any]) -> Iterator[Family]:
    yield one(
        "dsec_host_memory_available_bytes",
        "gauge",
        "Memory that new programs could have.",
        host.get("memory_available_bytes"),
    )
    yield one(
        "dsec_host_disk_free_bytes",
        "gauge",
        "Free space where the run's folder is.",
        host.get("disk_free_bytes"),
    )
    yield one("dsec_host_load1", "gauge", "Load of the last minute.", _scaled(host.get("load_milli"), 1000))
