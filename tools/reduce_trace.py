#!/usr/bin/env python3
"""Reduces PyTorch profiler traces to what 'assay trace' needs: about an eighth of their size.

Kept: the GPU events with their launch sizes and what they record about collectives, the calls that
launched them, the operators that made these calls (record_param_comms among them), the profiled
steps, ranks and devices. Times stay as they are; correlation numbers become small. All else is
left out, the host's names and environment too.

'assay trace' finds the same timelines, kernels, collectives and summaries of operators. Rooflines
need outer operators too (attention, normalisation): make them from the whole trace.

A folder is reduced with all folders below it: every rank<N>/trace.json[.gz] of a run or a sweep.
"""
import argparse
import gzip
import itertools
import json
import os
import pathlib
import re
import sys

GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
CALL_CATEGORIES = ("cuda_runtime", "cuda_driver")
COLLECTIVE_ARGS = (
    "Collective name", "dtype", "In msg nelems", "Out msg nelems", "In split size",
    "Out split size", "Group size", "Process Group Name", "Process Group Description",
    "Process Group Ranks", "Src Rank", "Dst Rank")
GPU_ARGS = ("device", "stream", "grid", "block", *COLLECTIVE_ARGS)
OPERATOR_ARGS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Rank",
                 *COLLECTIVE_ARGS)
DOCUMENT_MEMBERS = re.compile(
    "schemaVersion|deviceProperties|distributedInfo|displayTimeUnit|baseTimeNanoseconds|"
    "record_shapes|.*_version")


def category(event):
    return event.get("cat")


def args_of(event, names):
    args = event.get("args", {})
    return {name: args[name] for name in names if name in args}


def thread(event):
    return str(event.get("pid")), str(event.get("tid"))


class Reduction:
    """What is kept of one trace's events."""

    def __init__(self, events, with_operators=True):
        spans = [event for event in events if event.get("ph") == "X"]
        self.gpu = [event for event in spans if category(event) in GPU_CATEGORIES]
        calls = [event for event in spans if category(event) in CALL_CATEGORIES]
        self.link = link_name(calls)
        self.keys = {}
        keys_on_gpu = {self.link_of(event) for event in self.gpu} - {None}
        self.calls = [call for call in calls if self.link_of(call) in keys_on_gpu]
        self.steps = [event for event in spans if event["name"].startswith("ProfilerStep#")]
        operators = [event for event in spans if category(event) == "cpu_op"]
        self.operators = self.wanted(operators) if with_operators else []
        tracks = {thread(event) for event in self.kept_spans()}
        self.names = [event for event in events
                      if event.get("ph") == "M" and is_name_of(event, tracks)]

    def kept_spans(self):
        return itertools.chain(self.gpu, self.calls, self.operators, self.steps)

    def link_of(self, event):
        return event.get("args", {}).get(self.link)

    def wanted(self, operators):
        launching = {id(operator) for operator in launchers(operators, self.calls)}
        return [operator for operator in operators if id(operator) in launching]

    def small_link(self, event):
        """The event's link with a short number, in the order of first use."""
        key = self.link_of(event)
        if key is None:
            return {}
        return {self.link: self.keys.setdefault(key, len(self.keys) + 1)}

    def written(self):
        """The events as they are written: like ones together, which compresses best."""
        for event in self.names:
            yield {**head(event), "args": event.get("args", {})}
        for event in sorted(self.steps, key=start):
            yield span(event, {})
        for event in sorted(self.operators, key=likeness):
            yield span(event, args_of(event, OPERATOR_ARGS))
        for event in sorted(self.calls, key=start):
            yield span(event, self.small_link(event))
        for event in sorted(self.gpu, key=likeness):
            yield span(event, {**args_of(event, GPU_ARGS), **self.small_link(event)})


def link_name(calls):
    """What connects calls with GPU work; ROCm's older profilers record no correlation."""
    first = next((call for call in calls if "launch" in call["name"].lower()), None)
    args = first.get("args", {}) if first else {}
    return "External id" if "correlation" not in args and "External id" in args else "correlation"


def start(event):
    return float(event["ts"])


def launchers(operators, calls):
    """The innermost operator around each call; one named 'execute' stands for the one around it."""
    around = []
    last_thread = None
    by_start = sorted(operators + calls, key=lambda event: (thread(event), start(event)))
    for event in by_start:
        if thread(event) != last_thread:
            around, last_thread = [], thread(event)
        while around and start(event) >= start(around[-1]) + around[-1].get("dur", 0):
            around.pop()
        if category(event) == "cpu_op":
            around.append(event)
            continue
        for operator in reversed(around):
            yield operator
            if operator["name"] != "execute":
                break


def likeness(event):
    names = OPERATOR_ARGS if category(event) == "cpu_op" else GPU_ARGS
    return event["name"], json.dumps(args_of(event, names)), start(event)


def is_name_of(event, tracks):
    if event["name"] == "thread_name":
        return thread(event) in tracks
    return (event["name"] in ("process_name", "process_labels") and
            thread(event)[0] in {process for process, _ in tracks})


def head(event):
    return {name: event[name] for name in ("ph", "cat", "name", "pid", "tid") if name in event}


def span(event, args):
    result = {**head(event), "ts": event["ts"], "dur": event.get("dur", 0)}
    return {**result, "args": args} if args else result


def reduced(document, with_operators=True):
    """The text of the reduced trace."""
    def text(value):
        return json.dumps(value, separators=(",", ":"))

    kept = Reduction(document["traceEvents"], with_operators)
    members = [f"{text(name)}:{text(value)}" for name, value in document.items()
               if DOCUMENT_MEMBERS.fullmatch(name)]
    events = ",\n".join(text(event) for event in kept.written())
    members.append(f'"traceEvents":[\n{events}\n]')
    return "{" + ",\n".join(members) + "}\n"


def read(path):
    with path.open("rb") as file:
        content = file.read()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)


def write(path, text):
    """Without a name and a time in the header: the same trace gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    os.replace(partial, path)
    return path.stat().st_size


def traces_below(source):
    """(trace, where it goes below the output folder)"""
    if source.is_file():
        return [(source, pathlib.Path(source.name))]
    found = sorted(path for path in source.rglob("*.json*")
                   if path.parent.name.startswith("rank") and path.name.endswith((".json", ".gz")))
    return [(path, path.relative_to(source)) for path in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                     epilog=__doc__.split("\n", maxsplit=1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, help="a trace, or a folder of them")
    parser.add_argument("output", type=pathlib.Path, help="folder for the reduced traces (.gz)")
    parser.add_argument("--without-operators", action="store_true",
                        help="leave out operators: timelines and collectives stay")
    options = parser.parse_args()
    traces = traces_below(options.source)
    if not traces:
        parser.error(f"no rank*/*.json or .json.gz below '{options.source}'")
    sizes = []
    for source, place in traces:
        target = options.output / place.with_name(place.name.removesuffix(".gz") + ".gz")
        if target.resolve() == source.resolve():
            parser.error(f"'{source}' would be overwritten: choose another output folder")
        sizes.append(write(target, reduced(read(source), not options.without_operators)))
    print(f"{len(sizes)} traces, {sum(sizes) / 1e6:.2f} MB, the largest {max(sizes) / 1e3:.1f} kB",
          file=sys.stderr)


if __name__ == "__main__":
    main()
