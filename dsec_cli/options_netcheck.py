"""Grammar of the commands that measure networks; see `options`."""

from __future__ import annotations

from dsec_cli.options_shared import JSON, LANG, OUTPUT, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command, Option

_TOKEN: Option = (
    "token-file",
    "",
    "value",
    "FILE",
    (),
    None,
    "Secret that both ends must have; default: DSEC_NETCHECK_TOKEN_FILE, else ~/.ds/netcheck.token.",
)
_DURATION: Option = ("duration", "", "value", "SPAN", (), "2s", "How long each probe takes.")
_PROBES: Option = (
    "probes",
    "",
    "value",
    "NAMES",
    (),
    None,
    "Make only these, with commas: echo, sizes, stream, back, bulk, messages.",
)
_RATE: Option = ("rate", "", "value", "RATE", (), "100Mbps", "Most of the steady stream of datagrams.")
_STREAMS: Option = (
    "streams",
    "",
    "int",
    "N",
    (),
    None,
    "Processes that send at a time; default: one, and more above what one can send here.",
)
_ENGINE: Option = (
    "engine",
    "",
    "value",
    "ENGINE",
    ("own", "iperf3"),
    "own",
    "iperf3: measure TCP by that program, too, where both ends have it.",
)
_FORMAT: Option = (
    "format",
    "",
    "value",
    "FORMAT",
    ("text", "json", "html"),
    "text",
    "How to print the report.",
)
_HISTORY: Option = (
    "history",
    "",
    "value",
    "FOLDER",
    (),
    None,
    "Where reports are kept; default: netcheck/ in the folder of the runs' state (.dsec, or DSEC_HOME).",
)
_WANTS: tuple[Option, ...] = (
    ("bandwidth-cap", "", "value", "RATE", (), None, "Judge by this instead of the plan's bandwidth_cap."),
    ("bandwidth-min", "", "value", "RATE", (), None, "Judge by this instead of the plan's bandwidth_min."),
)
_LATENCY: Option = (
    "latency-cap",
    "",
    "value",
    "SPAN",
    (),
    None,
    "Judge by this instead of the plan's latency_cap.",
)
_EXITS = (
    (0, "every flow fits"),
    (1, "a flow does not fit, or something on its path is wrong"),
    USAGE,
    (3, "a flow could not be measured: no peer, another token, a peer that went away"),
)

SERVE: Command = (
    "netcheck serve",
    "Let other hosts measure the network to this one.",
    (
        "Runs until it is ended. Only who knows the token is answered, each in a process of its own, and "
        "never above the rate and time given here: it cannot be used to flood anybody, and it sends only to "
        "the address that asked, or to a peer that knows the token, too.",
        "The token file is made when there is none; copy it to the other hosts.",
    ),
    (),
    (
        ("allow", "", "multi", "ADDRESS", (), None, "Answer only these addresses; may be repeated."),
        LANG,
        (
            "listen",
            "",
            "value",
            "HOST:PORT",
            (),
            "0.0.0.0:7471",
            "Address and port for control; data ports are free ones.",
        ),
        ("max-rate", "", "value", "RATE", (), "10Gbps", "Most that all sessions together send or take."),
        ("max-time", "", "value", "SPAN", (), "60s", "Longest time of one probe."),
        ("once", "", "flag", "", (), None, "End after the first session."),
        ("stop-after", "", "value", "SPAN", (), None, "End after this time."),
        _TOKEN,
    ),
    (
        ("ds-netcheck serve", "Answer on port 7471."),
        ("ds-netcheck serve --allow 10.0.0.1 --stop-after 1h", "Answer one host, for an hour."),
    ),
    ((0, "ended as was asked"), USAGE, (3, "the port is taken, or the token file cannot be had")),
)

RUN: Command = (
    "netcheck run",
    "Replay a plan's data flows between hosts, and judge the network by them.",
    (
        "Each flow is replayed from its source to its target: small datagrams (delay, ECN), the longest "
        "packets that arrive, a steady stream each way (loss, queues), TCP both ways, and the flow's own "
        "messages. "
        "What this host's own queue or processors hold is told apart from the path.",
        "Peers are machines of the plan's inventory, or Steps; this host is `here`. A flow is written "
        "SOURCE:TARGET:SIZE[@COUNT/UNIT][xCONNECTIONS]; without plan and flow, messages of 1 MiB go to "
        "every peer, and without peers through this host alone.",
    ),
    (),
    (
        *_WANTS,
        _DURATION,
        _ENGINE,
        (
            "flow",
            "",
            "multi",
            "FLOW",
            (),
            None,
            "Replay this flow: actor:learner:4MiB@20/s; may be repeated.",
        ),
        _FORMAT,
        _HISTORY,
        LANG,
        _LATENCY,
        ("no-history", "", "flag", "", (), None, "Keep no report."),
        OUTPUT,
        (
            "peers",
            "",
            "multi",
            "NAME=HOST[:PORT]",
            (),
            None,
            "Where peers are, with commas; may be repeated.",
        ),
        ("plan", "", "value", "FILE", (), None, "Replay the flows of this plan (dsec plan -o)."),
        _PROBES,
        ("quiet", "q", "flag", "", (), None, "Do not say what is being measured."),
        _RATE,
        _STREAMS,
        _TOKEN,
    ),
    (
        ("ds-netcheck run", "See what this host can do at all."),
        (
            "ds-netcheck run --plan plan.json --peers node-1=10.0.0.2,here=10.0.0.1",
            "Judge the links of a plan.",
        ),
        ("ds-netcheck run --peers b=10.0.0.2 --flow here:b:4MiB@20/s", "Replay one flow."),
    ),
    _EXITS,
)

LAB: Command = (
    "netcheck lab",
    "Try netcheck alone: two hosts and a router in namespaces of this machine, with faults.",
    (
        "No root is needed and nothing of the machine's own network is touched; the kernel removes the lab "
        "when the command ends. Needs unshare, ip and tc, and nft for some faults.",
        "Faults: here-rate=RATE, router-rate=RATE, back-rate=RATE, line=RATE/RATE, burst=RATE/BYTES, "
        "loss=PERCENT, back-loss=PERCENT, delay=MS, damage=PERCENT, reorder=PERCENT, traffic=RATE, frames, "
        "here-mtu=BYTES, peer-mtu=BYTES, router-mtu=BYTES, router-mtu-silent=BYTES, here-buffer=BYTES, "
        "peer-window=BYTES, ecn-mark=PERCENT, ecn-bleach, no-fragments, udp-blocked, udp-blocked-back, "
        "udp-blocked-here, data-ports-blocked, peer-dies=PROBE, wrong-token. COMMAND is run on the near "
        "host, where b is the far one.",
    ),
    (("COMMAND", "many", (), "Command to run there instead of a measurement, after --."),),
    (
        *_WANTS,
        _DURATION,
        _ENGINE,
        ("fault", "", "multi", "FAULT", (), None, "What is to be wrong; may be repeated."),
        ("flow", "", "value", "FLOW", (), "here:b:256KiB@10/s", "Flow to replay, between here and b."),
        _FORMAT,
        LANG,
        _LATENCY,
        OUTPUT,
        _PROBES,
        _RATE,
        _STREAMS,
    ),
    (
        ("ds-netcheck lab", "Measure a network without faults."),
        ("ds-netcheck lab --fault router-mtu-silent=1400", "See how an ICMP black hole is told."),
        ("ds-netcheck lab -- ds-netcheck run --peers b=10.77.2.1", "Use the lab by hand."),
    ),
    _EXITS,
)

COMPARE: Command = (
    "netcheck compare",
    "Compare two reports of netcheck.",
    ("OLD and NEW are files that ds-netcheck run wrote as JSON; without them, the last two of the history.",),
    (
        ("OLD", "maybe", (), "The earlier report."),
        ("NEW", "maybe", (), "The later one."),
    ),
    (_HISTORY, JSON, LANG),
    (("ds-netcheck compare monday.json friday.json", "See what became worse."),),
    (
        (0, "nothing became worse"),
        (1, "a figure became worse, or a flow is gone"),
        USAGE,
        (3, "a report cannot be read"),
    ),
)

HISTORY: Command = (
    "netcheck history",
    "List the reports that netcheck has kept.",
    (),
    (),
    (_HISTORY, JSON, LANG),
    (("ds-netcheck history", "See when the network was measured, and what was found."),),
    ((0, "listed"), USAGE, (3, "the folder cannot be read")),
)

NETCHECK: tuple[Command, ...] = (COMPARE, HISTORY, LAB, RUN, SERVE)
