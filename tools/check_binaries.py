#!/usr/bin/env python3
"""Checks an installation: how its programs and libraries were compiled, and that no file of it names
a folder of the machine that built it.

Every program and library must be position independent, have a read-only symbol table that is bound
before main (RELRO and BIND_NOW), a stack that is no code, a stack protector, and libc's checked
functions where the compiler could use them (_FORTIFY_SOURCE); its run path must be relative to
itself. The C libraries must have a SONAME with a version.

usage: check_binaries.py TREE BUILD_FOLDER...
exit status: 0 all is well, 1 not, with a line for each problem
"""
import pathlib
import re
import subprocess
import sys

C_LIBRARIES = re.compile(r"libassay(_measure|_allreduce)?\.so")
# Functions of libc that have a checked counterpart, __NAME_chk.
# Their own code calls no function that has a checked form: the calls that show are those of the C++
# library that is linked into the one, and those of its headers in the other.
NOTHING_TO_CHECK = {"libassay_mpi.so", "libassay_allreduce_torch.so"}
FORTIFIABLE = {"fread", "memcpy", "memmove", "memset", "pread", "pread64", "printf", "fprintf",
               "read", "snprintf", "sprintf", "strcat", "strcpy", "strncat", "strncpy", "vfprintf",
               "vprintf", "vsnprintf"}


def elf_files(tree):
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def readelf(path):
    return subprocess.run(["readelf", "--wide", "--file-header", "--segments", "--dynamic",
                           "--dyn-syms", str(path)], check=True, capture_output=True,
                          text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def dynamic(text, tag):
    """The values of a tag of the dynamic section."""
    return re.findall(rf"^ 0x[0-9a-f]+ \({tag}\) +(.*)$", text, re.MULTILINE)


def undefined_symbols(text):
    return {name.partition("@")[0]
            for name in re.findall(r" UND (\S+)", text)}


def run_path_problems(text):
    for value in dynamic(text, "RPATH") + dynamic(text, "RUNPATH"):
        for part in re.search(r"\[(.*)\]", value).group(1).split(":"):
            if not part.startswith("$ORIGIN"):
                yield f"looks for libraries in '{part}', which is not relative to itself"


def hardening_problems(path, text):
    symbols = undefined_symbols(text)
    flags = " ".join(dynamic(text, "FLAGS") + dynamic(text, "FLAGS_1"))
    if not re.search(r"^ +Type: +DYN", text, re.MULTILINE):
        yield "is not position independent"
    if "GNU_RELRO" not in text:
        yield "has no RELRO segment"
    if not re.search(r"\b(BIND_)?NOW\b", flags):
        yield "does not bind its symbols before it runs (no BIND_NOW)"
    if dynamic(text, "TEXTREL") or "TEXTREL" in flags:
        yield "changes its own code when it is loaded (TEXTREL)"
    stack = re.search(r"^ +GNU_STACK .* (R[W ][E ]) ", text, re.MULTILINE)
    if not stack or "E" in stack.group(1):
        yield "has an executable stack"
    if "__stack_chk_fail" not in symbols:
        yield "has no stack protector"
    checked = {name for name in symbols if re.fullmatch(r"__(?!stack_)\w+_chk", name)}
    if not checked and symbols & FORTIFIABLE and path.name not in NOTHING_TO_CHECK:
        yield "uses only unchecked functions of libc (no _FORTIFY_SOURCE)"


def soname_problems(path, text):
    sonames = re.findall(r"\[(.*)\]", " ".join(dynamic(text, "SONAME")))
    if C_LIBRARIES.match(path.name):
        if len(sonames) != 1 or not re.fullmatch(r".*\.so\.\d+", sonames[0]):
            yield "has no SONAME with a version"
        elif not (path.parent / sonames[0]).exists():
            yield f"is not installed under its SONAME, {sonames[0]}"


def build_path_problems(path, folders):
    content = path.read_bytes()
    for folder in folders:
        # Not "/src" within "/usr/src".
        if re.search(rb"(?<![\w.-])" + re.escape(folder.encode()) + rb"(?![\w.-])", content):
            yield f"names the build's folder {folder}"


def problems(tree, build_folders):
    found = []
    for path in elf_files(tree):
        text = readelf(path)
        for problem in (*hardening_problems(path, text), *run_path_problems(text),
                        *soname_problems(path, text)):
            found.append(f"{path.relative_to(tree)}: {problem}")
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink():
            found += [f"{path.relative_to(tree)}: {problem}"
                      for problem in build_path_problems(path, build_folders)]
    return found


def main():
    tree = pathlib.Path(sys.argv[1])
    if not any(elf_files(tree)):
        sys.exit(f"{tree} holds no program")
    found = problems(tree, sys.argv[2:])
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
