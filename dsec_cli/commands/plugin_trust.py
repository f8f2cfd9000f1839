"""`dsec plugin trust`: whose plugins the user takes."""

from __future__ import annotations

import json
import os
import shlex
import sys

from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.plugins.signing import keyring
from dsec_cli.plugins.signing.locking import alone
from dsec_cli.plugins.signing.trust import Trusted, is_label
from dsec_cli.report.output import emit
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Add a key, take one away, or list them."""
    if args.remove is None and args.key is None:
        emit(_listed(keyring.trusted(os.environ), as_json=args.json))
        return YES
    with alone(keyring.folder(os.environ), mode=0o700):  # of two at once neither loses the other's
        keys = keyring.trusted(os.environ)
        return _add(args, keys) if args.remove is None else _remove(args.remove, keys)


def _add(args: Args, keys: tuple[Trusted, ...]) -> int:
    key = keyring.public_of(args.key)
    if args.name is None or not is_label(args.name):
        raise UsageError("--name says whose key it is", hint="letters, digits, . _ @ -: --name alice")
    same = next((one for one in keys if one.key == key and one.name != args.name), None)
    if same is not None:
        raise UsageError(
            say("this key is {name}'s already", name=same.name),
            hint=say("dsec plugin trust --remove {name}", name=shlex.quote(same.name)),
        )
    other = next((one for one in keys if one.name == args.name and one.key != key), None)
    if other is not None:
        raise UsageError(
            say("{name} is trusted with another key, {shown}", name=args.name, shown=other.key.shown),
            hint=say("if it was replaced on purpose: dsec plugin trust --remove {name}", name=args.name),
        )
    rest = tuple(one for one in keys if one.name != args.name)
    fresh = Trusted(args.name, key, tuple(args.plugins) or ("*",), tuple(args.permissions))
    keyring.keep_trusted(os.environ, (*rest, fresh))
    emit(_row(fresh) + "\n")
    return YES


def _remove(name: str, keys: tuple[Trusted, ...]) -> int:
    rest = tuple(one for one in keys if one.name != name)
    if len(rest) == len(keys):
        sys.stderr.write(f"dsec: nobody of the name {name} is trusted\n")
        return NO
    keyring.keep_trusted(os.environ, rest)
    emit(f"{name} is trusted no longer; what is installed stays\n")
    return YES


def _listed(keys: tuple[Trusted, ...], *, as_json: bool) -> str:
    if as_json:
        rows = [
            {"name": one.name, "key": one.key.text, "plugins": one.plugins, "permissions": one.permissions}
            for one in keys
        ]
        return json.dumps({"version": 1, "keys": rows}, indent=2) + "\n"
    return "\n".join(_row(one) for one in keys) + "\n" if keys else "nobody is trusted yet\n"


def _row(one: Trusted) -> str:
    permissions = ", ".join(one.permissions) or "all permissions"
    return f"{one.name}  {one.key.shown}  may sign {', '.join(one.plugins)} with {permissions}"
