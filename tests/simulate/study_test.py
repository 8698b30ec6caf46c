"""assay simulate --study: what a kill leaves, several processes on one folder, MPI, arrays of Slurm."""
import csv
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ASSAY = os.environ["ASSAY"]
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
PATIENCE_S = 120
LAUNCHER_VARIABLES = ("OMPI_", "PMI_", "PMIX_", "SLURM_")
RANKS = (4, 8)
NETWORK = "topology: {type: leaf-spine, nodes_per_leaf: 2, spines: 2, oversubscription: %d}\n"
STUDY = """
jobs: [{name: pairs, files: [pairs4.goal, pairs8.goal]}]
networks: [{file: full.yaml}, {file: half.yaml}]
failures:
  - {name: none}
  - {name: cut, changes: [{between: [node0, leaf0], failed: true, at: %s}]}
seeds: [1, 2, 3]
"""
TASKS = 2 * 2 * 2 * 3


def schedule(ranks, rounds):
    """Everyone sends to the rank half of all away, again and again."""
    lines = [f"num_ranks {ranks}"]
    for rank in range(ranks):
        peer = (rank + ranks // 2) % ranks
        lines.append(f"rank {rank} {{")
        for i in range(rounds):
            lines += [f"s{i}: send 1000000b to {peer} tag {i}", f"r{i}: recv 1000000b from {peer} tag {i}"]
            if i > 0:
                lines += [f"s{i} requires r{i - 1}"]
        lines.append("}")
    return "\n".join(lines) + "\n"


class Study(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-study-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.make(rounds=20)

    def make(self, rounds, cut_at="1 s"):
        for ranks in RANKS:
            self.write(f"pairs{ranks}.goal", schedule(ranks, rounds))
        self.write("full.yaml", NETWORK % 1)
        self.write("half.yaml", NETWORK % 2)
        self.write("study.yaml", STUDY % cut_at.replace("1 s", "1000 ms"))

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def command(self, *words):
        return [ASSAY, "simulate", "--study", "study.yaml", "-o", "out", *words]

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(LAUNCHER_VARIABLES)}
        return {**kept, "NO_COLOR": "1", **more}

    def run_study(self, *words, code=0, started=(), **variables):
        done = subprocess.run([*started, *self.command(*words)], cwd=self.folder, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S,
                              env=self.environment(**variables))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def results(self):
        """When each result was written, by its name."""
        return {path.name: path.stat().st_mtime_ns for path in (self.out / "tasks").glob("*.json")}

    def rows(self):
        with (self.out / "study.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def answers(self):
        kept = ("job", "size", "network", "failure", "seed", "ranks", "end (ms)", "ratio (x)", "contention (%)",
                "lost (%)")
        return [{name: row[name] for name in kept} for row in self.rows()]

    def check_whole(self):
        self.assertEqual(len(self.results()), TASKS)
        self.assertEqual(len(self.rows()), TASKS)
        self.assertEqual(list((self.out / "tasks").glob(".assay-*")), [])
        self.assertEqual(list(self.out.rglob(".assay-*.tmp")), [])

    def expected(self):
        """What one process alone says."""
        self.run_study("-q")
        answers = self.answers()
        shutil.rmtree(self.out)
        return answers

    def test_a_second_run_does_nothing_again(self):
        self.run_study()
        self.check_whole()
        before = self.results()
        first = self.answers()
        self.assertEqual({row["ranks"] for row in first}, {"4", "8"})
        self.run_study()
        self.assertEqual(self.results(), before)
        self.assertEqual(self.answers(), first)

    def test_changed_inputs_are_run_again(self):
        self.run_study("-q")
        before = self.results()
        self.write("half.yaml", NETWORK % 4)
        self.run_study("-q")
        after = self.results()
        self.assertEqual(len(after), TASKS + TASKS // 2)
        self.assertEqual({name: after[name] for name in before}, before)

    def test_a_killed_study_goes_on(self):
        self.make(rounds=2000)
        process = subprocess.Popen(self.command("-q", "--threads", "1"), cwd=self.folder,
                                   env=self.environment())
        deadline = time.monotonic() + PATIENCE_S
        while len(list(self.out.glob("tasks/*.json"))) < 3:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = self.results()
        self.assertLess(len(kept), TASKS)
        self.assertFalse((self.out / "study.csv").exists())
        self.run_study("-q")
        self.check_whole()
        after = self.results()
        self.assertEqual({name: after[name] for name in kept}, kept)

    def test_an_interrupted_study_leaves_no_process(self):
        self.make(rounds=20000)
        process = subprocess.Popen(self.command("-q"), cwd=self.folder, env=self.environment(),
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        while not list(self.out.glob("tasks/.assay-*.lock")):
            self.assertIsNone(process.poll())
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        _, talk = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, talk)
        with self.assertRaises(ProcessLookupError):
            os.killpg(process.pid, 0)

    def test_two_at_once_share_the_tasks(self):
        self.make(rounds=500)
        expected = self.expected()
        both = [subprocess.Popen(self.command("--threads", "1"), cwd=self.folder, text=True,
                                 env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(2)]
        written = {}
        while any(process.poll() is None for process in both):
            for name, when in self.results().items():
                self.assertEqual(written.setdefault(name, when), when, "a task was done twice")
            time.sleep(0.002)
        for process in both:
            process.communicate()
            self.assertEqual(process.returncode, 0)
        self.check_whole()
        self.assertEqual(self.answers(), expected)

    def test_elements_of_an_array_do_their_shares(self):
        expected = self.expected()
        for element in (7, 3, 5):
            self.assertFalse((self.out / "study.csv").exists())
            before = self.results() if self.out.exists() else {}
            done = self.run_study(SLURM_ARRAY_TASK_ID=str(element), SLURM_ARRAY_TASK_MIN="3",
                                  SLURM_ARRAY_TASK_STEP="2", SLURM_ARRAY_TASK_COUNT="3")
            self.assertEqual(len(self.results()) - len(before), TASKS // 3)
            if element != 5:
                self.assertIn("no result yet", done.stderr)
        self.check_whole()
        self.assertEqual(self.answers(), expected)
        self.run_study(SLURM_ARRAY_TASK_ID="x", code=1)

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun here")
    def test_processes_of_an_mpi_job_share_the_tasks(self):
        expected = self.expected()
        as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        mpirun = ["mpirun", "--oversubscribe", *as_root, "-n", "3"]
        quiet = {"ASAN_OPTIONS": "detect_leaks=0"}  # Open MPI keeps memory that it never frees
        done = self.run_study("--format", "csv", started=mpirun, **quiet)
        self.assertEqual(done.stdout.count("pairs"), 2 * TASKS)
        self.check_whole()
        self.assertEqual(self.answers(), expected)
        self.make(rounds=20, cut_at="10 us")
        done = self.run_study("-q", started=mpirun, code=1, **quiet)
        self.assertEqual(done.stderr.count(f"{TASKS // 2} of {TASKS} tasks failed"), 1, done.stderr)

    def test_a_task_that_fails_is_a_row(self):
        self.make(rounds=20, cut_at="10 us")
        done = self.run_study(code=1)
        self.assertIn(f"{TASKS // 2} of {TASKS} tasks failed", done.stderr)
        failed = [row for row in self.rows() if row["error"]]
        self.assertEqual(len(failed), TASKS // 2)
        for row in failed:
            self.assertEqual((row["failure"], row["end (ms)"]), ("cut", ""))
            self.assertIn("no way is left from node0 of rank 0", row["error"])
        before = self.results()
        self.run_study("-q", code=1)
        self.assertEqual(self.results(), before)
        self.run_study("-q", "--resume-retry-failed", code=1)
        changed = [name for name, when in self.results().items() if when != before[name]]
        self.assertEqual(len(changed), TASKS // 2)

    def test_results_are_regular_files(self):
        self.write("study.yaml", "jobs: [{file: pairs4.goal}]")
        self.run_study("-q")
        result, = (self.out / "tasks").iterdir()
        for make in (os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/null")):
            shutil.rmtree(self.out)
            result.parent.mkdir(parents=True)
            make(result)
            done = self.run_study("-q", code=1)
            self.assertIn(f"tasks/{result.name}': it is no regular file", done.stderr)
            self.assertEqual([path.name for path in result.parent.iterdir()
                              if not path.name.startswith(".assay-")], [result.name])

    def simulated_ns(self, *words):
        done = subprocess.run([ASSAY, "simulate", *map(str, words), "--format", "json"], cwd=self.folder,
                              text=True, check=True, capture_output=True, env=self.environment())
        first = json.loads(done.stdout)["tables"][0]
        place = [column["name"] for column in first["columns"]].index("finish")
        self.assertEqual(first["columns"][place]["unit"], "us")
        return round(first["rows"][0][place] * 1000)

    def test_a_job_has_the_times_of_its_own_simulations(self):
        window = ("goal", "generate", SAMPLES / "goal-4gpu", "--from", "3.965", "--to", "3.999", "-q")
        for words in (("--write", "job", "-o", "job"), ("--write", "bin", "--replicas", "2", "-o", "two")):
            subprocess.run([ASSAY, *map(str, (*window, *words))], cwd=self.folder, check=True)
        job = "jobs: [{name: a, file: job/output.job.json, replicas: 2}]\n"
        self.write("study.yaml", job + "networks: [{file: full.yaml}, {name: plain}]\n"
                   "collectives: [exact, cost]\nexclude: [{network: full, collectives: cost}]")
        self.run_study("-q")
        ends = [round(float(row["end (ms)"]) * 1e6) for row in self.rows()]
        self.assertEqual(ends[0], self.simulated_ns("two/output.bin", "--network", "full.yaml"))
        self.assertEqual(ends[1], self.simulated_ns("two/output.bin"))
        subprocess.run([ASSAY, *map(str, (*window, "--write", "job", "--replicas", "2", "-o", "job2"))],
                       cwd=self.folder, check=True)
        self.assertEqual(ends[2], self.simulated_ns("job2/output.job.json", "--collectives", "cost"))
        self.assertEqual([row["replaced (%)"] != "" for row in self.rows()], [False, False, True])
        self.write("study.yaml", job + "networks: [{file: full.yaml}]\n"
                   "failures: [{name: slow, changes: [{rank: 5, slower: 3}]}]\n")
        self.run_study("-q")
        self.write("slow.yaml", NETWORK % 1 + "changes: [{rank: 5, slower: 3}]\n")
        self.assertEqual(round(float(self.rows()[0]["end (ms)"]) * 1e6),
                         self.simulated_ns("two/output.bin", "--network", "slow.yaml"))

    def test_outputs(self):
        self.run_study("-q")
        self.assertTrue((self.out / "study.json").read_bytes().endswith(b"\n"))
        json.loads((self.out / "study.json").read_text(encoding="utf-8"))
        if shutil.which("gnuplot"):
            self.assertTrue((self.out / "study.png").read_bytes().endswith(b"IEND\xaeB`\x82"))
        self.write("out/study.csv", "mine")
        self.write("study.yaml", "jobs: [{file: out/study.csv}]")
        done = self.run_study(code=1)
        self.assertEqual((self.out / "study.csv").read_text(encoding="utf-8"), "mine", done.stderr)


if __name__ == "__main__":
    unittest.main()
