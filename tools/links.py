#!/usr/bin/env python3
"""Checks the links of every Markdown file: each relative one names a file or folder of the source
tree, and each anchor a heading. Links to other hosts are not followed.

usage: links.py [FOLDER]       the source tree, if no other folder is named
exit status: 0 all links lead somewhere, 1 not, with a line for each that does not
"""
import pathlib
import re
import subprocess
import sys
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# [text](target), ![text](target "title"), [label]: target
INLINE = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?")
HTML = re.compile(r"<(?:img|a)\b[^>]*\b(?:src|href)=\"([^\"]+)\"")
FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
OTHER_HOST = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.IGNORECASE)


def prose(text):
    """(line number, line) outside code blocks."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not line.strip(" `~"):
                fence = None
        elif mark:
            fence = mark.group(1)
        else:
            yield number, line


def links(text):
    for number, line in prose(text):
        line = CODE.sub("", line) if "](`" not in line else line
        for pattern in (INLINE, REFERENCE, HTML):
            for target in pattern.findall(line):
                yield number, target


def anchors(text):
    """The names that GitHub gives to headings, and those that HTML gives."""
    found = set()
    for _, line in prose(text):
        found.update(re.findall(r"\b(?:id|name)=\"([^\"]+)\"", line))
        heading = re.match(r"^ {0,3}#{1,6}\s+(.*?)\s*#*$", line)
        if not heading:
            continue
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        while (unique := name if number == 0 else f"{name}-{number}") in found:
            number += 1
        found.add(unique)
    return found


def problem(file, target, root):
    """What is wrong with a link of a file, or nothing."""
    if OTHER_HOST.match(target):
        return None
    path, _, anchor = target.partition("#")
    path = urllib.parse.unquote(path)
    goal = file if not path else (root / path[1:] if path[0] == "/" else file.parent / path)
    if not goal.exists():
        return f"there is no {path}"
    if not goal.resolve().is_relative_to(root.resolve()):
        return f"{path} is outside the source tree"
    if anchor and goal.suffix == ".md" and anchor not in anchors(goal.read_text("utf-8")):
        return f"{path or file.name} has no heading #{anchor}"
    return None


def problems(files, root):
    for file in files:
        for number, target in links(file.read_text("utf-8")):
            wrong = problem(file, target, root)
            if wrong:
                yield f"{file.relative_to(root)}:{number}: {target}: {wrong}"


def markdown_files(root):
    """Those that git knows or would take; all, where there is no git."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z",
               "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        return sorted(root.rglob("*.md"))
    return [root / name for name in sorted(set(listed.stdout.split("\0"))) if (root / name).is_file()]


def main():
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SOURCE
    files = markdown_files(root)
    found = list(problems(files, root))
    print("\n".join([*found, f"{len(files)} files, {len(found)} broken links"]))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
