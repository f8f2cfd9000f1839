"""What in a raw text may be worth a closer look: nearly every text is told to be harmless by this alone.

Every answer errs towards yes: a rule that is asked in vain finds nothing, one that is not asked never does.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Comment

SECRETS = (
    *("key", "token", "secret", "pass", "pwd", "cred", "auth", "curl", "\\", "@", "-----begin "),
    *("sk-", "_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "_pat_", "glpat-", "hf_", "nvapi-"),
    *("akia", "asia", "aiza", "xox", "npm_", "pypi-", "eyj"),
    *(
        ":aa",
        "abia",
        "acca",
        "accountkey",
        "aio_",
        "akcp",
        "akid",
        "aklt",
        "api_org_",
        "atatt3",
        "atbb",
        "bkaj_",
        "bkua_",
    ),
    *("atctt3", "bearer", "cfpat-", "cio", "clojars_", "cmvmd", "cookie", "dapi", "dckr_oat_", "doo_v1_"),
    *(
        "dop_v1_",
        "dor_v1_",
        "dtn_",
        "duffel_test_",
        "e2b_",
        "eaaal",
        "fc-",
        "figd_",
        "flwseck_test-",
        "fm1r_",
    ),
    *("fm2_", "fo1_", "fw_", "glagent-", "glc_", "glcbt-", "gldt-", "glffct-", "glft-", "glimt-"),
    *("gloas-", "glptt-", "glrt-", "glsa_", "glsoat-", "gocspx-", "gr1348941", "hrku-aa", "jina_", "jwt"),
    *("lin_api_", "lsv2_pt_", "ltai", "nfp_", "nrak-", "nrii-", "nrjs-", "ntn_", "phx_", "pmak-", "pnb_"),
    *("pnu_", "pplx-", "pscale_pw_", "pscale_tkn_", "pul-", "r8_", "rdme_", "rk_prod_", "rk_test_"),
    *("rpa_", "rubygems_", "sbp_", "sgp_", "shippo_test_", "shpat_", "shpca_", "shppa_", "shpss_", "sk"),
    *("sntrys_", "sntryu_", "sq0atp-", "sq0csp-", "telegram", "tgp_v1_", "tk-us-", "tvly-", "wandb_v1_"),
    *("webhook", "hooks.slack", "whsec_", "xai-", "xapp-"),
)
"""In small letters: parts of every name of a secret and every token, and ways to hide either from us."""
_WORDS = (b"yes", b"no", b"on", b"off")
_NUMBERS = (
    *(b" 00", b" 01", b" 0o", b" 0b", b" +0", b" -0"),
    *(b"0_", b"1_", b"0:0", b"0:1", b"1:0", b"1:1"),
)
"""Beginnings and parts of numbers that YAML 1.1 and 1.2 read differently, in letters as below."""
_LETTERS = bytes(
    ord(" ")
    if byte <= ord(" ") or byte > 126 or byte in b",[]{}"
    else ord("1")
    if byte in b"123456789"
    else byte + 32
    if byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    else byte
    for byte in range(256)
)
"""All that may stand between two words as a blank, every digit but 0 as 1, capitals as small letters."""


ODD = "DS005"
"""The code of the rule for characters that are not what they look like."""
_QUOTES = "\u201c\u201d\u201e\u2018\u2019\u201a\uff02\uff07"


def has_odd_quotes(text: str) -> bool:
    """Whether quotes that are none to YAML stand in the text."""
    return not text.isascii() and any(quote in text for quote in _QUOTES)


def holds_secrets(text: str) -> bool:
    """Whether a clear-text secret may stand in the text."""
    low = text.lower()
    return any(sign in low for sign in SECRETS)


def has_two_readings(text: str, comments: Iterable[Comment]) -> bool:
    """Whether a scalar may stand outside the comments that YAML 1.1 and 1.2 read differently."""
    plain = _plain(text)
    if any(sign in plain for sign in _NUMBERS):
        return True
    if not any(b" %b " % word in plain for word in _WORDS):
        return False
    words = plain.split()
    spoken = _plain("\n".join([comment.text for comment in comments])).split()
    return any(words.count(word) != spoken.count(word) for word in _WORDS)


def _plain(text: str) -> bytes:
    return b" %b " % text.encode("utf-8", "surrogatepass").translate(_LETTERS)


def is_untidy(text: SourceText) -> bool:
    """Whether the bytes may be untidy: a mark in front, carriage returns, no end of the last line."""
    return text.data[:1] == b"\xef" or "\r" in text.text or text.text[-1:] != "\n"
