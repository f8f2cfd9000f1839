"""`dsec plugin keygen`: a key to sign plugins with."""

from __future__ import annotations

import getpass
import os
import sys

from dsec_cli.exit import YES, UsageError
from dsec_cli.plugins.signing import keyring
from dsec_cli.plugins.signing.minisign import new_key
from dsec_cli.report.output import emit
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args

PASSWORD = "DSEC_PLUGIN_PASSWORD"  # noqa: S105 - where one is read from


def main(args: Args) -> int:
    """Write both halves of a new key."""
    path = args.output or keyring.secret_path(os.environ)
    password = new_password() if args.password else ""
    secret = new_key(os.urandom(40))
    public = keyring.write_pair(path, secret, password=password, salt=os.urandom(32))
    emit(
        f"secret key: {path}\npublic key: {public}\n  {secret.public.text}\n"
        f"others trust it with: dsec plugin trust {secret.public.text} --name YOU\n"
    )
    return YES


def new_password() -> str:
    """A password that is to be used from now on."""
    given = os.environ.get(PASSWORD)
    if given:
        return given
    first = asked("Password of the new key: ")
    if first != asked("Once more: "):
        raise UsageError("the two passwords differ")
    return first


def asked(text: str) -> str:
    """A password from the terminal, or from the environment."""
    given = os.environ.get(PASSWORD)
    if given is not None:
        return given
    if not sys.stdin.isatty():
        raise UsageError(
            "the key needs a password, and there is no terminal to ask at",
            hint=say("set {password}", password=PASSWORD),
        )
    return getpass.getpass(text)
