"""Whether a package is signed, by whom, and whether this user trusts that key. Pure."""

from __future__ import annotations

from dsec.record import Record
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.snapshot.package.form import Signer
    from dsec_cli.snapshot.package.keys import Trusted

UNSIGNED, FORGED, YOURS, TRUSTED, UNKNOWN, CHANGED = (
    "unsigned",
    "forged",
    "yours",
    "trusted",
    "unknown",
    "changed",
)


class Standing(Record):
    """How a package stands."""

    verdict: str
    """`unsigned`, `forged`, `yours`, `trusted`, `unknown` (key) or `changed` (another key of that label)."""
    key: str
    label: str

    @property
    def good(self) -> bool:
        """Whether it may be taken in without a question."""
        return self.verdict in (YOURS, TRUSTED)


def judged(signer: Signer | None, *, right: bool, own: str, known: Trusted) -> Standing:
    """`right`: whether the signature is that of the signer's key; `own`: this user's key."""
    if signer is None:
        return Standing(UNSIGNED, "", "")
    if not right:
        return Standing(FORGED, signer.key, signer.label)
    if signer.key == own:
        return Standing(YOURS, signer.key, signer.label)
    if any(key == signer.key for _, key in known.keys):
        return Standing(TRUSTED, signer.key, signer.label)
    verdict = UNKNOWN if known.key_of(signer.label) is None else CHANGED
    return Standing(verdict, signer.key, signer.label)


def told(one: Standing, fingerprint: str) -> str:
    """In words."""
    match one.verdict:
        case "unsigned":
            return say("not signed")
        case "forged":
            return say("the signature is wrong: it was changed after {label} signed it", label=one.label)
        case "yours":
            return say("signed by you, key {key}", key=fingerprint)
        case "trusted":
            return say("signed by {label}, key {key}, which you trust", label=one.label, key=fingerprint)
        case "changed":
            return say(
                "signed as {label}, but the key {key} is not the one that you trust for that name",
                label=one.label,
                key=fingerprint,
            )
        case _:
            return say(
                "signed by {label}, key {key}, which you do not know yet", label=one.label, key=fingerprint
            )
