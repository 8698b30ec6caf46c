#!/usr/bin/env python3
"""Schedules for the public simulators, run by those that are on PATH.

LogGOPSim may be the one of spcl/LogGOPSim or the fork in ATLAHS, which may also have the name
LogGOPSim_atlahs; htsim_uec is ATLAHS' packet simulator.

usage: ASSAY=PROGRAM peers_test.py      exit status: 0 good, 77 all skipped, else failed
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ASSAY = os.environ["ASSAY"]
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "samples" / "goal-4gpu"
PATIENCE_S = 300
LEAF_SPINE = """Nodes 16
Tiers 2
Podsize 16

Tier 0
Downlink_speed_Gbps 200
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 1
Switch_Latency_ns 0
Oversubscribed 1

Tier 1
Downlink_speed_Gbps 200
Radix_Down 4
Downlink_Latency_ns 1
Switch_Latency_ns 0
"""


def loggopsim(atlahs):
    """The LogGOPSim on PATH that is ATLAHS' fork, or is not."""
    for name in ("LogGOPSim_atlahs", "LogGOPSim"):
        program = shutil.which(name)
        if program is None:
            continue
        told = subprocess.run([program, "--help"], text=True, capture_output=True, check=False,
                              timeout=PATIENCE_S).stdout
        if ("comm-dep-file" in told) == atlahs:
            return program
    return None


UPSTREAM, FORK, HTSIM = loggopsim(False), loggopsim(True), shutil.which("htsim_uec")


class Peers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-peers-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "leaf_spine_16_1os.topo").write_text(LEAF_SPINE)

    def run_words(self, words):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, text=True,
                              check=False, capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout[-2000:]}{done.stderr}")
        return done

    def generate(self, simulator):
        """The command that generate says comes next."""
        done = self.run_words([ASSAY, "goal", "generate", SAMPLE, "-o", simulator, "--write", "bin",
                               "--for", simulator])
        return shlex.split(re.search("run it with: (.*)", done.stderr)[1])

    def finish_ns(self, words):
        hosts = re.findall(r"^Host \d+: (\d+)$", self.run_words(words).stdout, re.MULTILINE)
        self.assertEqual(len(hosts), 4)
        return [int(ns) for ns in hosts]

    def simulated_ns(self, schedule):
        # The peers know one kind of link, and rendezvous for all.
        (self.folder / "apart.json").write_text('{"ranks_per_node": 1}')
        done = self.run_words([ASSAY, "simulate", schedule, "--S", 0, "--topology", "apart.json",
                               "--format", "csv"])
        row = dict(zip(*(line.split(",") for line in done.stdout.splitlines()[:2])))
        return 1000 * float(row["finish (us)"])

    def assert_near(self, figure, other, tolerance):
        self.assertLess(abs(figure / other - 1), tolerance, f"{figure} and {other}")

    @unittest.skipUnless(UPSTREAM, "no LogGOPSim of spcl/LogGOPSim on PATH")
    def test_loggopsim(self):
        words = self.generate("loggopsim")
        unit_ns = 0.04
        self.generate("htsim")
        finish = max(self.finish_ns([UPSTREAM, *words[1:]])) * unit_ns
        # One CPU lets nothing overlap: 2.8 % on the sample.
        self.assert_near(finish, self.simulated_ns("htsim/output.bin"), 0.05)

    @unittest.skipUnless(FORK, "no LogGOPSim of ATLAHS on PATH")
    def test_the_fork_in_atlahs(self):
        for simulator in ("assay", "htsim"):
            self.generate(simulator)
            finish = max(self.finish_ns([FORK, "-f", f"{simulator}/output.bin", "-L", 3700, "-o",
                                         200, "-g", 5, "-O", 0, "-G", 0.04, "-S", 0]))
            # The order of equal times differs: 1.3 % on the sample.
            self.assert_near(finish, self.simulated_ns(f"{simulator}/output.bin"), 0.03)

    @unittest.skipUnless(HTSIM, "no htsim_uec on PATH")
    def test_htsim(self):
        finish = max(self.finish_ns(self.generate("htsim")))
        self.assert_near(finish, self.simulated_ns("htsim/output.bin"), 0.02)


if __name__ == "__main__":
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if len(result.skipped) == result.testsRun else 0)
