#!/usr/bin/env python3
"""Makes a measured store one that ships inside assay: systems/NAME.db.zst, systems/NAME.yaml, and
NAME's part of systems/README.md.

The store is checked first; a copy of it is shipped, packed, without what tells one machine from
another: host name, serial numbers of GPUs, folders, the build of the kernel. The same store and
the same zstd give the same bytes.

usage: ASSAY=PROGRAM ship_system.py STORE NAME [--cite FILE] [--systems DIR]
  --cite FILE    what neither rows nor data sheets tell of the system: assay store system --help
  --systems DIR  another folder than systems/, which has a README.md
needs: zstd
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

SYSTEMS = pathlib.Path(__file__).resolve().parent.parent / "systems"
OF_ONE_MACHINE = ("host", "GPU uuids")
MOST_FILTERS = 4
# "/tmp/" of "/tmp/perf", but nothing of "GB/s".
FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/\"']+/)+")
SHOWN_FACTS = (
    "GPUs", "driver", "CUDA driver", "device CUDA runtime", "device cuBLASLt", "device cuDNN",
    "device NCCL", "GPU SM clock limit", "GPU memory clock limit", "--lock-clocks",
    "GPU power limit", "GPU ECC", "GPU MIG mode", "GPU persistence mode", "kernel",
    "setting --grid", "setting --certainty", "setting --launch", "setting --l2",
    "setting --measure-power", "setting --seed")


def assay(*words):
    done = subprocess.run([os.environ["ASSAY"], "store", *map(str, words)], check=False)
    if done.returncode != 0:
        sys.exit(f"ship_system.py: assay store {words[0]} ended with {done.returncode}")


def shipped_facts(text):
    facts = {name: FOLDERS.sub("", value) for name, value in json.loads(text).items()
             if name not in OF_ONE_MACHINE}
    if "kernel" in facts:
        facts["kernel"] = re.match(r"[\d.]*", facts["kernel"]).group()
    return json.dumps(facts, separators=(",", ":"))


def copy_to_ship(store, copy):
    with contextlib.closing(sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as database:
        # A store that is opened in memory can have no log beside it.
        database.execute("PRAGMA journal_mode = DELETE")
        database.create_function("shipped_facts", 1, shipped_facts)
        database.create_function("without_folders", 1, lambda text: text and FOLDERS.sub("", text))
        database.execute("UPDATE run SET facts = shipped_facts(facts)")
        database.execute("UPDATE case_record SET reason = without_folders(reason), "
                         "detail = without_folders(detail)")
        # What was overwritten is in no free page.
        database.execute("VACUUM")
        damage = database.execute("PRAGMA integrity_check").fetchone()[0]
        if damage != "ok":
            sys.exit(f"ship_system.py: {store}: {damage}")


def shown(command):
    """The command without its filters, where they are many: the store has them all."""
    head, *filters = command.split(" --case-filter ")
    if len(filters) <= MOST_FILTERS:
        return command
    rest = filters[-1].partition(" --")[2]
    return f"{head} --case-filter … ({len(filters)} of them) --{rest}"


def runs_text(database):
    lines = ["| run | from | to (UTC) | cases measured | skipped | failed | rows here | command |",
             "|---|---|---|---|---|---|---|---|"]
    query = """SELECT kind, started_at, last_at, total(outcome = 'measured'),
                      total(outcome = 'skipped'), total(outcome = 'failed'),
                      (SELECT count(*) FROM measurement WHERE measurement.run = run.id), facts
               FROM run LEFT JOIN case_record ON case_record.run = run.id GROUP BY run.id"""
    for kind, start, end, measured, skipped, failed, rows, facts in database.execute(query):
        command = json.loads(facts).get("command line", "")
        lines.append(f"| {kind} | {start} | {end} | {measured:.0f} | {skipped:.0f} | {failed:.0f} | {rows} "
                     f"| `{shown(command)}` |")
    return lines


def facts_text(database):
    runs = [json.loads(facts) for facts, in database.execute("SELECT facts FROM run ORDER BY id")]
    lines = ["| fact | value |", "|---|---|"]
    for name in SHOWN_FACTS:
        values = list(dict.fromkeys(run[name] or "none" for run in runs if name in run))
        label = name.removeprefix("device ").removeprefix("setting ")
        if values:
            lines.append(f"| {label} | {'; '.join(values)} |")
    return lines


def tables_text(database):
    lines = ["| table | rows |", "|---|---|"]
    views = database.execute("SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name")
    for name, in views.fetchall():
        count = database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        lines.append(f"| `{name}` | {count} |")
    return lines


def provenance(name, store, packed):
    with contextlib.closing(sqlite3.connect(store)) as database:
        devices = [row[0] for row in database.execute("SELECT DISTINCT device FROM source")]
        makers = {json.loads(facts).get("made by", "")
                  for facts, in database.execute("SELECT facts FROM run")} - {""}
        title = f"## {name}: {', '.join(sorted(devices))}, by {', '.join(sorted(makers))}"
        size = f"{store.stat().st_size / 1e6:.1f} MB, {packed.stat().st_size / 1e6:.1f} MB packed."
        parts = [[title], [size], runs_text(database), facts_text(database), tables_text(database)]
    return "\n\n".join("\n".join(part) for part in parts)


def update_readme(readme, name, text):
    begin, end = f"<!-- {name}, by tools/ship_system.py -->", f"<!-- end of {name} -->"
    old = readme.read_text(encoding="utf-8")
    before, found, rest = old.partition(begin)
    after = rest.partition(end)[2] if found else "\n"
    if not found:
        before = old.rstrip("\n") + "\n\n"
    readme.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=pathlib.Path, metavar="STORE")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--cite", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--systems", type=pathlib.Path, metavar="DIR", default=SYSTEMS)
    arguments = parser.parse_args()
    if not os.environ.get("ASSAY"):
        sys.exit("ship_system.py: set ASSAY to the program")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", arguments.name):
        sys.exit("ship_system.py: NAME is of lower-case letters, digits and '_': h200_sxm")
    if not arguments.store.is_file():
        sys.exit(f"ship_system.py: {arguments.store}: no such store")
    cite = ["--cite", arguments.cite] if arguments.cite else []
    with tempfile.TemporaryDirectory(prefix="assay-ship-") as folder:
        copy = pathlib.Path(folder) / f"{arguments.name}.db"
        yaml = copy.with_suffix(".yaml")
        packed = pathlib.Path(f"{copy}.zst")
        copy_to_ship(arguments.store, copy)
        assay("system", "--store", copy, "--name", arguments.name, "-o", yaml, *cite)
        assay("check", "--store", copy, "--system", yaml, "--quiet")
        subprocess.run(["zstd", "--quiet", "-19", "--no-progress", copy, "-o", packed], check=True)
        text = provenance(arguments.name, copy, packed)
        for made in (yaml, packed):
            (arguments.systems / made.name).write_bytes(made.read_bytes())
        print(f"{arguments.systems / packed.name}: {packed.stat().st_size / 1e6:.2f} MB")
    update_readme(arguments.systems / "README.md", arguments.name, text)


if __name__ == "__main__":
    main()
