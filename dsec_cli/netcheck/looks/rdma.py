"""RDMA: devices of the path's interface, their state, and their counters of congestion and errors."""

from __future__ import annotations

import os

from dsec_cli.netcheck.facts import Look, Seen

_CLASS = "/sys/class/infiniband"
_COUNTED = (
    "out_of_sequence",
    "packet_seq_err",
    "local_ack_timeout_err",
    "rnr_nak_retry_err",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "rp_cnp_handled",
    "roce_adp_retrans",
    "rx_icrc_encapsulated",
    "port_rcv_errors",
    "port_xmit_discards",
    "port_xmit_wait",
    "link_downed",
    "symbol_error",
)


def see(name: str, *, folder: str = _CLASS) -> Seen:
    """Every device of the interface; those of others are named, not counted."""
    try:
        devices = sorted(os.listdir(folder))
    except OSError:
        devices = []
    if not devices:
        return Seen("rdma", (), "", "no RDMA device here (/sys/class/infiniband is empty or missing)")
    mine = [one for one in devices if os.path.isdir(f"{folder}/{one}/device/net/{name}")]
    if not mine:
        return Seen(
            "rdma", (), "", f"no RDMA device belongs to {name or 'the path'}: there are {', '.join(devices)}"
        )
    values: list[tuple[str, int]] = []
    texts = []
    for one in mine:
        ports = sorted(os.listdir(f"{folder}/{one}/ports"))
        for port in ports:
            at = f"{folder}/{one}/ports/{port}"
            texts.append(f"{one} port {port}: {_text(f'{at}/state')}, {_text(f'{at}/rate')}")
            values += _counters(at, f"{one}/{port}/")
    return Seen("rdma", tuple(values), "; ".join(texts), "")


def _counters(at: str, prefix: str) -> list[tuple[str, int]]:
    found = []
    for key in _COUNTED:
        for kind in ("hw_counters", "counters"):
            text = _text(f"{at}/{kind}/{key}")
            if text.isdecimal():
                found.append((prefix + key, int(text)))
                break
    return found


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


LOOK = Look("rdma", see)
