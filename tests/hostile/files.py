"""Files made to hurt every command, as YAML and as contracts: by name, the bytes."""

from __future__ import annotations

GOOD = b"""\
baseline:
  gpu: {count: 2, memory: 24Gi, type: a100-sxm-80gb}
elasticity:
  gpu: {min_count: 2, max_count: 4}
fault_tolerance: {level: critical, checkpoint_grace_period: 30s}
dependencies:
  - {package: transformers, version: ">=4.40.0,<4.42.0"}
runtime_context:
  env_vars:
    - {name: TOOL_API_KEY, source: "vault://prod/key", ttl: 2h}
security_policy:
  network:
    egress:
      - {domain: api.example.com, ports: [443], rate_limit: 100req/min}
steps:
  - {id: load, run: python load.py, timeout: 5m, outputs: ["{run}/data-{iteration}.npz"]}
  - {id: learn, run: python learn.py, timeout: 1h, needs: [load], inputs: ["{run}/data-{iteration}.npz"],
     resources: {gpu: {count: 2}}}
iterations: {count: 3}
"""
"""A contract without findings: what is broken below is broken in something."""


def _with(old: bytes, new: bytes) -> bytes:
    assert old in GOOD, old
    return GOOD.replace(old, new)


def _steps(lines: list[str]) -> bytes:
    return GOOD.partition(b"steps:\n")[0] + b"steps:\n" + "\n".join(lines).encode() + b"\n"


def _step(at: object, needs: object = "[]") -> str:
    return f"  - {{id: s{at}, run: python x.py, timeout: 5m, needs: {needs}}}"


def _bomb(first: str, middle: str) -> bytes:
    lines = [
        f"a0: &a0 {first}",
        *(middle.format(n=n, all=", ".join([f"*a{n - 1}"] * 9)) for n in range(1, 12)),
    ]
    return ("\n".join(lines) + "\n").encode()


ENCODINGS = {
    "empty": b"",
    "mark-only": b"\xef\xbb\xbf",
    "utf-8-mark": b"\xef\xbb\xbf" + GOOD,
    "utf-8-two-marks": b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD,
    "utf-16-le-mark-only": b"\xff\xfe",
    "utf-16-le": b"\xff\xfe" + GOOD.decode().encode("utf-16-le"),
    "utf-16-be": b"\xfe\xff" + GOOD.decode().encode("utf-16-be"),
    "utf-16-without-mark": GOOD.decode().encode("utf-16-le"),
    "utf-16-odd": b"\xff\xfe" + GOOD.decode().encode("utf-16-le")[:-1],
    "utf-16-lone-surrogate": b"\xff\xfea\0:\0 \0\x00\xd8b\0",
    "utf-32-le": b"\xff\xfe\0\0" + GOOD.decode().encode("utf-32-le"),
    "utf-32-be": b"\0\0\xfe\xff" + GOOD.decode().encode("utf-32-be"),
    "utf-32-without-mark": GOOD.decode().encode("utf-32-le"),
    "utf-8-invalid": _with(b"load.py", b"l\xc3\x28d.py"),
    "utf-8-surrogate": _with(b"load.py", b"l\xed\xa0\x80d.py"),
    "utf-8-overlong": _with(b"load.py", b"l\xc0\xafd.py"),
    "latin-1": _with(b"load.py", "précis.py".encode("latin-1")),
    "gbk": _with(b"load.py", "训练.py".encode("gbk")),
    "nul": _with(b"load.py", b"l\0d.py"),
    "nul-only": b"\0" * 5000,
    "c1": _with(b"load.py", "l\x80\x9fd.py".encode()),
    "escape-sequences": _with(b"load.py", b"\x1b[2J\x1b]0;x\x07"),
    "escaped-controls": _with(b"python load.py", b'"\\e[2J\\0\\a\\u202e\\ud800 x"'),
    "line-separators": GOOD.replace(b"\n  gpu", " # \u2028x\u2029\x85\n  gpu".encode()),
    "bidirectional": _with(b"load.py", "\u202elo\u2066ad.py".encode()),
    "not-characters": _with(b"load.py", "\ufffe\uffff\U0010ffff".encode()),
    "binary": bytes(range(256)) * 20,
    "elf": b"\x7fELF\x02\x01\x01" + bytes(64),
    "crlf": GOOD.replace(b"\n", b"\r\n"),
    "cr": GOOD.replace(b"\n", b"\r"),
    "mixed-line-ends": GOOD.replace(b"\n  ", b"\r\n  ", 3),
    "no-last-line-end": GOOD.rstrip(b"\n"),
}
SYNTAX = {
    "jinja": b"{% for x in y %}\n- {{ x }}\n{% endfor %}\n" + GOOD,
    "jinja-value": _with(b"5m", b"{{ timeout }}"),
    "tabs": GOOD.replace(b"  ", b"\t"),
    "tab-in-line": _with(b"timeout: 5m", b"timeout:\t5m\t"),
    "many-documents": GOOD + b"---\n" + GOOD + b"...\n---\n[]\n",
    "twenty-thousand-documents": b"---\n" * 20_000,
    "directives": b"%YAML 1.1\n%TAG !e! tag:e,2000:\n---\n" + GOOD,
    "unknown-directive": b"%YAML 9.9\n%X y\n---\n" + GOOD,
    "custom-tags": _with(b"5m", b"!x 5m").replace(b"[load]", b"!<tag:e,2000:y> [load]"),
    "python-tags": GOOD + b"name: !!python/object/apply:os.system [id]\n",
    "binary-tag": GOOD + b"name: !!binary aGVsbG8=\n",
    "complex-keys": GOOD + b"? [a, b]\n: 1\n? {c: d}\n: 2\n",
    "odd-keys": GOOD + b"~: 3\ntrue: 4\n1.5: 5\n.nan: 6\n0x10: 7\n'': 8\n",
    "odd-keys-in-steps": _with(b"{id: load,", b"{id: load, ~: 1, [x]: 2, {y: z}: 3, true: 4,"),
    "duplicate-keys": GOOD + GOOD,
    "two-thousand-duplicates": b"name: x\n" * 2000,
    "keys-without-values": b"".join(line.partition(b":")[0] + b":\n" for line in GOOD.splitlines()),
    "list-at-root": b"- " + GOOD.replace(b"\n", b"\n  ").rstrip() + b"\n",
    "scalar-at-root": b"dsandbox\n",
    "number-at-root": b"1e999\n",
    "null-at-root": b"~\n",
    "json": b'{"baseline": {"gpu": {"count": 1e2}}, "steps": [null, 1, "\\u00e9\\ud83d"]}',
    "every-line-broken": "".join(f"k{n}: }}\n" for n in range(3000)).encode(),
    "open-quotes": "".join(f"k{n}: \"'\n" for n in range(500)).encode(),
    "brackets": b"]}" * 2000,
    "block-text": _with(b"python load.py", b"|9\n x").replace(b"{id: load, ", b"id: load\n    "),
    "merge-conflict": GOOD.replace(b"elast", b"<<<<<<< HEAD\na: 1\n=======\nb: 2\n>>>>>>> x\nelast"),
}
ALIASES = {
    "alias-bomb": _bomb("[x, x, x, x, x, x, x, x, x]", "a{n}: &a{n} [{all}]") + GOOD,
    "merge-bomb": _bomb("{k0: 1}", "a{n}: &a{n} {{<<: [{all}], k{n}: 1}}") + GOOD,
    "step-bomb": _bomb("{id: x, run: y}", "a{n}: &a{n} [{all}]") + GOOD.replace(b"[load]", b"*a11"),
    "alias-chain": ("c0: &c0 [x]\n" + "".join(f"c{n}: &c{n} [*c{n - 1}]\n" for n in range(1, 2000))).encode(),
    "recursive-list": GOOD + b"name: &n [*n]\n",
    "recursive-step": _with(b"{id: load,", b"&s {id: load, args: *s, needs: [*s],"),
    "recursive-merge": _with(b"{id: load,", b"&s {<<: *s, id: load,"),
    "recursive-key": GOOD + b"&a {*a : 1}: 2\n",
    "undefined-aliases": GOOD.replace(b"5m", b"*nowhere") + b"name: *x\n",
    "ten-thousand-anchors": GOOD + b"args: [" + b", ".join(b"&x%d y" % n for n in range(10_000)) + b"]\n",
    "ten-thousand-aliases": GOOD + b"name: [&x y, " + b", ".join([b"*x"] * 10_000) + b"]\n",
    "one-step-a-thousand-times": _steps([" - &s {id: a, run: x, timeout: 5m}", *[" - *s"] * 1000]),
    "merge-scalar": _with(b"{id: load,", b"{<<: 1, id: load,"),
    "merge-list": _with(b"{id: load,", b"{<<: [1, [2], {a: b}], <<: {}, id: load,"),
}
DEEP = {
    "deep-flow": GOOD + b"args: " + b"[" * 5000 + b"]" * 5000 + b"\n",
    "deep-flow-open": b"{a: " * 5000,
    "deep-templates": b"{{" * 5000,
    "deep-block": GOOD + "".join(f"{' ' * n}k:\n" for n in range(1500)).encode(),
    "deep-list": b"- " * 3000,
    "deep-args": _with(b"run: python load.py", b"call: a:b, args: {a: " + b"[" * 200 + b"]" * 200 + b"}"),
    "deep-question-marks": b"? " * 3000,
}
NUMBERS = {
    "huge-integer": _with(b"count: 2", b"count: " + b"9" * 6000),
    "huge-exponent": _with(b"count: 2", b"count: 1e999999999"),
    "huge-quantities": GOOD.replace(b"24Gi", b"9" * 5000 + b"Gi").replace(b"30s", b"1e400s"),
    "small-quantities": GOOD.replace(b"24Gi", b"0.0000000000000001Gi").replace(b"30s", b"-1s"),
    "long-fractions": GOOD.replace(b"24Gi", b"0." + b"3" * 5000 + b"Gi").replace(
        b"5m", b"1." + b"0" * 9000 + b"m"
    ),
    "not-numbers": GOOD.replace(b"count: 2", b"count: .nan").replace(b"count: 3", b"count: -.inf"),
    "other-digits": GOOD.replace(b"24Gi", "٢٤Gi".encode()).replace(b"count: 2", "count: ２".encode()),
    "hexadecimal": GOOD.replace(b"count: 2", b"count: 0x" + b"f" * 5000).replace(b"count: 3", b"count: 0o7"),
    "bad-dates": GOOD + b"version: 2024-99-99\nname: 99:99:99\n",
    "huge-iterations": _with(b"count: 3", b"count: 1000000, in_flight: 1000000, max_staleness: 1000000"),
    "huge-ports": _with(b"[443]", b"[0, -1, 65536, 1e3, " + b"9" * 5000 + b"]"),
    "huge-versions": GOOD.replace(b">=4.40.0", b">=" + b"9." * 3000 + b"0").replace(b"4.42", b"9" * 5000),
    "many-versions": GOOD.replace(
        b'">=4.40.0,<4.42.0"', b'"' + b",".join([b"!=1.%d.*" % n for n in range(3000)]) + b'"'
    ),
    "huge-retries": _with(b"5m,", b"5m, retries: {max: 1000, backoff: 99999d, factor: 100},"),
    "huge-durations": GOOD.replace(b"5m", b"999999999999999999d").replace(b"1h", b"0.000000001ns"),
}
LONG = {
    "long-line": GOOD + b"name: " + b"x" * 2_000_000,
    "long-quoted-line": GOOD + b'name: "' + b"\\u4e2d" * 300_000 + b'"',
    "long-flow-line": GOOD + b"args: {" + b", ".join(b"k%d: 1" % n for n in range(40_000)) + b"}\n",
    "long-key": GOOD + b"k" * 5000 + b": 1\n",
    "long-step-id": GOOD.replace(b"load", b"l" * 100_000),
    "megabytes-of-nul": b"\0" * 7_900_000,
    "megabytes-of-line-ends": b"\n" * 7_900_000,
    "megabytes-of-latin-1": b"a: " + b"\xe9" * 4_000_000,
    "megabytes-beyond-ascii": "a: 中😀".encode() * 500_000,
    "odd-spaces": b"name: a" + "\u3000a".encode() * 300_000 + "\n\u3000: ".encode() * 3000,
    "too-large": b"# x\n" * 2_500_000,
    "errors-behind-a-long-text": GOOD + b"name: [" + b"x, " * 100_000 + b"]\n" + b"a: }\n" * 30,
    "long-command": _with(b"python load.py", b"python " + b"'a b' " * 50_000),
    "long-blanks": GOOD + b" " * 1_000_000 + b"\n" * 100_000,
    "hundred-thousand-comments": b"# x\n" * 100_000 + GOOD,
    "huge-suppression": b"# dsec: ignore[" + b"DS101, " * 30_000 + b"] x\n" + GOOD,
    "huge-suppression-reason": b"# dsec: ignore[DS101] until=2027-01-31 " + b"x " * 200_000 + b"\n" + GOOD,
    "many-suppressions": b"# dsec: ignore[DS101] x\n# dsec: ignore-file[DS999,D] until=x\n" * 3000 + GOOD,
    "odd-suppressions": b"".join(
        b"# dsec: %s\n" % text
        for text in (
            b"ignore",
            b"ignore[",
            b"ignore[]",
            b"ignore[,]",
            b"ignore[DS101",
            b"ignore-file",
            b"ignore-file[*] x",
            b"ignore[DS101] until=",
            b"ignore[DS101] until=9999-99-99 x",
            "ignore[ＤＳ101] x".encode(),
            b"IGNORE[ds101]",
        )
    )
    + GOOD,
    "twenty-thousand-keys": "".join(f"k{n}: {n}\n" for n in range(20_000)).encode() + GOOD,
    "million-entries": GOOD + b"name: [" + b"x, " * 1_000_000 + b"]\n",
    "million-block-entries": GOOD + b"dependencies:\n" + b"- x\n" * 1_000_000,
    "twenty-thousand-strange-characters": GOOD + "# \u2028\u200b\n".encode() * 20_000,
}
GRAPHS = {
    "five-thousand-steps": _steps([_step(n) for n in range(5000)]),
    "chain-of-steps": _steps([_step(n, f"[s{n - 1}]" if n else "[]") for n in range(2000)]),
    "cycle-of-steps": _steps([_step(n, f"[s{(n - 1) % 1000}]") for n in range(1000)]),
    "every-step-needs-all-before": _steps([_step(n, [f"s{m}" for m in range(n)]) for n in range(150)]),
    "every-step-needs-every-step": _steps([_step(n, [f"s{m}" for m in range(60)]) for n in range(60)]),
    "cycles-in-a-ladder": _steps([_step(n, f"[s{(n + 1) % 400}, s{(n - 1) % 400}]") for n in range(400)]),
    "unknown-needs": _steps([_step(n, f"[s{n + 900}, t{n}, S{n}]") for n in range(900)]),
    "one-id-a-thousand-times": _steps([_step(1, "[s1]") for _ in range(1000)]),
    "many-files": _steps(
        [
            f"  - {{id: s{n}, run: x, timeout: 5m, inputs: [f{n}, f0], outputs: [f{n + 1}, g]}}"
            for n in range(500)
        ]
    ),
    "many-needs-of-one": _steps([_step(0), _step(1, ["s0"] * 10_000)]),
    "carried-everywhere": _steps([_step(n) for n in range(200)])
    + b"iterations:\n  count: 9\n  carried:\n"
    + b"".join(b"    - {from: s%d, to: s%d}\n" % (n, (n * 7) % 200) for n in range(200)),
    "break-cycles-everywhere": _steps(
        [
            _step(n, f"[s{(n - 1) % 200}], break_cycle: true, break_point: s{(n + 5) % 200}")
            for n in range(200)
        ]
    ),
    "tasks-all-talking": b"tasks:\n"
    + b"".join(b"  - {name: t%d, script: x, timeout: 5m}\n" % n for n in range(50))
    + b"communication:\n"
    + b"".join(b"  - {from: t%d, to: t%d, protocol: tcp}\n" % (n // 50, n % 50) for n in range(2500)),
    "many-packages": GOOD.replace(
        b"dependencies:\n", b"dependencies:\n" + b'  - {package: torch, version: ">=2"}\n' * 3000
    ),
    "many-versions-of-one-package": GOOD.replace(
        b"dependencies:\n",
        b"dependencies:\n" + b"".join(b'  - {package: torch, version: "==2.%d"}\n' % n for n in range(1000)),
    ),
    "odd-packages": GOOD.replace(
        b"dependencies:\n",
        b"dependencies:\n  - {package: '', version: ''}\n  - {package: \"../..\\0\", version: '==='}\n"
        b"  - {package: [], version: {}}\n  - {package: 'a[b]; c', version: '>=1;'}\n  - 7\n  - ~\n  - []\n",
    ),
    "many-egresses": GOOD.replace(
        b"    egress:\n", b"    egress:\n" + b"      - {domain: '*.a.b', ports: [443]}\n" * 3000
    ),
    "odd-egresses": GOOD.replace(b"api.example.com", "'http://user:pw@[::1]:99999/中?x#\\0'".encode()),
    "odd-paths": GOOD.replace(
        b"{run}/data-{iteration}.npz", b"{run}/../../../{}/{x}/{0}/{{run}}/\\0/{run!r:>9999999}"
    ),
    "odd-commands": GOOD.replace(b"python load.py", b'"python \'load"').replace(b"python learn.py", b'"\\0"'),
    "words-where-numbers-are": GOOD.replace(b"count: 2", b"count: two").replace(b"count: 3", b"count: [3]"),
    "everything-a-list": GOOD.replace(b"{", b"[").replace(b"}", b"]"),
    "everything-null": b"".join(
        line.partition(b":")[0] + b": ~\n" for line in GOOD.splitlines() if b"-" not in line
    ),
}

FILES: dict[str, bytes] = ENCODINGS | SYNTAX | ALIASES | DEEP | NUMBERS | LONG | GRAPHS
HEAVY = frozenset(
    {
        *(name for name, data in FILES.items() if len(data) > 100_000),
        *("twenty-thousand-documents", "two-thousand-duplicates", "alias-chain", "ten-thousand-anchors"),
        *("ten-thousand-aliases", "one-step-a-thousand-times", "many-suppressions", "binary", "nul-only"),
        *("every-line-broken", "open-quotes", "one-id-a-thousand-times", "chain-of-steps", "cycle-of-steps"),
        "many-needs-of-one",
        *("cycles-in-a-ladder", "every-step-needs-all-before", "unknown-needs", "many-files"),
        *(
            "tasks-all-talking",
            "many-packages",
            "many-versions-of-one-package",
            "many-egresses",
            "merge-bomb",
        ),
    }
)
"""Files that take some commands a second; the others take milliseconds."""
