#!/usr/bin/env python3
"""Compares `assay simulate --network` with the packet simulator htsim on leaf-spine networks.

usage: [ASSAY=PROGRAM] compare_htsim.py [--htsim PROGRAM] [--quick] [--work FOLDER]
PROGRAM is the htsim_uec of spcl/HTSIM, which reads GOAL schedules (the one on PATH unless another is
given). exit status: 0 within the bounds, 1 not, 77 there is no such program.

Both run the same schedules on the same network: 200 Gbit/s, 500 ns a link, packets of 4,096 bytes
with headers of 64, every message spread over all spines. A row is a schedule: all-to-all, a ring
whose neighbours are at different leaves, a binomial tree, several senders to one rank, a permutation
between leaves, and messages between random ranks. htsim ends a receive when the last acknowledgement
is back, so that assay's links have 1,000 ns. The error is assay's time of the last rank beside htsim's.

htsim runs twice: with a fixed window and queues that lose nothing, which is how packets share links,
and with its default congestion control (NSCC) and queues of one bandwidth-delay product, which adds
what a transport loses; assay models none. The first is judged, for messages from ten times the
bandwidth-delay product on: their error must be at most 10 % in the median and 20 % for every
schedule, and assay must take at most a hundredth of htsim's CPU time over all of them. What programs
take to start and read counts for both. The all-to-all in pairs is shown only: its ranks keep in step as
long as they are exactly equal, and collide when they are not (docs/goal.md).
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HEAD = ("schedule", "ranks", "oversubscription", "bytes", "judged", "htsim us", "assay us", "error %",
        "htsim CPU s", "assay CPU s", "with NSCC us", "error with NSCC %")
RATE = 25  # bytes per ns
LINK_NS = 500
PAYLOAD, HEADER = 4096, 64
# There and back over four links, with the packets that switches store.
BDP = RATE * (8 * LINK_NS + 4 * (PAYLOAD + HEADER) / RATE)
MEDIAN, WORST, CPU_SHARE = 10, 20, 1 / 100
SKIPPED = 77


class Schedule:
    """The operations of each rank as lines of GOAL. A rank's sends follow each other, because nothing
    defines the order of those that could start at the same time: the next one starts when the last one
    has ended, or, with `at_once`, when it has started and the NIC lets it."""

    def __init__(self, ranks, at_once=False):
        self.lines = [[] for _ in range(ranks)]
        self.last_send = [None] * ranks
        self.follows = "irequires" if at_once else "requires"
        self.messages = 0

    def message(self, source, target, size, after_send=(), after_receive=()):
        """Returns the labels of the send and of its receive."""
        tag = self.messages
        self.messages += 1
        send, receive = f"s{tag}", f"r{tag}"
        self.lines[source].append(f"{send}: send {size}b to {target} tag {tag} cpu 0 nic 0")
        self.lines[source] += [f"{send} requires {before}" for before in after_send]
        if self.last_send[source]:
            self.lines[source].append(f"{send} {self.follows} {self.last_send[source]}")
        self.last_send[source] = send
        self.lines[target].append(f"{receive}: recv {size}b from {source} tag {tag} cpu 0 nic 0")
        self.lines[target] += [f"{receive} requires {before}" for before in after_receive]
        return send, receive

    def text(self):
        parts = [f"num_ranks {len(self.lines)}"]
        for rank, lines in enumerate(self.lines):
            parts += [f"rank {rank} {{", *(lines or ["idle: calc 1"]), "}"]
        return "\n".join(parts) + "\n"


def all_to_all(ranks, size):
    """Each rank sends to the next, to the one after it and so on, as fast as its NIC lets it."""
    schedule = Schedule(ranks, at_once=True)
    for step in range(1, ranks):
        for rank in range(ranks):
            schedule.message(rank, (rank + step) % ranks, size)
    return schedule


def pairs(ranks, size):
    """The same, each step when the rank's send and receive of the step before have ended."""
    schedule = Schedule(ranks)
    received = [()] * ranks
    for step in range(1, ranks):
        next_received = [()] * ranks
        for rank in range(ranks):
            target = (rank + step) % ranks
            _, receive = schedule.message(rank, target, size, received[rank])
            next_received[target] = (receive,)
        received = next_received
    return schedule


def ring(ranks, size):
    """An all-reduce's steps; the neighbour of a rank is at the next leaf."""
    schedule = Schedule(ranks)
    leaves = ranks // 8
    order = [leaf * 8 + place for place in range(8) for leaf in range(leaves)]
    received = [()] * ranks
    for _ in range(2 * (ranks - 1)):
        next_received = [()] * ranks
        for i, rank in enumerate(order):
            target = order[(i + 1) % ranks]
            _, receive = schedule.message(rank, target, size, received[rank])
            next_received[target] = (receive,)
        received = next_received
    return schedule


def tree(ranks, size):
    """A broadcast along a binomial tree."""
    schedule = Schedule(ranks)
    received = {0: ()}
    distance = 1
    while distance < ranks:
        for rank in sorted(received):
            if rank < distance and rank + distance < ranks:
                _, receive = schedule.message(rank, rank + distance, size, received[rank])
                received[rank + distance] = (receive,)
        distance *= 2
    return schedule


def incast(ranks, size):
    schedule = Schedule(ranks)
    for rank in range(1, 17):
        schedule.message(rank, 0, size)
    return schedule


def permutation(ranks, size):
    schedule = Schedule(ranks)
    for rank in range(ranks):
        schedule.message(rank, (rank + ranks // 2) % ranks, size)
    return schedule


def mixed(seed):
    def make(ranks, size):
        """Messages between random ranks; a rank's next one waits for what it received."""
        rng = random.Random(seed)
        schedule = Schedule(ranks)
        received = [()] * ranks
        for _ in range(4 * ranks):
            source, target = rng.sample(range(ranks), 2)
            _, receive = schedule.message(source, target, round(size * rng.uniform(1, 3)),
                                          received[source])
            received[target] = (receive,)
        return schedule
    return make


def cases(quick):
    """(name, schedule, ranks, oversubscription, bytes)"""
    makers = {"all-to-all": all_to_all, "all-to-all in pairs": pairs, "ring": ring, "tree": tree, "incast 16": incast,
              "permutation": permutation, "random 1": mixed(1), "random 2": mixed(2)}
    if quick:
        makers.pop("incast 16")
    sizes = (1_500_000,) if quick else (65_536, 262_144, 1_500_000, 4_000_000)
    for name, make in makers.items():
        ranks = 16 if quick else 32
        for oversubscription in (1, 2, 4):
            for size in sizes[:3] if make is pairs else sizes:
                yield name, make(ranks, size), ranks, oversubscription, size


def htsim_topology(ranks, oversubscription):
    leaves, spines = ranks // 8, 8 // oversubscription
    return (f"Nodes {ranks}\nTiers 2\nPodsize {ranks}\n\n"
            f"Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 8\nRadix_Up {spines}\n"
            f"Downlink_Latency_ns {LINK_NS}\nSwitch_Latency_ns 0\n"
            f"Oversubscribed {oversubscription}\n\n"
            f"Tier 1\nDownlink_speed_Gbps 200\nRadix_Down {leaves}\n"
            f"Downlink_Latency_ns {LINK_NS}\nSwitch_Latency_ns 0\n")


def assay_network(oversubscription):
    return (f"nics: {{bandwidth: 200 Gbit/s, latency: {2 * LINK_NS} ns}}\n"
            f"packets: {{payload: {PAYLOAD}, header: {HEADER}}}\n"
            f"topology: {{type: leaf-spine, nodes_per_leaf: 8, spines: {8 // oversubscription}, "
            f"bandwidth: 200 Gbit/s, latency: {2 * LINK_NS} ns}}\n"
            "routing: {policy: spray}\n")


def timed(command, folder):
    """The output of a program and its CPU time in seconds."""
    with open(folder / "output", "w+b") as output:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {child.returncode}\n{text[-2000:]}")
    return text, usage.ru_utime + usage.ru_stime


FIXED_WINDOW = ("-sender_cc_algo", "constant", "-q", "20000")


def run_htsim(program, folder, ranks, options=()):
    command = [program, "-goal", "job.bin", "-topo", "job.topo", "-nodes", str(ranks), "-linkspeed",
               "200000", "-mtu", str(PAYLOAD + HEADER), "-strat", "ecmp_host", "-paths", "1024",
               "-load_balancing_algo", "oblivious", "-sender_cc_only", "-end", "1000000", *options]
    text, cpu_s = timed(command, folder)
    found = re.findall(r"Maximum finishing time at host \d+: (\d+)", text)
    if not found:
        sys.exit(f"htsim did not finish: {text[-500:]}")
    return int(found[-1]) / 1000, cpu_s


def run_assay(program, folder):
    command = [program, "simulate", "job.bin", "--network", "job.yaml", "--o", "0", "--g", "0", "--S",
               "0", "--format", "csv"]
    text, cpu_s = timed(command, folder)
    lines = [line.split(",") for line in text.splitlines()]
    head = next(i for i, line in enumerate(lines) if line[0] == "ranks")
    finish = next(i for i, name in enumerate(lines[head]) if name.startswith("finish"))
    return float(lines[head + 1][finish]), cpu_s


def compare(assay, htsim, folder, case):
    name, schedule, ranks, oversubscription, size = case
    (folder / "job.goal").write_text(schedule.text(), encoding="ascii")
    subprocess.run([assay, "goal", "to-bin", "job.goal", "-o", "job.bin"], cwd=folder, check=True,
                   stderr=subprocess.DEVNULL)
    (folder / "job.topo").write_text(htsim_topology(ranks, oversubscription), encoding="ascii")
    (folder / "job.yaml").write_text(assay_network(oversubscription), encoding="ascii")
    htsim_us, htsim_s = run_htsim(htsim, folder, ranks, FIXED_WINDOW)
    controlled_us, _ = run_htsim(htsim, folder, ranks)
    assay_us, assay_s = run_assay(assay, folder)
    judged = size >= 10 * BDP and not name.endswith("in pairs")
    return (name, ranks, oversubscription, size, judged, htsim_us, assay_us,
            100 * (assay_us / htsim_us - 1), htsim_s, assay_s, controlled_us,
            100 * (assay_us / controlled_us - 1))


def shown(row):
    name, ranks, oversubscription, size, judged, *figures = row
    htsim_us, assay_us, error, htsim_s, assay_s, controlled_us, controlled_error = figures
    return (f"{name},{ranks},1:{oversubscription},{size},{'yes' if judged else 'no'},{htsim_us:.1f},"
            f"{assay_us:.1f},{error:+.1f},{htsim_s:.2f},{assay_s:.3f},{controlled_us:.1f},"
            f"{controlled_error:+.1f}")


def judge(rows):
    judged = [row for row in rows if row[4]]
    errors = [abs(row[7]) for row in judged]
    cpu = sum(row[9] for row in judged) / sum(row[8] for row in judged)
    median, worst = statistics.median(errors), max(errors)
    print(f"{len(judged)} judged: median |error| {median:.1f} %, worst {worst:.1f} %; assay took 1/"
          f"{1 / cpu:.0f} of htsim's CPU time", file=sys.stderr)
    return median <= MEDIAN and worst <= WORST and cpu <= CPU_SHARE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--htsim", default=shutil.which("htsim_uec"))
    parser.add_argument("--quick", action="store_true", help="16 ranks and one size")
    parser.add_argument("--work", type=pathlib.Path, help="keep the files of the last case here")
    options = parser.parse_args()
    if not options.htsim:
        print("skipped: there is no htsim_uec on PATH", file=sys.stderr)
        return SKIPPED
    assay = os.path.abspath(os.environ.get("ASSAY", shutil.which("assay") or "assay"))
    htsim = os.path.abspath(options.htsim)
    print(",".join(HEAD))
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.work or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for case in cases(options.quick):
            rows.append(compare(assay, htsim, folder, case))
            print(shown(rows[-1]), flush=True)
    return 0 if judge(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
