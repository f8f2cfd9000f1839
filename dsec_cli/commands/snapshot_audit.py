"""`dsec snapshot audit`: open the audit log of a package that was sealed for this user."""

from __future__ import annotations

import os

from dsec_cli.cells import shown
from dsec_cli.exit import NO, YES, tell
from dsec_cli.report.output import emit
from dsec_cli.snapshot.package import age, auditlog, keys, reading
from dsec_cli.snapshot.package.crypto import UnsealError
from dsec_cli.snapshot.package.writing import AUDIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Print it, line by line."""
    with reading.opened(args.file) as package:
        sealed = package.part(AUDIT)
        reasons = dict(package.table.absent)
    if sealed is None:
        tell(f"dsec: {shown(args.file)} has no audit log: {shown(reasons.get(AUDIT, 'it was left out'))}")
        return NO
    try:
        log = age.opened(sealed, keys.own_identity(os.environ))
        auditlog.checked(log)
    except (UnsealError, auditlog.AuditError) as problem:
        tell(f"dsec: the audit log of {shown(args.file)} cannot be opened: {problem}")
        return NO
    emit(log.decode(), args.output)
    return YES
