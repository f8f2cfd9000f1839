"""`dsec plugin remove`: takes a plugin away."""

from __future__ import annotations

from dsec_cli.commands.plugin_checking import plugins_of
from dsec_cli.commands.plugin_merging import names_plugin
from dsec_cli.commands.sources import read_source
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import NO, YES
from dsec_cli.plugins.signing import installed
from dsec_cli.plugins.signing.contents import is_name
from dsec_cli.plugins.signing.locking import alone
from dsec_cli.report.output import emit, to_stderr
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Remove the plugin, and say whether the contract still names it."""
    path, root = plugins_of(args.contract)
    found = installed.one(root, args.name) if is_name(args.name) else None
    if found is None:
        tell = listener(args.lang)
        to_stderr(tell(say("dsec: {name} is not installed in {root}", name=args.name, root=root)) + "\n")
        return NO
    with alone(root):
        installed.remove(root, args.name)
    emit(f"{found.name} {found.version} is removed\n")
    if path and names_plugin(read_source(path), args.name):
        emit(f"{path} still names it: take it out of `plugins`, and its share out of the baseline\n")
    return YES
