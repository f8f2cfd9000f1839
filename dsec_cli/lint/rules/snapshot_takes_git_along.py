"""`include-code` does not leave out `.git`.

Why: A snapshot takes the whole folder. One project of 50 MB made snapshots of 2.3 GB, of which 2.1
GB were the history in `.git/objects`.

Bad (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    include-code:
      exclude_patterns: ["__pycache__/**", "*.log"]

Good (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    include-code:
      exclude_patterns: [".git/**", "__pycache__/**", "*.log"]

Source: seed B section 4.3 (2.3 GB for 50 MB of code, because `.git` was not excluded).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "include-code"
PATTERN = ".git/**"
COVERS = frozenset(
    (".git", ".git/**", ".git/*", "**/.git", "**/.git/**", "**/.git/*", ".*", ".*/**", "**/.*", "**/.*/**")
)


def check(facts: Facts) -> Iterator[Finding]:
    """Patterns of which none covers the repository's own folder."""
    patterns = facts.contract.exclude_patterns
    if patterns is None or any(one.removeprefix("./").rstrip("/") in COVERS for one in patterns):
        return
    listed = facts.states((KEY, "exclude_patterns"))
    if not listed and not facts.lacks((KEY, "exclude_patterns")):
        return
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(KEY, "exclude_patterns") if listed else (KEY,),
        part="key",
        message=say("no pattern leaves out .git, so every snapshot takes the history along", "git"),
        reason=say("history is most of a repository: 2.1 of 2.3 GB in one team's snapshots"),
        help=say('add ".git/**" to exclude_patterns'),
    )
    if not listed:
        yield found
        return
    from dsec_cli.lint.edits import appended  # only a finding pays for them
    from dsec_cli.lint.mend import with_fix

    title = say("add {item} to {key}", item=PATTERN, key="exclude_patterns")
    yield with_fix(found, title, appended(facts, (KEY, "exclude_patterns"), PATTERN), safe=True)


RULE = Rule("DS404", "snapshot-takes-git-along", Severity.WARNING, check, when=("include-code",))
