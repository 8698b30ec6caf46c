#!/usr/bin/env python3
"""Checks that names in unnamed namespaces differ between the files of a folder.

Compile units hold the files of one folder (cmake/units.cmake), how many depends on the build. So two
files that give one name to different things compile in one build and not in another.
usage: unit_names.py [SRC]      exit status 1 when a name stands twice
"""
import collections
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src"
# Aliases and functions may stand twice if they are the same alias, or overloads: these are told
# apart by their whole line.
DECLARATION = re.compile(
    r"(?:struct|class|enum class) (?P<type>\w+)\b(?!;)"
    r"|using (?P<alias>\w+) = (?P<meaning>.*)"
    r"|(?:constexpr|const) [^(=]*\b(?P<constant>k[A-Z]\w*)(?:\[\w*\])? ?[={]"
    r"|(?P<function>\w[\w:<>*&, ]* [*&]?\w+\([^)]*\)) \{")


def kind_of(path):
    """Tests, fuzz targets and sources are of different targets."""
    return next((kind for kind in ("_test", "_fuzz") if path.stem.endswith(kind)), "")


def unnamed_lines(path):
    """Line number and text of what stands directly in unnamed namespaces."""
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line == "namespace {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside:
            yield number, line


def names(path):
    """Line number, name and meaning of each declaration; the meaning is "" where none may repeat."""
    for number, line in unnamed_lines(path):
        if not (match := DECLARATION.match(line)):
            continue
        if match["alias"]:
            yield number, match["alias"], match["meaning"]
        elif match["function"]:
            yield number, match["function"], ""
        else:
            yield number, match["type"] or match["constant"], ""


def problems(src):
    """Names that stand twice, as 'file:line: …'."""
    first = collections.defaultdict(dict)
    for path in sorted(src.rglob("*.cc")):
        if path.name == "main.cc":
            continue
        unit = first[path.parent, kind_of(path)]
        for number, name, meaning in names(path):
            other, known = unit.setdefault(name, (path, meaning))
            if other != path and (meaning == "" or meaning != known):
                yield f"{path}:{number}: '{name}' stands in {other.name}, too"


def main():
    src = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCES
    count = len(list(src.rglob("*.cc")))
    found = list(problems(src))
    print("\n".join(found + [f"{count} files checked, {len(found)} names stand twice"]))
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
