#!/usr/bin/env python3
"""assay goal and simulate from outside: what comes of good recordings, and of bad ones.

ASSAY, FAKE_NCCL_JOB and FAKE_CUPTI name the programs.
"""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import nsys_sample

ASSAY = os.environ["ASSAY"]
PATIENCE_S = 120


class GoalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-goal-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_assay(self, *words, code=0):
        done = subprocess.run([ASSAY, *map(str, words)], cwd=self.folder, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
        return done

    def generate(self, name="out", source="rec", *options, code=0):
        self.run_assay("goal", "generate", "-i", source, "-o", name, "-q", *options, code=code)
        return self.folder / name

    def figures(self, *words, table=0):
        """The rows of one table of a command's --format csv, as dictionaries."""
        text = self.run_assay(*words, "--format", "csv").stdout.split("\n\n")[table]
        return list(csv.DictReader(io.StringIO(text)))

    def proven(self, schedule):
        """The row that check writes of a schedule that passes and that also simulates to its end."""
        self.run_assay("simulate", schedule, "-q")
        return self.figures("goal", "check", schedule)[0]

    def assert_one_error(self, *words, says, code=1):
        done = self.run_assay(*words, code=code)
        lines = [line for line in done.stderr.splitlines() if "warning" not in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("assay: "), lines[0])
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, lines[0])
        self.assertEqual(done.stdout, "")

    def npkit(self, name, ns):
        events = ["GPU_DIRECT_RECV_COPY_SEND", "GPU_RECV_REDUCE_SEND",
                  "GPU_DIRECT_RECV_REDUCE_COPY_SEND"]
        text = json.dumps({f"NPKIT_EVENT_{event}": {"1024": [ns, 3 * ns], "65536": [20 * ns]}
                           for event in events})
        (self.folder / name).write_text(text)
        return name


class Generate(GoalTest):
    def setUp(self):
        super().setUp()
        nsys_sample.write(self.folder / "rec")

    def test_a_schedule_that_passes_and_ends(self):
        done = self.run_assay("goal", "generate", "-i", "rec", "-o", "out")
        self.assertIn("wrote out/output.goal", done.stderr)
        self.assertNotIn("…", done.stdout)
        row = self.proven("out/output.goal")
        self.assertEqual(row["result"], "passed")
        self.assertEqual(row["ranks"], "4")
        self.assertGreater(int(row["sends"]), 100)
        self.assertEqual(row["sends"], row["matched"])
        self.assertEqual(row["notes"], "read")
        notes = json.loads((self.folder / "out" / "output.notes.json").read_text())
        self.assertEqual([rank["node"] for rank in notes["ranks"]],
                         ["nid000000", "nid000000", "nid000001", "nid000001"])

    def test_text_and_binary_are_the_same_schedule(self):
        text = self.generate("text") / "output.goal"
        binary = self.generate("bin", "rec", "--write", "bin") / "output.bin"
        self.proven(binary)
        self.run_assay("goal", "to-bin", text, "-o", "converted.bin")
        self.assertEqual((self.folder / "converted.bin").read_bytes(), binary.read_bytes())
        self.run_assay("goal", "to-text", binary, "-o", "converted.goal")
        self.assertEqual((self.folder / "converted.goal").read_text(), text.read_text())

    def test_parts_put_together_are_the_whole(self):
        whole = (self.generate("whole") / "output.goal").read_text()

        def names(folder):
            return sorted(path.name for path in folder.iterdir())

        parts = self.generate("parts", "rec", "-p")
        ranks = [f"rank_{rank}.goal" for rank in range(4)]
        self.assertEqual(names(parts), ["output.notes.json", *ranks])
        joined = "num_ranks 4\n" + "".join((parts / rank).read_text() for rank in ranks)
        self.assertEqual(joined, whole)
        both = self.generate("both", "rec", "-p", "-c")
        self.assertEqual(names(both), ["output.goal", "output.notes.json", *ranks])
        self.assertEqual((both / "output.goal").read_text(), whole)
        only = self.generate("only", "rec", "-p", "-r")
        self.assertEqual(names(only), ["output.goal", "output.notes.json"])
        self.assertEqual((only / "output.goal").read_text(), whole)

    def test_rank_files_of_a_larger_job_do_not_stay(self):
        self.generate("out", "rec", "-p", "--replicas", 2)
        self.assertTrue((self.folder / "out" / "rank_7.goal").exists())
        (self.folder / "out" / "rank_x.goal").write_text("mine")
        done = self.run_assay("goal", "generate", "rec", "-o", "out", "-p")
        self.assertIn("removed 4 files of an earlier schedule", done.stderr)
        names = sorted(path.name for path in (self.folder / "out").iterdir())
        self.assertEqual(names, ["output.notes.json", *(f"rank_{rank}.goal" for rank in range(4)),
                                 "rank_x.goal"])
        self.generate("out", "rec")
        names = sorted(path.name for path in (self.folder / "out").iterdir())
        self.assertEqual(names, ["output.goal", "output.notes.json", "rank_x.goal"])

    def test_a_label_that_divides_by_zero(self):
        self.assert_one_error("goal", "generate", "rec", "-o", "x", "--label",
                              "bytes / (sequence - sequence)", says="divides by 0")

    def test_runs_and_workers_change_no_byte(self):
        for form in ("text", "bin"):
            made = []
            for i, options in enumerate([(), (), ("-p", "-r", "-w", 1), ("-p", "-r", "-w", 4)]):
                folder = self.generate(f"{form}{i}", "rec", "--write", form, "--cost", "sample",
                                       "-s", self.npkit("s.json", 50), *options)
                made.append({path.name: path.read_bytes() for path in folder.iterdir()})
            for other in made[1:]:
                self.assertEqual(made[0], other)

    def test_replicas_grow_the_job(self):
        self.proven(self.generate("out", "rec", "--replicas", 16) / "output.goal")
        notes = json.loads((self.folder / "out" / "output.notes.json").read_text())
        self.assertEqual(len(notes["ranks"]), 64)
        self.assertEqual(len({rank["node"] for rank in notes["ranks"]}), 32)

    def tags(self, path):
        words = path.read_text().split()
        return {int(words[i + 1]) for i, word in enumerate(words) if word == "tag"}

    def test_tags_carry_the_label_asked_for(self):
        folder = self.generate("out", "rec", "--label", "100 * operation + parallelism",
                               "--tag-layout", "decimal:5/3")
        labels = {tag // 100_000 for tag in self.tags(folder / "output.goal")}
        # Broadcast 0, AllGather 2, ReduceScatter 3, AllReduce 4, SendRecv 5; DP 2, PP 1.
        self.assertEqual(labels, {2, 202, 302, 402, 501})
        self.proven(folder / "output.goal")
        folder = self.generate("pairs", "rec", "--label", "pair")
        self.assertEqual(self.run_assay("goal", "check", folder / "output.goal", "-q").returncode, 0)
        self.proven(self.generate("none", "rec", "--tag-layout", "none") / "output.goal")
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "narrow", "--tag-layout",
                              "bits:30/1", says=["'bits:30/1' is too narrow", "would do"])
        self.assertEqual(list((self.folder / "narrow").iterdir()), [])

    def test_calculations_within_nodes(self):
        folder = self.generate("out", "rec", "--intra-node", "calc", "--intra-latency", 100)
        self.proven(folder / "output.goal")
        self.assertIn("send 0b to 1", (folder / "output.goal").read_text())

    def test_a_schedule_for_another_simulator(self):
        done = self.run_assay("goal", "generate", "rec", "-o", "h", "--for", "htsim", "-q")
        self.assertEqual(done.stderr, "")
        done = self.run_assay("goal", "generate", "rec", "-o", "h", "--for", "htsim")
        self.assertIn("run it with: assay goal to-bin h/output.goal && htsim_uec -goal h/output.bin"
                      " -topo leaf_spine_16_1os.topo -nodes 16", done.stderr)
        text = (self.folder / "h" / "output.goal").read_text()
        self.assertEqual(set(re.findall(r"nic (\d+)", text)), {"0"})
        self.assertIn("cpu 1", text)
        self.proven("h/output.goal")
        done = self.run_assay("goal", "generate", "rec", "-o", "l", "--for", "loggopsim",
                              "--write", "bin")
        self.assertIn("run it with: LogGOPSim -f l/output.bin -L 92500 -o 5000 -g 125 -G 1",
                      done.stderr)
        self.run_assay("goal", "to-text", "l/output.bin", "-o", "l.goal")
        text = (self.folder / "l.goal").read_text()
        self.assertEqual(set(re.findall(r"(?:nic|cpu) (\d+)", text)), {"0"})
        self.assertIn("send 1b", text)
        self.assertEqual(re.findall(r" 0b.*", text), [])
        notes = json.loads((self.folder / "l" / "output.notes.json").read_text())
        self.assertEqual((notes["made_for"], notes["time_unit_ns"]), ("loggopsim", 0.04))
        self.assert_one_error("simulate", "l/output.bin", says="units of 0.04 ns")
        done = self.run_assay("goal", "generate", "rec", "-o", "a")
        self.assertIn("run it with: assay simulate a/output.goal", done.stderr)
        done = self.run_assay("goal", "generate", "rec", "-o", "a b")
        self.assertIn("run it with: assay simulate 'a b/output.goal'", done.stderr)

    def test_merged_streams_make_one_chain(self):
        self.proven(self.generate("merged", "rec", "-m") / "output.goal")

    def test_the_public_generators_graph(self):
        costs = ("-s", self.npkit("simple.json", 50), "-l", self.npkit("ll.json", 9))
        folder = self.generate("out", "rec", "--compat", "v2", *costs)
        self.proven(folder / "output.goal")
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "x", "--compat", "v2", code=2,
                              says="--compat v2 needs NPKit's summaries")
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "x", "--compat", "v2", *costs,
                              "--label", "pair", code=2, says="leave out --label")

    def test_costs_come_from_where_they_are_said_to(self):
        cheap = self.generate("cheap", "rec", "-s", self.npkit("cheap.json", 1))
        dear = self.generate("dear", "rec", "-s", self.npkit("dear.json", 100_000))
        finish = [float(self.figures("simulate", folder / "output.goal")[0]["finish (us)"])
                  for folder in (cheap, dear)]
        self.assertGreater(finish[1], 5 * finish[0])
        swapped = self.npkit("x_Simple.json", 1)
        done = self.run_assay("goal", "generate", "rec", "-o", "out", "-l", swapped)
        self.assertIn("x_Simple.json: the name is that of a summary of Simple", done.stderr)
        self.assertIn("without -s, Simple has the costs fitted on H200", done.stderr)
        self.assertIn("x_Simple.json; Simple fitted on H200", done.stdout)

    def test_options_that_change_nothing(self):
        for option in ("--replica-communicator", "--nic-bandwidth"):
            self.assert_one_error("goal", "generate", "rec", "-o", "out", option, "1",
                                  says=f"{option} needs --replicas")
        self.assert_one_error("goal", "generate", "rec", "-o", "out", "--gpus-per-node", "2",
                              says="--gpus-per-node is for traces that do not tell nodes")
        (self.folder / "epochs.log").write_text("loss 3\n")
        done = self.run_assay("goal", "generate", "rec", "-o", "out", "--nccl-log", "epochs.log")
        self.assertIn("logs without a line of NCCL", done.stderr)

    def test_usage_errors_come_before_the_recording_is_read(self):
        command = ("goal", "generate", "-i", "nowhere", "-o", "x")
        for options, words in [
                (("--label", "sequenc"), "at character 1, not 'sequenc'"),
                (("--tag-layout", "octal"), "expected auto, none"),
                (("--tag-layout", "none", "--label", "pair"), "no room for --label"),
                (("--for", "htsim", "--intra-node", "messages"), "it knows no nodes"),
                (("--intra-latency", "5"), "--intra-latency needs --intra-node calc"),
                (("--cost", "median"), "--cost chooses among NPKit's measurements"),
                (("--write", "job", "--for", "htsim"), "--for is of a schedule"),
                (("--write", "job", "--intra-node", "calc"), "--intra-node is of a schedule"),
                (("--write", "job", "--label", "pair"), "--label is of a schedule"),
                (("--write", "job", "--tag-layout", "none"), "--tag-layout is of a schedule"),
                (("--label", "sequence / 0"), "a divisor other than 0"),
                (("--from", "2", "--to", "1"), "--from 2 is not before --to 1"),
                (("--cost", "p101"), "none of mean, median"),
                (("--replicas", "2.5"), "'2.5' is not a whole number"),
                (("-p", "-w", "0"), "'0' is not a whole number"),
                (("--intra-latency", "-1"), "'-1' is not a number of at least 0"),
                (("--intra-bandwidth", "fast"), "'fast' is not a number above 0"),
                (("--frmat", "bin"), "did you mean '--format'")]:
            self.assert_one_error(*command, *options, says=words, code=2)
        self.assert_one_error("goal", "generate", code=2, says="DIR and --output are required")
        self.assert_one_error(*command, says="nowhere: no such file or folder")


class BadRecordings(GoalTest):
    """Each is one clear error, or a counted repair and a schedule that matches."""

    def refused(self, source, says):
        self.assert_one_error("goal", "generate", "-i", source, "-o", "out", says=says)
        self.assertFalse((self.folder / "out").exists())

    def repaired(self, says, **faults):
        nsys_sample.write(self.folder / "rec", **faults)
        done = self.run_assay("goal", "generate", "-i", "rec", "-o", "out", "-q")
        for words in [says] if isinstance(says, str) else says:
            self.assertIn(words, done.stderr)
        return self.proven("out/output.goal")

    def test_files_that_are_no_recording(self):
        (self.folder / "empty").mkdir()
        self.refused("empty", ["empty: no recording of NCCL among its 0 files", "nsys"])
        (self.folder / "text.sqlite").write_text("no database at all\n" * 100)
        self.refused("text.sqlite", "text.sqlite: not a SQLite file")
        (self.folder / "zero.sqlite").touch()
        self.refused("zero.sqlite", "zero.sqlite: no table NVTX_EVENTS")
        with nsys_sample.sqlite3.connect(self.folder / "foreign.sqlite") as database:
            database.execute("CREATE TABLE moz_places(id, url)")
        database.close()
        self.refused("foreign.sqlite", "foreign.sqlite: no table NVTX_EVENTS")

    def test_a_sqlite_file_cut_anywhere(self):
        nsys_sample.write(self.folder / "rec", nodes=1)
        whole = (self.folder / "rec" / "report_nid000000.sqlite").read_bytes()
        cut = self.folder / "cut.sqlite"
        for size in (600, len(whole) // 3, len(whole) - 4096, len(whole) - 2000, len(whole) - 1):
            cut.write_bytes(whole[:size])
            self.refused("cut.sqlite", "cut.sqlite: damaged or cut off")

    def test_kernels_without_marks(self):
        nsys_sample.write(self.folder / "rec", marks=False)
        self.refused("rec", "no NVTX marks of NCCL")

    def test_marks_without_kernels(self):
        self.repaired("operations without a kernel, 48 times", kernels=False)

    def test_a_rank_that_was_not_recorded(self):
        row = self.repaired(["an operation was not recorded once on each of its ranks, 12 times",
                             "1 of its 4 ranks was not recorded"], without_rank=3)
        self.assertEqual(row["ranks"], "3")
        self.assertGreater(int(row["sends"]), 0)  # of the pipeline that is whole
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "strict", "--strict",
                              says="1 of its 4 ranks was not recorded, first rank 3")

    def test_a_file_that_is_missing(self):
        nsys_sample.write(self.folder / "rec", pipeline=False)
        (self.folder / "rec" / "report_nid000001.sqlite").unlink()
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "out",
                              says=["2 of its 4 ranks were not recorded", "add the missing"])

    def test_ranks_that_disagree(self):
        row = self.repaired("ranks disagree about an operation, 4 times", bytes_of_rank={1: 400_004})
        nsys_sample.write(self.folder / "good")
        whole = self.proven(self.generate("whole", "good") / "output.goal")
        self.assertLess(int(row["sends"]), int(whole["sends"]))
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "strict", "--strict",
                              says=["ranks disagree", "400000 bytes", "400004 bytes"])

    def test_times_that_cannot_be(self):
        self.repaired("operations of a stream overlap in time, 40 times: no gap between them", overlap=True)

    def test_kernels_that_end_before_they_start(self):
        self.repaired("kernels that end before they start, 48 times", backwards=True)

    def test_elements_of_no_bytes(self):
        nsys_sample.write(self.folder / "rec", type_size=0)
        self.proven(self.generate() / "output.goal")

    def test_a_root_that_is_no_rank(self):
        self.repaired("operations that name a rank which their communicator lacks, 8 times", root=9)


class Recordings(GoalTest):
    def record(self, mode=""):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "OMPI_"))}
        environment["ASSAY_RECORDER_CUPTI"] = os.environ["FAKE_CUPTI"]
        job = os.environ["FAKE_NCCL_JOB"]
        subprocess.run([ASSAY, "record", "-o", "rec", "--", "sh", "-c",
                        f"{job} 0 2 5 {mode} & {job} 1 2 5 {mode}; wait"], cwd=self.folder,
                       env=environment, check=True, capture_output=True, timeout=PATIENCE_S)

    def test_streams_in_opposite_orders_on_two_gpus(self):
        self.record("opposite")
        done = self.run_assay("goal", "generate", "-i", "rec", "-o", "out", "-q")
        self.assertIn("wait for each other in a circle", done.stderr)
        self.proven(self.folder / "out" / "output.goal")
        self.proven(self.generate("merged", "rec", "--merged") / "output.goal")

    def test_a_recording_cut_anywhere(self):
        self.record()
        self.proven(self.generate() / "output.goal")
        nsys_sample.write(self.folder / "rec" / "nsys")
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "both",
                              says="recordings of several kinds (nsys and recording, for example")
        shutil.rmtree(self.folder / "rec" / "nsys")
        victim = sorted((self.folder / "rec").glob("*.rec"))[1]
        whole = victim.read_bytes()
        outcomes = set()
        for part in (0, 0.01, 0.2, 0.5, 0.8, 0.9, 0.99):
            victim.write_bytes(whole[:int(part * len(whole))])
            done = subprocess.run([ASSAY, "goal", "generate", "-i", "rec", "-o", f"cut{part}", "-q"],
                                  cwd=self.folder, check=False, capture_output=True, text=True)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            outcomes.add(done.returncode)
            self.assertIn("assay: ", done.stderr, part)
            schedule = self.folder / f"cut{part}" / "output.goal"
            self.assertEqual(schedule.exists(), done.returncode == 0)
            if schedule.exists():
                self.proven(schedule)
        self.assertEqual(outcomes, {0, 1})


class Outputs(GoalTest):
    def setUp(self):
        super().setUp()
        nsys_sample.write(self.folder / "rec")

    def test_an_output_that_cannot_be_a_folder(self):
        (self.folder / "file").touch()
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "file",
                              says=["'file'", "Not a directory"])

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_folder_that_may_not_be_written(self):
        (self.folder / "closed").mkdir(mode=0o500)
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "closed",
                              says=["closed/", "Permission denied"])

    def test_a_folder_in_the_place_of_the_file(self):
        (self.folder / "out" / "output.goal").mkdir(parents=True)
        self.assert_one_error("goal", "generate", "-i", "rec", "-o", "out", says="output.goal")
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], ["output.goal"])

    def test_a_full_disk_leaves_nothing(self):
        for options in ((), ("-p",), ("-p", "-c"), ("--write", "bin")):
            done = subprocess.run(
                ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", ASSAY, "goal", "generate", "-i", "rec",
                 "-o", "full", "-q", *options], cwd=self.folder, check=False, capture_output=True,
                text=True, timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("File too large", done.stderr)
            self.assertEqual(list((self.folder / "full").iterdir()), [])

    def test_ctrl_c_leaves_nothing(self):
        for options in (("--write", "bin"), ("-p", "-c")):
            folder = self.folder / f"out{len(options)}{options[0]}"
            with subprocess.Popen(
                    [ASSAY, "goal", "generate", "-i", "rec", "-o", folder, "-q", "--replicas",
                     "1000", *options], cwd=self.folder, stderr=subprocess.PIPE) as program:
                end = time.monotonic() + PATIENCE_S
                while not (folder.exists() and any(folder.iterdir())):
                    self.assertIsNone(program.poll(), "done before it could be interrupted")
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.01)
                program.send_signal(signal.SIGINT)
                program.communicate(timeout=PATIENCE_S)
                self.assertEqual(program.returncode, 130)
            self.assertEqual(list(folder.iterdir()), [])

    def test_a_reader_that_leaves_early(self):
        done = subprocess.run(["sh", "-c", '"$0" goal generate -i rec -o out | head -1', ASSAY],
                              cwd=self.folder, check=False, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.stdout, "What was made\n")
        self.proven("out/output.goal")


class Measured(GoalTest):
    def setUp(self):
        super().setUp()
        nsys_sample.write(self.folder / "rec", steps=4)

    def test_validate_tells_how_far_off_the_model_is(self):
        rows = self.figures("goal", "validate", "-i", "rec", table=1)
        self.assertEqual({row["function"] for row in rows},
                         {"AllGather", "AllReduce", "Broadcast", "ReduceScatter", "SendRecv"})
        reduce = next(row for row in rows if row["function"] == "AllReduce")
        self.assertEqual(float(reduce["measured (us)"]), 60)
        self.assertEqual(reduce["seen"], "3")  # the first of four is left out
        done = self.run_assay("goal", "validate", "-i", "rec")
        self.assertNotIn("…", done.stdout)
        self.run_assay("goal", "validate", "-i", "rec", "-q", "--tolerance", 1000)
        done = self.run_assay("goal", "validate", "-i", "rec", "-q", "--tolerance", 0.001, code=3)
        self.assertEqual(done.stdout, "")

    def test_what_fit_writes_the_others_read(self):
        done = self.run_assay("simulate", "fit", "-i", "rec", "-o", "fitted.json")
        self.assertIn("wrote fitted.json", done.stderr)
        self.assertNotIn("…", done.stdout)

        def error(*options):
            rows = self.figures("goal", "validate", "-i", "rec", *options)
            return float(next(r for r in rows if r["function"] == "all")["median of |error| (%)"])

        fitted = error("--params", "fitted.json")
        self.assertLess(fitted, error())
        self.assertLess(fitted, 25)
        schedule = self.generate("out", "rec", "--costs", "fitted.json") / "output.goal"
        self.run_assay("simulate", schedule, "--params", "fitted.json", "-q")
        self.run_assay("simulate", "fit", "-i", "rec", "-o", "again.json", "-q")
        self.assertEqual((self.folder / "again.json").read_text(),
                         (self.folder / "fitted.json").read_text())

    def test_a_fit_that_could_not_be_kept_does_not_begin(self):
        for output, says in (("nowhere/x.json", "no such folder"), ("rec", "it is a folder")):
            self.assert_one_error("simulate", "fit", "-i", "missing", "-o", output, says=says)

    def test_parameter_files_that_are_none(self):
        (self.folder / "text.json").write_text("hello")
        (self.folder / "list.json").write_text("[1]")
        for command in (("goal", "validate", "-i", "rec", "--params"),
                        ("goal", "generate", "-i", "rec", "-o", "x", "--costs"),
                        ("simulate", "fit", "-i", "rec", "-o", "x.json", "--start")):
            for name in ("text.json", "list.json", "missing.json"):
                self.assert_one_error(*command, name, says=name)


class Schedules(GoalTest):
    """GOAL files of others."""

    def schedule(self, *ranks):
        text = f"num_ranks {len(ranks)}\n" + "".join(
            f"rank {rank} {{\n" + "\n".join(lines) + "\n}\n" for rank, lines in enumerate(ranks))
        (self.folder / "job.goal").write_text(text)
        return "job.goal"

    def test_a_circle(self):
        self.schedule(["a: calc 5", "b: calc 5", "a requires b", "b requires a"])
        done = self.run_assay("goal", "check", "job.goal", code=3)
        self.assertIn("rank 0", done.stdout)
        done = self.run_assay("simulate", "job.goal", code=1)
        self.assertIn("operations of rank 0 require each other in a circle: 0 -> 1 -> 0",
                      done.stderr)

    def test_a_forward_reference(self):
        self.schedule(["a: calc 5", "a requires b", "b: calc 7"])
        for command in (("goal", "check"), ("goal", "to-bin", "-o", "job.bin"), ("simulate",)):
            self.assert_one_error(*command, "job.goal",
                                  says=["job.goal:4: no operation above this line", "'b'"])
        self.assertFalse((self.folder / "job.bin").exists())

    def test_an_unmatched_send(self):
        self.schedule(["a: send 8b to 1 tag 4"], ["b: recv 8b from 0 tag 5"])
        done = self.run_assay("goal", "check", "job.goal", code=3)
        self.assertIn("unmatched send", done.stdout)
        done = self.run_assay("simulate", "job.goal", code=1)
        self.assertIn("rank 1", done.stderr)

    def test_a_deadlock_by_rendezvous_needs_a_run(self):
        lines = ["a: send 8b to {0} tag 4", "b: recv 8b from {0} tag 4", "b requires a"]
        self.schedule(*([line.format(1 - rank) for line in lines] for rank in range(2)))
        row = self.figures("goal", "check", "job.goal")[0]
        self.assertEqual((row["result"], row["runs"]), ("passed", "not tried"))
        done = self.run_assay("goal", "check", "job.goal", "--runs", "--format", "csv", code=3)
        row = next(csv.DictReader(io.StringIO(done.stdout.split("\n\n")[0])))
        self.assertEqual((row["result"], row["runs"]), ("failed", "no"))
        self.assertIn("deadlock", done.stdout)
        self.assertIn("rank 0", done.stdout)
        lines[-1] = "b irequires a"
        self.schedule(*([line.format(1 - rank) for line in lines] for rank in range(2)))
        row = self.figures("goal", "check", "job.goal", "--runs")[0]
        self.assertEqual((row["result"], row["runs"]), ("passed", "yes"))

    def test_atlahs_tells_times_of_what_never_ends(self):
        self.schedule(["a: send 8b to 1 tag 4"], ["b: calc 5000"])
        done = self.run_assay("simulate", "job.goal", "--compat", "atlahs", "--format", "csv")
        self.assertIn("1 of 2 operations never ended", done.stderr)
        self.assertIn("\n1,5.0,", done.stdout)
        for option in (("--intra-L", "7"), ("--critical-path", "3"), ("--timeline", "x.json")):
            self.assert_one_error("simulate", "job.goal", "--compat", "atlahs", *option, code=2,
                                  says="--compat atlahs")

    def test_what_does_not_match_is_not_run(self):
        self.schedule(["a: send 8b to 1 tag 4"], ["b: recv 8b from 0 tag 5"])
        done = self.run_assay("goal", "check", "job.goal", "--runs", code=3)
        self.assertIn("not tried: failed before", done.stdout)

    def test_a_label_that_nobody_defined(self):
        self.schedule(["a: calc 5", "a requires c"])
        self.assert_one_error("goal", "check", "job.goal", says=["job.goal:4", "'c'"])


if __name__ == "__main__":
    unittest.main()
