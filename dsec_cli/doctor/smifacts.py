"""The facts of GPUs from saved output of `nvidia-smi -q` or `nvidia-smi -q -x`, of any machine."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from dsec import cards
from dsec.errors import FileProblem
from dsec_cli.doctor.gpufacts import UNKNOWN_ERROR, Gpu, Gpus
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Facts = dict[str, str]

_START = re.compile(r"^GPU ([0-9A-Fa-f:.]+)\s*$")
_REFUSALS = ("Failed to initialize NVML", "NVIDIA-SMI has failed")
"""How lines begin that say it; "Unknown Error" alone also stands for one value of a card."""
_FAILED = {
    "Driver/library version mismatch": 18,
    "couldn't communicate with the NVIDIA driver": 9,
    "Insufficient Permissions": 4,
    "Function Not Found": 13,
    "Unknown Error": 999,
}
_REASONS = {
    "SW Power Cap": "power cap",
    "HW Slowdown": "hardware slowdown",
    "HW Thermal Slowdown": "hardware thermal slowdown",
    "HW Power Brake Slowdown": "power brake",
    "SW Thermal Slowdown": "software thermal slowdown",
}
_XML_NAMES = {
    "driver_version": "Driver Version",
    "cuda_version": "CUDA Version",
    "product_name": "Product Name",
    "uuid": "GPU UUID",
    "persistence_mode": "Persistence Mode",
    "mig_mode/current_mig": "MIG Mode/Current",
    "mig_mode/pending_mig": "MIG Mode/Pending",
    "ecc_mode/current_ecc": "ECC Mode/Current",
    "ecc_mode/pending_ecc": "ECC Mode/Pending",
    "clocks/sm_clock": "Clocks/SM",
    "max_clocks/sm_clock": "Max Clocks/SM",
    "fb_memory_usage/total": "FB Memory Usage/Total",
    "temperature/gpu_temp": "Temperature/GPU Current Temp",
    "remapped_rows/remapped_row_pending": "Remapped Rows/Pending",
    "remapped_rows/remapped_row_failure": "Remapped Rows/Remapping Failure Occurred",
    "retired_pages/pending_retirement": "Retired Pages/Pending Page Blacklist",
    "retired_pages/pending_blacklist": "Retired Pages/Pending Page Blacklist",
}


def read(text: str, *, where: str) -> Gpus:
    """What the output says; raises FileProblem where it is none."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    refused = "\n".join(line for line in text.splitlines() if line.startswith(_REFUSALS))
    failed = next((code for words, code in _FAILED.items() if words in refused), 0)
    if failed:
        said = " ".join(text.split())[:200]
        return Gpus(failed, said, _version(text), None, "", ())
    root = text.find("<nvidia_smi_log")
    if root >= 0:
        return _of_xml(text[root:], where)
    unheard = [line for line in text.splitlines() if "Unable to determine the device" in line]
    if "NVSMI LOG" not in text and not unheard:
        raise FileProblem(
            say("{path} is no output of nvidia-smi -q", path=where), hint="nvidia-smi -q > machine.txt"
        )
    head, *blocks = _blocks(text)
    lost = [_lost(line, len(blocks)) for line in unheard]
    devices = tuple(_gpu(index, block) for index, block in enumerate(blocks))
    return Gpus(0, "", head.get("Driver Version", ""), _cuda(head.get("CUDA Version")), "", (*devices, *lost))


def _version(text: str) -> str:
    found = re.search(r"NVML library version: ([0-9.]+)", text)
    return found[1] if found else ""


def _lost(line: str, index: int) -> Gpu:
    found = re.search(r"GPU ?([0-9A-Fa-f:.]+):? ", line)
    said = line.rpartition(": ")[2].strip()
    health = UNKNOWN_ERROR if said == "Unknown Error" else "lost"
    return Gpu(index, "", "", found[1].rstrip(":") if found else "", health)


_SICK = {"unknown error": UNKNOWN_ERROR, "err!": UNKNOWN_ERROR, "gpu is lost": "lost",
         "gpu requires reset": "reset required"}  # fmt: skip
_BASICS = ("GPU UUID", "Product Name", "Temperature/GPU Current Temp", "Clocks/SM")
_MANY = 3


def _health(facts: Facts) -> str:
    """What a card answers instead of its values; one value of many that fails makes no card sick."""
    found = [_SICK[word] for key in _BASICS if (word := _bare(facts.get(key, ""))) in _SICK]
    if not found and sum(_bare(value) in _SICK for value in facts.values()) >= _MANY:
        found = [_SICK[word] for value in facts.values() if (word := _bare(value)) in _SICK]
    return next((one for one in found if one != UNKNOWN_ERROR), found[0] if found else "ok")


def _bare(value: str) -> str:
    return value.strip("[] ").lower()


def _named(value: str) -> str:
    return "" if _bare(value) in _SICK else value


def _blocks(text: str) -> Iterator[Facts]:
    """What stands before the first GPU, then each GPU: values by their indented path."""
    facts: Facts = {}
    path: list[tuple[int, str]] = []
    for line in text.splitlines():
        start = _START.match(line)
        if start:
            yield facts
            facts, path = {"PCI": start[1]}, []
            continue
        name, colon, value = line.strip().partition(" : ")
        if not name:
            continue
        depth = len(line) - len(line.lstrip())
        path = [one for one in path if one[0] < depth]
        if colon:
            key = "/".join([*(above for _, above in path if above), name.strip()])
            facts.setdefault(key, value.strip())
        else:
            path.append((depth, name.strip()))
    yield facts


def _of_xml(text: str, where: str) -> Gpus:
    try:
        root = ElementTree.fromstring(text[: text.rindex(">") + 1])  # noqa: S314 - no entities are declared
    except (ElementTree.ParseError, ValueError):
        raise FileProblem(say("{path} is damaged: its XML does not end", path=where)) from None
    top = {_XML_NAMES[child.tag]: child.text or "" for child in root if child.tag in _XML_NAMES}
    devices = [_gpu(index, _flat(gpu)) for index, gpu in enumerate(root.iter("gpu"))]
    return Gpus(0, "", top.get("Driver Version", ""), _cuda(top.get("CUDA Version")), "", tuple(devices))


def _flat(gpu: ElementTree.Element) -> Facts:
    """The same names as the text has."""
    facts: Facts = {"PCI": gpu.get("id", "")}
    for path, name in _XML_NAMES.items():
        found = gpu.findtext(path)
        if found is not None:
            facts.setdefault(name, found.strip())
    for kind in ("clocks_event_reasons", "clocks_throttle_reasons"):
        for child in gpu.findall(f"{kind}/*"):
            word = child.tag.rpartition("reason_")[2].replace("_", " ").lower()
            name = next((one for one in _REASONS if one.lower() == word), "")
            if name:
                facts[f"Clocks Event Reasons/{name}"] = child.text or ""
    for span in ("volatile", "aggregate"):
        for child in gpu.findall(f"ecc_errors/{span}/*"):
            facts[f"ECC Errors/{span.title()}/{child.tag.replace('_', ' ')}"] = child.text or ""
    facts["MIG Devices"] = str(len(gpu.findall("mig_devices/mig_device")))
    return facts


def _gpu(index: int, facts: Facts) -> Gpu:
    mig = _on(facts.get("MIG Mode/Current"))
    return Gpu(
        index=index,
        uuid=_named(facts.get("GPU UUID", "")),
        model=_named(facts.get("Product Name", "")),
        pci=facts.get("PCI", ""),
        health=_health(facts),
        persistence=_on(facts.get("Persistence Mode")),
        mig=mig,
        mig_pending=_on(facts.get("MIG Mode/Pending")),
        mig_instances=_instances(facts) if mig else None,
        ecc=_on(facts.get("ECC Mode/Current")),
        ecc_pending=_on(facts.get("ECC Mode/Pending")),
        uncorrected=_errors(facts, "volatile"),
        uncorrected_ever=_errors(facts, "aggregate"),
        remap_pending=_either(
            facts.get("Remapped Rows/Pending"), facts.get("Retired Pages/Pending Page Blacklist")
        ),
        remap_failed=_on(facts.get("Remapped Rows/Remapping Failure Occurred")),
        throttled=_throttled(facts),
        clock_mhz=_number(facts.get("Clocks/SM")),
        most_clock_mhz=_number(facts.get("Max Clocks/SM")),
        temperature_c=_number(facts.get("Temperature/GPU Current Temp")),
        memory_why=_memory_why(facts),
    )


def _memory_why(facts: Facts) -> str:
    """Cards that share the host's memory say of their own that it is not applicable."""
    said = facts.get("FB Memory Usage/Total")
    number = _number(said)
    if said is None or number:
        return ""
    name = facts.get("Product Name", "")
    row = cards.card(cards.from_model(name, None))
    if _bare(said) in ("n/a", "not supported") and (row is None or row.mib is None):
        return ""
    return say("nvidia-smi says {value} of it", value=said)


def _instances(facts: Facts) -> int | None:
    """The text has a block for each, of which only the first is kept: there is one, or there is none."""
    count = _number(facts.get("MIG Devices"))
    if count is not None:
        return count
    return int(any(key.startswith("MIG Device") for key in facts)) or None


def _on(value: str | None) -> bool | None:
    known = {"Enabled": True, "Yes": True, "Disabled": False, "No": False}
    return known.get(value or "")


def _either(*values: str | None) -> bool | None:
    known = [found for value in values if (found := _on(value)) is not None]
    return any(known) if known else None


def _errors(facts: Facts, span: str) -> int | None:
    counts = [
        number
        for key, value in facts.items()
        if key.lower().startswith(f"ecc errors/{span}/") and "uncorrect" in key.lower()
        if (number := _number(value)) is not None
    ]
    return sum(counts) if counts else None


def _throttled(facts: Facts) -> tuple[str, ...] | None:
    found = {
        name: facts.get(f"{group}/{name}") or facts.get(f"{group}/HW Slowdown/{name}")
        for name in _REASONS
        for group in ("Clocks Event Reasons", "Clocks Throttle Reasons")
        if facts.get(f"{group}/{name}") or facts.get(f"{group}/HW Slowdown/{name}")
    }
    return tuple(_REASONS[name] for name, value in found.items() if value == "Active") if found else None


def _number(value: str | None) -> int | None:
    found = re.match(r"-?\d+", value or "")
    return int(found[0]) if found else None


def _cuda(value: str | None) -> int | None:
    """`12.1` as 12010."""
    found = re.match(r"(\d+)\.(\d+)", value or "")
    return int(found[1]) * 1000 + int(found[2]) * 10 if found else None
