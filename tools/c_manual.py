#!/usr/bin/env python3
"""Prints docs/c.md: the page of libassay's headers, made of their own comments and of the example that is compiled and run by a test (tests/library/header_test.py).

usage: tools/c_manual.py > docs/c.md
"""
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parent.parent
HEADER = SOURCE / "include/assay/assay.h"
FIGURES = SOURCE / "include/assay/figures.h"
EXAMPLE = SOURCE / "examples/c/ask.c"

OPENING = """# The C interface

Made by `tools/c_manual.py` of [assay/assay.h](../include/assay/assay.h) and
[assay/figures.h](../include/assay/figures.h).

"""
BUILD = """## An example

[examples/c/ask.c](../examples/c/ask.c) is complete:

```c
{program}```

    cc -std=c99 ask.c -o ask $(pkg-config --cflags --libs assay)

With CMake it is `find_package(assay)` and `target_link_libraries(ask assay::assay)`. Structures carry
their size, so that programs built with an older header go on working; the number in the SONAME goes up
when an interface changes.

"""
# What the page has no use for: Arrow's structures, and what the header is to C++.
LEFT_OUT = re.compile(r"#if defined\(__GNUC__\)\n.*?\n#endif\n|(?:/\* The structures of https.*?\*/\n)?#ifndef ARROW_C_\w+\n.*?\n#endif\n"
                      r"|#ifdef __cplusplus\n.*?\n#endif\n", re.DOTALL)
# A comment, a line of the preprocessor, or a declaration with what its braces hold.
PIECE = re.compile(r"/\*(?P<comment>.*?)\*/|^#[^\n]*|(?P<code>^[a-z][^;{]*(?:\{.*?^\}[^;]*)?;)",
                   re.DOTALL | re.MULTILINE)
SECTION = re.compile(r"^ ---- (.*) ---- $")
NAME = re.compile(r"\b(assay_\w+)(?=\(|;$)")


def escaped(line):
    """Text for Markdown, in which a pointer's star is no emphasis."""
    parts = line.split("`")
    return "`".join(part if i % 2 else part.replace("*", "\\*") for i, part in enumerate(parts))


def prose(comment):
    """A comment as paragraphs; its indented lines are code."""
    lines = [re.sub(r"^ ?\* ?", "", line).rstrip() for line in comment.strip("\n").splitlines()]
    made = []
    in_code = False
    for line in lines:
        is_code = line.startswith("  ")
        if made and made[-1] and is_code != in_code and (is_code or line):
            made.append("")
        in_code = is_code or (in_code and not line)
        made.append("  " + line if is_code else escaped(line.strip()))
    return "\n".join(made).strip("\n")


def declared(code):
    """The name of what a declaration declares."""
    return NAME.findall(code)[0 if "{" not in code else -1]


def top_and_body(header):
    """The comment at the top of a header, and what is below it."""
    text = header.read_text()
    top = PIECE.match(text)
    return prose(top["comment"]) + "\n\n", LEFT_OUT.sub("", text[top.end():])


def page():
    top, rest = top_and_body(HEADER)
    figures_top, figures = top_and_body(FIGURES)
    return "".join([OPENING, top, BUILD.format(program=EXAMPLE.read_text()), "## Status and errors\n\n",
                    described(rest), "## Figures\n\n", figures_top, described(figures)]).rstrip() + "\n"


def described(rest):
    """Sections, comments and declarations of a header."""
    parts = []
    pending = ""
    for piece in PIECE.finditer(rest):
        if piece["comment"] is not None:
            if section := SECTION.match(piece["comment"]):
                parts.append(f"## {section[1]}\n\n")
            elif rest[piece.end():].startswith("\n\n"):
                parts.append(prose(piece["comment"]) + "\n\n")
            else:
                pending = prose(piece["comment"]) + "\n\n"
        elif piece["code"] is not None:
            code = piece["code"]
            is_opaque = code.startswith("typedef struct") and "{" not in code
            if not is_opaque:
                parts.append(f"### {declared(code)}\n\n```c\n{code}\n```\n\n{pending}")
            pending = ""
    return "".join(parts)


if __name__ == "__main__":
    print(page(), end="")
