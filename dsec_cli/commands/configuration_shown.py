"""`dsec lint --show-config`: each key with its value, and where that comes from."""

from __future__ import annotations

import json

from dsec_cli.commands.configuration_keys import KEYS, Ignored
from dsec_cli.commands.configuring import NOTHING
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import YES
from dsec_cli.report.output import emit
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.commands.configuration_keys import Key
    from dsec_cli.commands.configuring import Configuration, Configured
    from dsec_cli.options import Args


def show(args: Args, configuration: Configuration) -> int:
    """Print the keys as TOML; those that decide about single files are taken from the first one's folder."""
    here = configuration.here()
    nearest = configuration.of(args.paths[0]) if args.paths else here
    rows = [_row(key, args, here if key.run else nearest) for key in KEYS]
    width = max(len(left) for left, _ in rows)
    files = tuple(dict.fromkeys(one.file for one in (here, nearest) if one is not NOTHING))
    tell = listener(args.lang or here.text("lang"))
    lines = [
        f"# {tell(joined(' and ', files) or say('no configuration file'))}",
        *(f"{left:<{width}}  # {tell(origin)}" for left, origin in rows),
    ]
    emit("".join(line + "\n" for line in lines))
    return YES


def _row(key: Key, args: Args, configured: Configured) -> tuple[str, str]:
    given = _given(key, args)
    if given:
        return f"{key.name} = {_toml(given)}", say("command line")
    if key.name in configured.values:
        value = configured.values[key.name]
        return f"{key.name} = {_toml(value)}", configured.place(key.name).removesuffix(": ")
    if not key.default:
        return f"# {key.name}", say("not set")
    return f"{key.name} = {key.default}", say("default")


def _given(key: Key, args: Args) -> object:
    """What the command line says, as the key would."""
    if key.name == "output" and (args.format or args.output_file):
        first = f"{args.format or 'text'}:{args.output_file}" if args.output_file else args.format
        return (first, *args.output)
    return getattr(args, key.name.replace("-", "_"), None)


def _toml(value: object) -> str:
    if isinstance(value, Ignored):
        until = {"until": value.until} if value.until else {}
        members = {"files": value.files, "codes": value.codes, "reason": value.reason, **until}
        return "{" + ", ".join(f"{name} = {_toml(member)}" for name, member in members.items()) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
