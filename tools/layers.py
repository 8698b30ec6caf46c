#!/usr/bin/env python3
"""Checks the include arrows: core <- model <- {store, report, gpu} <- capabilities <- cli <- library.

Each file includes only its own folder and folders of lower levels, by the path from src/. Inside the
folders of ROOMS the same holds for their subfolders.
usage: layers.py [SRC]      exit status 1 when a rule is broken
"""
import pathlib
import re
import sys

LEVELS = [
    {"core"},
    {"model"},
    {"store", "report", "gpu"},
    {"collect", "allreduce", "goal", "simulate", "trace", "sweep", "plan", "recorder",
     "doctor"},
    {"cli"},
    {"library"},
]
LEVEL_OF = {folder: level for level, folders in enumerate(LEVELS) for folder in folders}
# The subfolders of large folders, in levels. Each file of such a folder lies in one of them.
ROOMS = {
    "store": [
        {"files"},
        {"database"},
        {"answers", "systems"},
        {"judging"},
    ],
    "collect": [
        {"kernels"},
        {"plan"},
        {"ops", "worker"},
        {"run", "cpu", "cuda", "library"},
    ],
}
ROOM_LEVELS = {folder: {room: level for level, rooms in enumerate(levels) for room in rooms}
               for folder, levels in ROOMS.items()}
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def includes(path):
    """Line number, opening bracket and target of each #include."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1], match[2]


def include_problem(src, folder, bracket, target):
    """What is wrong with one include of a file in `folder`; None when nothing is."""
    other = target.split("/")[0]
    if bracket == "<":
        return f"<{target}> is ours: use quotes" if (src / target).is_file() else None
    if not (src / target).is_file():
        return f'"{target}" is no path from src/'
    if other == folder or other not in LEVEL_OF or LEVEL_OF[other] < LEVEL_OF[folder]:
        return None
    return f'{folder}/ must not include "{target}"'


def room_of(name):
    """The subfolder of a path from src/ that ROOMS puts in order; "" when it lies in none."""
    return name.parts[1] if len(name.parts) > 2 else ""


def room_problem(name, target):
    """What is wrong with an include inside a folder of ROOMS; None when nothing is."""
    levels = ROOM_LEVELS[name.parts[0]]
    room = room_of(name)
    other = room_of(pathlib.PurePosixPath(target))
    if other == room or other not in levels or levels[other] < levels[room]:
        return None
    return f'{name.parts[0]}/{room}/ must not include "{target}"'


def problems(src):
    for path in sorted(p for p in src.rglob("*") if p.suffix in SUFFIXES):
        name = path.relative_to(src)
        folder = name.parts[0]
        if len(name.parts) == 1 or folder not in LEVEL_OF:
            yield f"{name}: in no known layer; give the folder a level in tools/layers.py"
            continue
        if folder in ROOMS and room_of(name) not in ROOM_LEVELS[folder]:
            yield f"{name}: in no known subfolder; give it a level in ROOMS of tools/layers.py"
            continue
        for number, bracket, target in includes(path):
            problem = include_problem(src, folder, bracket, target)
            if problem is None and folder in ROOMS and target.split("/")[0] == folder:
                problem = room_problem(name, target)
            if problem:
                yield f"{name}:{number}: {problem}"


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "src"
    src = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    found = list(problems(src))
    for problem in found:
        print(problem)
    checked = sum(1 for p in src.rglob("*") if p.suffix in SUFFIXES)
    print(f"{checked} files checked, {len(found)} wrong includes")
    return 1 if found or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
