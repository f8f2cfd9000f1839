"""Reason codes: what each means, how grave it is, whether it blinds us, and what to do about it.

Codes are never reused for another meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from dsec_cli.plugins.result import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.facts import Facts


@dataclass(frozen=True, slots=True)
class Reason:
    """One code of the catalogue."""

    severity: str
    blind: bool
    what: str
    action: str


REASONS = {
    "nr-computed": Reason("warning", True, "the number of a system call is computed while it runs",
        "Have the plugin name its system calls, or account for this one in allow_unknown."),
    "nr-table": Reason("warning", True, "the number of a system call comes from a table that may change",
        "Make the table constant, or account for it in allow_unknown."),
    "syscall-escapes": Reason("warning", True, "the address of libc's syscall() is handed on",
        "Call it directly with a constant number."),
    "dlsym-computed": Reason("warning", True, "a function is looked up by a name that is no constant",
        "Look functions up by constant names, or link them."),
    "dlsym-unknown": Reason("warning", True, "a function is looked up that no library at hand provides",
        "Name the library that provides it, or account for it in allow_unknown."),
    "dlopen-computed": Reason("warning", True, "a library is loaded whose name is no constant",
        "Load libraries by constant names, or ship them in the package and link them."),
    "dlopen-unknown": Reason("warning", True, "a library is loaded that is not at hand here",
        "Scan on a file system that has it (--sysroot), or ship it in the package."),
    "gate-int80": Reason("error", True, "the 32-bit gate into the kernel is used, which has other numbers",
        "Remove it: no 64-bit plugin needs int 0x80, and filters by number do not hold there."),
    "gate-sysenter": Reason("error", True, "sysenter enters the kernel past the usual gate",
        "Remove it: no 64-bit plugin needs it."),
    "gate-x32": Reason("error", False, "a system call of the x32 table is made, which filters rarely cover",
        "Use the 64-bit numbers."),
    "overlap-bytes": Reason("error", True, "code jumps into the middle of an instruction, so that bytes mean two things",
        "Refuse the plugin: compilers do not write such code."),
    "computed-call": Reason("warning", True, "code goes to an address that it puts together",
        "Call functions by name, or through pointers that are loaded as they are."),
    "far-transfer": Reason("error", True, "code goes to another segment, where bytes mean other instructions",
        "Refuse the plugin: no 64-bit plugin needs it."),
    "context-switch": Reason("warning", True, "all registers are loaded from memory, so code goes on wherever that says",
        "Use threads; no plugin needs sigreturn, and setcontext only to switch stacks."),
    "signal-handler": Reason("warning", True, "a signal's handler is installed, which can have code go on anywhere",
        "Leave signals to the host, or account for it in allow_unknown."),
    "exec-data-hit": Reason("warning", True, "executable bytes that nothing leads to would enter the kernel",
        "Build with separate code (-z separate-code) and unwind tables, and remove what is never called."),
    "code-gen": Reason("error", True, "code is made while the plugin runs; what it does cannot be seen",
        "Ship compiled code, or account for it in allow_unknown."),
    "self-mem": Reason("error", True, "the plugin can write into memory past its protection",
        "Refuse the plugin unless it is a debugger."),
    "embedded-elf": Reason("error", True, "another ELF file is inside the plugin",
        "Ship it as a file of the package, so that it is scanned and signed."),
    "vdso-walk": Reason("error", True, "the plugin looks for code of the kernel's vDSO, where it could borrow a gate",
        "Call libc's functions instead."),
    "borrowed-code": Reason("error", True, "the plugin computes or reads inside the code of another library",
        "Call the library's functions by name."),
    "loader-walk": Reason("error", True, "the plugin walks the loader's own tables, where it can find any function",
        "Call functions by name, or look them up with dlsym and constant names."),
    "io-uring": Reason("error", True, "work is handed to the kernel through io_uring, which no filter by system call sees",
        "Use ordinary system calls; the sandbox refuses io_uring."),
    "exec-child": Reason("warning", True, "another program is run; what it does is not in this file",
        "Declare exec with the path, and scan that program, too."),
    "interpreter": Reason("warning", True, "code of an interpreter is run",
        "Scan the interpreter's code as well (dsec code), or account for it in allow_unknown."),
    "nss": Reason("warning", True, "libc loads a name service that is not at hand here",
        "Scan on the target's file system (--sysroot), or use `files dns` in nsswitch.conf."),
    "locale-gconv": Reason("info", False, "libc may load conversion modules for character sets",
        "They make no system calls of their own; keep their folder unwritable."),
    "packed": Reason("error", True, "the code looks packed or encrypted",
        "Refuse the plugin, or ask for one that is not."),
    "too-large": Reason("warning", True, "the file is larger than what is decoded instruction by instruction",
        "Read the numbers under coverage; split the library, or raise --exact-mb."),
    "needed-missing": Reason("warning", True, "a library that is needed is not at hand here",
        "Scan on the target's file system (--sysroot), or ship it in the package."),
    "host-symbols": Reason("info", False, "names are provided by the program that loads the plugin",
        "Load it only into a program that provides them."),
    "libc-unmapped": Reason("warning", True, "the C library could not be mapped; system calls are known by names only",
        "Name the target's glibc with --libc, or read the permissions only."),
    "no-disassembler": Reason("warning", True, "no disassembler is installed: only the tables of the file were read",
        "pip install 'dsec[scan]'"),
    "arch": Reason("warning", True, "code of this kind is not followed as a plugin's is",
        "Scan a build for x86-64 as well, and compare."),
    "malformed": Reason("error", True, "the file is not put together as a linker does it",
        "Refuse the plugin."),
    "root-like": Reason("error", False, "the plugin asks for what no plugin may do",
        "Remove it; the default policy refuses it whether it is declared or not."),
    "load-time": Reason("error", False, "the plugin acts when it is loaded, before anybody has called it",
        "Move it into a function that the host calls."),
    "constructor": Reason("warning", False, "code of the plugin runs when it is loaded",
        "Prefer a function that the host calls; inline mode refuses constructors."),
    "ifunc": Reason("warning", False, "functions are chosen by code that runs while the loader binds them",
        "Keep resolvers free of anything but CPU tests."),
    "undeclared": Reason("error", False, "the plugin uses a permission that it does not declare",
        "Declare it in plugin.yaml, or remove the use."),
    "target-unknown": Reason("info", False, "what a declared permission is used for is no constant",
        "Nothing: the sandbox refuses all that is not declared."),
    "use-unknown": Reason("info", False, "whether a permission is used cannot be told from the file",
        "Declare it where the plugin needs it: the sandbox refuses all that is not declared."),
    "ioctl-unknown": Reason("info", False, "a device is asked for something that is not known here",
        "Nothing: the sandbox lets through what only reads, and what the gpu permission is for."),
    "over-asked": Reason("warning", False, "a permission is declared that nothing in the plugin uses",
        "Remove it from plugin.yaml."),
    "service-unproved": Reason("info", False, "a service permission cannot be proved from a binary",
        "The sandbox enforces it at the endpoint."),
    "bad-permission": Reason("error", False, "a declared permission is not one that exists",
        "Write verb:resource or verb:resource=target; see the list in the documentation."),
    "exec-stack": Reason("error", False, "the stack is to be executable",
        "Link with -z noexecstack; assembly files need a .note.GNU-stack section."),
    "text-relocation": Reason("error", False, "the loader must write into the code",
        "Compile with -fPIC."),
    "writable-code": Reason("error", True, "a segment is writable and executable at once",
        "Link without -N/--omagic and without RWX linker scripts."),
    "runpath": Reason("error", False, "libraries are searched where others may put them",
        "Use $ORIGIN and folders below it only."),
    "runpath-origin": Reason("info", False, "libraries are searched beside the plugin",
        "Keep the package's folder unwritable; its libraries are scanned with it."),
    "needed-path": Reason("error", False, "a needed library is named by a path",
        "Link by soname."),
    "needed-other": Reason("warning", False, "a library outside of the package and of libc's own is needed",
        "Ship it in the package, or see that every target has it."),
    "interposition": Reason("error", False, "the plugin exports names of libc, so that others may call it instead",
        "Hide them: -fvisibility=hidden, or a version script."),
    "global-scope": Reason("error", False, "the plugin asks to come before other libraries in the search for names",
        "Link without -z interpose and -z global."),
    "audit": Reason("error", False, "the plugin has the loader load an auditor or stand-in for a library",
        "Link without --audit, --depaudit, -F and -f."),
    "no-relro": Reason("warning", False, "tables of function addresses stay writable",
        "Link with -z relro -z now."),
    "mixed-segment": Reason("warning", False, "constant data can be executed: code and data share a segment",
        "Link with -z separate-code."),
    "no-build-id": Reason("info", False, "the file has no build id",
        "Link with --build-id."),
    "no-unwind": Reason("info", False, "there is no unwind data: functions were found by following calls",
        "Compile with -fasynchronous-unwind-tables."),
    "hardening": Reason("info", False, "what the compiler's protections cover",
        "Compile with -fstack-protector-strong -D_FORTIFY_SOURCE=3."),
}  # fmt: skip


def finding(
    code: str,
    detail: str,
    facts: Facts,
    *,
    unit: int = 0,
    node: int | str | None = None,
    ip: int = 0,
    severity: str = "",
    blind: bool | None = None,
) -> Finding:
    """A finding of a code of the catalogue, with what is special about this one and where it is."""
    reason = REASONS[code]
    where = ip or (node if isinstance(node, int) else None)
    return Finding(
        code,
        severity or reason.severity,
        f"{reason.what}: {detail}" if detail else reason.what,
        reason.action,
        reason.blind if blind is None else blind,
        facts.tier(unit, node) if node is not None else "",
        facts.file(unit),
        where,
        facts.way(unit, node, ip) if node is not None else (),
    )
