"""`dsec snapshot keys`: this user's keys, and those that are trusted."""

from __future__ import annotations

import json
import os

from dsec_cli.cells import shown
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import YES
from dsec_cli.report.output import emit
from dsec_cli.snapshot.package import age, keys
from dsec_cli.snapshot.package.crypto import NoSealingError, agreement_key
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args

FORMAT = "dsec.snapshot-keys/1"


def main(args: Args) -> int:
    """Print the public halves; keys that are not there yet are made."""
    own = keys.public_key(keys.signing_seed(os.environ))
    try:
        recipient: str | None = age.recipient(agreement_key(keys.own_identity(os.environ)))
        why = ""
    except NoSealingError as problem:
        recipient, why = None, problem.what
    known = keys.trusted(os.environ)
    if args.json:
        document = {
            "format": FORMAT,
            "label": keys.label(os.environ),
            "key": own,
            "recipient": recipient,
            "trusted": [{"label": whose, "key": key} for whose, key in known.keys],
        }
        emit(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return YES
    lines: list[str] = [
        say("you sign as {label}, key {key}", label=shown(keys.label(os.environ)), key=keys.fingerprint(own))
    ]
    lines.append(f"  {own}")
    lines.append(
        say("for you is sealed with --recipient {key}", key=recipient)
        if recipient is not None
        else say("nothing can be sealed: {why}", why=why)
    )
    for whose, key in known.keys:
        lines.append(say("trusted: {label}, key {key}", label=shown(whose), key=keys.fingerprint(key)))
    if not known.keys:
        lines.append(say("nobody else is trusted yet"))
    tell = listener(args.lang)
    emit("".join(f"{tell(line)}\n" for line in lines))
    return YES
