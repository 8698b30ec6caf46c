"""assay trace with its ranks spread over the processes of an MPI job: the reports of one process."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import zipfile

ASSAY = os.environ["ASSAY"]
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"
RUN = SAMPLES / "sweep-nccl-ctas" / "16cta_256threads"
OTHER_RUN = SAMPLES / "sweep-nccl-ctas" / "4cta_512threads"
PATIENCE_S = 180
LAUNCHER_VARIABLES = ("OMPI_", "PMI_", "PMIX_", "SLURM_")


def launcher(processes):
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", "--oversubscribe", *as_root, "-n", str(processes)]


def content(path):
    """All that a file says; a workbook also says when it was made."""
    if path.suffix != ".xlsx":
        return path.read_bytes()
    with zipfile.ZipFile(path) as book:
        return {name: book.read(name) for name in book.namelist() if name != "docProps/core.xml"}


@unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun here")
class SharedReading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-trace-mpi-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_assay(self, *words, processes=1, code=0):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(LAUNCHER_VARIABLES)}
        environment["NO_COLOR"] = "1"  # mpirun gives its programs a terminal
        if processes > 1:  # Open MPI keeps memory that it never frees
            environment["ASAN_OPTIONS"] = "detect_leaks=0"
        started = launcher(processes) if processes > 1 else []
        work = self.folder / f"of_{processes}"
        work.mkdir(exist_ok=True)
        done = subprocess.run([*started, ASSAY, *map(str, words)], cwd=work, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S,
                              env=environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def files(self, processes):
        root = self.folder / f"of_{processes}"
        return {path.relative_to(root): path for path in root.rglob("*") if path.is_file()}

    def check_same(self, *words):
        alone = self.run_assay(*words)
        shared = self.run_assay(*words, processes=3)
        self.assertEqual(shared.stdout, alone.stdout)
        self.assertEqual(shared.stderr, alone.stderr)
        files, others = self.files(1), self.files(3)
        self.assertEqual(set(others), set(files))
        for name, path in files.items():
            self.assertEqual(content(others[name]), content(path), name)
        return files

    def check_told_once(self, message, *words, code=1):
        done = self.run_assay(*words, processes=3, code=code)
        self.assertEqual(done.stderr.count(message), 1, done.stderr)

    def test_analyze(self):
        files = self.check_same("trace", "analyze", RUN, "-o", "reports", "--also-legacy-names")
        self.assertIn(pathlib.Path("reports/repeat3/individual_reports/perf_rank7.xlsx"), files)

    def test_compare(self):
        files = self.check_same("trace", "compare", "--baseline", RUN, "--test", OTHER_RUN,
                                "--output", "cmp")
        self.assertIn(pathlib.Path("cmp/final_analysis_report.html"), files)

    def test_collectives(self):
        self.check_same("trace", "collectives", RUN / "repeat1", "-o", "reports")

    def test_as_the_public_tool_does_it(self):
        self.check_same("trace", "analyze", SAMPLES / "traces-2gpu" / "ctas_default", "-o", "out",
                        "--compat", "tracelens")

    def test_what_fails_is_told_once(self):
        self.check_told_once("no-such-folder", "trace", "analyze", "no-such-folder", "-o", "out")
        self.check_told_once("--no-such-option", "trace", "analyze", "--no-such-option", code=2)

    def test_a_trace_that_another_process_cannot_read(self):
        traces = self.folder / "traces"
        shutil.copytree(RUN / "repeat1", traces)
        (damaged,) = traces.glob("torch_profiler/rank4/*")
        damaged.write_text("{}", encoding="utf-8")
        self.check_told_once("rank4/", "trace", "analyze", traces, "-o", "out")
        reports = self.folder / "of_3" / "out" / "individual_reports"
        self.assertTrue((reports / "rank3_individual_report.xlsx").exists())
        self.assertFalse((reports / "rank4_individual_report.xlsx").exists())


if __name__ == "__main__":
    unittest.main()
