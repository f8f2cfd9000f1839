"""`ds-plugin-scan` beside capa on the same files, and its recall against strace on wheels of the registry.

    python benchmarks/scan.py --peers DIR [--install] [--rounds 3] [--recall] [--large FILE]

DIR is a virtual environment with capa and the wheels; --install makes it. capa gets one rule of this
file's, for its own rules are not in the registry: with them it takes longer. Rounds are interleaved,
figures are medians of CPU seconds (user and system, children included).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from glob import glob
from pathlib import Path

RULE = """\
rule:
  meta:
    name: connect to a peer
    namespace: communication/socket
    authors: [benchmark]
    scopes: {static: function, dynamic: unsupported}
  features:
    - or:
      - api: connect
      - api: socket
      - api: open
"""
WHEELS = ("numpy", "orjson", "cryptography", "zstandard", "lxml", "psutil", "pyzmq")
FILES = ("orjson/orjson.*.so", "psutil/_psutil_linux*.so", "numpy/random/_pcg64.*.so")
LEAST_RATIO = 30
LARGE_S, LARGE_MB = 6.0, 1024
WORK = {
    "orjson": """import orjson
for i in range(200): orjson.loads(orjson.dumps({'a': [i] * 1000, 's': 'x' * 100000}))""",
    "zstandard": """import zstandard as z, tempfile, os, io
d = os.urandom(3000000) + b'x' * 3000000
z.ZstdDecompressor().decompress(z.ZstdCompressor(level=3, threads=4).compress(d))
t = tempfile.TemporaryFile()
z.ZstdCompressor(threads=2).copy_stream(io.BytesIO(d), t)
t.seek(0)
z.ZstdDecompressor().copy_stream(t, io.BytesIO())
z.train_dictionary(1000, [os.urandom(100) * 10 for _ in range(100)])""",
    "psutil": """import psutil
p = psutil.Process()
p.as_dict()
psutil.cpu_times(percpu=True), psutil.virtual_memory(), psutil.swap_memory(), psutil.disk_partitions(all=True)
psutil.disk_usage('/'), psutil.net_if_addrs(), psutil.net_if_stats(), psutil.net_connections(), psutil.users()
p.cpu_affinity([0]), p.ionice(psutil.IOPRIO_CLASS_BE, 4), p.nice(5), p.rlimit(psutil.RLIMIT_NOFILE)""",
    "lxml": """from lxml import etree, html, objectify
import tempfile
d = tempfile.mkdtemp()
r = etree.Element('a')
for i in range(1000): etree.SubElement(r, 'b', x=str(i)).text = 't' * 50
etree.ElementTree(r).write(d + '/x.xml', pretty_print=True, compression=9)
etree.parse(d + '/x.xml'), html.fromstring('<p>x'), objectify.fromstring('<a><b>1</b></a>')
open(d + '/y.xml', 'w').write('<!DOCTYPE a SYSTEM "no.dtd"><a/>')
for name, parser in ((d + '/y.xml', etree.XMLParser(load_dtd=True)), ('/no/such', None)):
    try: etree.parse(name, parser)
    except Exception: pass""",
    "pyzmq": """import zmq
c = zmq.Context(2)
a, b = c.socket(zmq.PAIR), c.socket(zmq.PAIR)
b.connect(f"tcp://127.0.0.1:{a.bind_to_random_port('tcp://127.0.0.1')}")
for i in range(50): b.send(b'x' * 100000), a.recv()
p = zmq.Poller()
p.register(a, zmq.POLLIN)
p.poll(10)
s = c.socket(zmq.REP)
s.curve_server, s.curve_secretkey = True, zmq.curve_keypair()[1]
s.bind('tcp://localhost:*')
for x in (a, b, s): x.close(0)
c.term()""",
    "cryptography": """from cryptography.hazmat.primitives.asymmetric import rsa, ed25519, ec
from cryptography.hazmat.primitives import hashes
from cryptography.fernet import Fernet
rsa.generate_private_key(65537, 2048), ed25519.Ed25519PrivateKey.generate().sign(b'x')
ec.generate_private_key(ec.SECP256R1())
f = Fernet(Fernet.generate_key())
f.decrypt(f.encrypt(b'x' * 100000))
h = hashes.Hash(hashes.SHA256())
h.update(b'x' * 1000000)""",
    "numpy": """import numpy as np, tempfile
a = np.random.default_rng(1).normal(size=(400, 400))
b = a @ a
np.linalg.svd(b[:50, :50]), np.fft.fft(a), np.sort(a, axis=0)
d = tempfile.mkdtemp()
np.save(d + '/x.npy', b), np.load(d + '/x.npy', mmap_mode='r'), b.tofile(d + '/y'), np.fromfile(d + '/y')
np.savez_compressed(d + '/z', b), np.memmap(d + '/m', dtype='f4', mode='w+', shape=(1000,)).flush()""",
}
LINE = re.compile(r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)")
AROUND = re.compile(
    r"/(libc|ld-linux|libstdc\+\+|libpthread|libm|libgcc_s|libdl|librt)[-.]"
    r"|/(libpython|python)[^/(]*\(_?Py\w*(Malloc|Calloc|Realloc|Resize|Free)\+"
)
"""Frames that act for who called them: libc and its like, and Python's allocator, by which orjson gets all
of its memory."""


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", default=os.environ.get("PEERS", ".venv-peers"))
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--recall", action="store_true")
    parser.add_argument("--large")
    parser.add_argument("--only", action="store_true", help="no comparison with capa")
    asked = parser.parse_args()
    peers = Path(asked.peers)
    if asked.install and not (peers / "bin/capa").exists():
        subprocess.run([sys.executable, "-m", "venv", peers], check=True)
        subprocess.run([peers / "bin/pip", "install", "-q", "flare-capa", *WHEELS], check=True)
    packages = next(iter(glob(f"{peers}/lib/python3*/site-packages")))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        good = asked.only or speed(peers, packages, Path(folder), rounds=asked.rounds)
        if asked.large:
            good &= large(asked.large, rounds=asked.rounds)
        if asked.recall:
            good &= recall(peers, packages, Path(folder))
    return 0 if good else 1


def scanner(*words: str) -> list[str]:
    """The command line of the scanner."""
    code = "import sys; from dsec_cli.fast import plugin_scan; sys.exit(plugin_scan())"
    return [sys.executable, "-c", code, *words]


def cost(words: list[str]) -> tuple[float, int]:
    """CPU seconds and greatest resident size (MB) of a command and its children."""
    code = (
        "import subprocess, sys, resource as r\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "u = r.getrusage(r.RUSAGE_CHILDREN)\n"
        "print(u.ru_utime + u.ru_stime, u.ru_maxrss // 1024)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    ).stdout
    seconds, size = out.split()
    return float(seconds), int(size)


def speed(peers: Path, packages: str, folder: Path, *, rounds: int) -> bool:
    """Cold, warm and capa, interleaved."""
    rules = folder / "rules"
    rules.mkdir()
    (rules / "connect.yml").write_text(RULE)
    capa = [str(peers / "bin/capa"), "-q", "-r", str(rules), "-s", str(rules)]
    worst = float("inf")
    print(f"{'file':32} {'cold':>7} {'warm':>7} {'capa':>8} {'ratio':>7}   MB: ours, capa")
    for pattern in FILES:
        file = next(iter(glob(f"{packages}/{pattern}")))
        rows: dict[str, list[tuple[float, int]]] = {"cold": [], "warm": [], "capa": []}
        for _ in range(rounds):
            shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
            rows["cold"].append(cost(scanner(file)))
            rows["warm"].append(cost(scanner(file)))
            rows["capa"].append(cost([*capa, file]))
        cold, warm, other = (
            statistics.median(one for one, _ in rows[name]) for name in ("cold", "warm", "capa")
        )
        sizes = ", ".join(str(max(size for _, size in rows[name])) for name in ("cold", "capa"))
        worst = min(worst, other / warm)
        print(
            f"{os.path.basename(file)[:32]:32} {cold:7.2f} {warm:7.2f} {other:8.2f} {other / warm:6.0f}x"
            f"   {sizes}"
        )
    print(f"target: warm at most 1/{LEAST_RATIO} of capa: {'met' if worst >= LEAST_RATIO else 'missed'}")
    return worst >= LEAST_RATIO


def large(file: str, *, rounds: int) -> bool:
    """One large library."""
    rows = [cost(scanner(file)) for _ in range(rounds)]
    seconds, size = statistics.median(one for one, _ in rows), max(size for _, size in rows)
    print(
        f"{os.path.basename(file)}: {os.path.getsize(file) / 1e6:.0f} MB, {seconds:.2f} CPU s, "
        f"{size} MB resident"
    )
    good = seconds <= LARGE_S and size <= LARGE_MB
    print(f"target: {LARGE_S:.0f} CPU s and {LARGE_MB} MB: {'met' if good else 'missed'}")
    return good


def recall(peers: Path, packages: str, folder: Path) -> bool:
    """What strace sees of each wheel's own calls, against the scan of its files."""
    good = True
    for name, work in WORK.items():
        seen = traced([str(peers / "bin/python"), "-c", work], packages, folder)
        missed = {os.path.basename(file): calls - predicted(file) for file, calls in seen.items()}
        missed = {file: calls for file, calls in missed.items() if calls}
        dynamic = set().union(*seen.values())
        static = set().union(*(predicted(file) for file in seen))
        good &= not missed
        print(f"{name}: {len(dynamic)} calls seen, {len(static)} predicted, missed: {missed or 'none'}")
    return good


def traced(words: list[str], packages: str, folder: Path) -> dict[str, set[str]]:
    """The system calls of each file of the packages: the first frame above libc and its like is in it."""
    log = folder / "trace"
    subprocess.run(["strace", "-f", "-k", "-qq", "-o", log, *words], capture_output=True, check=False)
    found: dict[str, set[str]] = {}
    call, owner = "", ""
    for line in [*log.read_text(errors="replace").splitlines(), "0 end("]:
        if line.startswith(" > "):
            frame = line[3:]
            file = frame.split("(")[0].split(" [")[0]
            owner = owner or ("" if AROUND.search(frame.split(" [")[0]) else file)
            continue
        if call and owner.startswith(packages):
            found.setdefault(owner, set()).add(call)
        match = LINE.match(line)
        call, owner = (match[1] if match else ""), ""
    return found


def predicted(file: str) -> set[str]:
    """The system calls that a scan finds."""
    from dsec_cli.plugins.scanning import Options, scan

    if file not in _PREDICTED:
        calls = scan(file, Options(cache=os.environ["XDG_CACHE_HOME"])).calls
        _PREDICTED[file] = {call.name for call in calls or ()}
    return _PREDICTED[file]


_PREDICTED: dict[str, set[str]] = {}

if __name__ == "__main__":
    sys.exit(main())
