#!/usr/bin/env python3
"""assay record from outside: what the command sees, and what comes back.

ASSAY, FAKE_NCCL_JOB and FAKE_CUPTI name the programs.
"""
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

ASSAY = os.environ["ASSAY"]
JOB = os.environ["FAKE_NCCL_JOB"]


class Record(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "rec"

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "OMPI_"))}
        return {**kept, "ASSAY_RECORDER_CUPTI": os.environ["FAKE_CUPTI"], **more}

    def record(self, *command, options=(), **keywords):
        environment = self.environment(**keywords.pop("more", {}))
        return subprocess.run([ASSAY, "record", "-o", self.output, *options, "--", *command],
                              env=environment, cwd=self.folder, text=True, capture_output=True,
                              timeout=60, check=False, **keywords)

    def recordings(self):
        return sorted(self.output.glob("assay_*.rec"))

    def test_records_each_process_and_says_what(self):
        done = self.record("sh", "-c", f"{JOB} 0 2 5 & {JOB} 1 2 5; wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.recordings()), 2)
        self.assertIn("recorded 2 processes, 70 operations, 40 kernels", done.stderr)
        self.assertIn(f"assay goal generate {self.output}", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_command_has_our_streams_and_its_exit_code_comes_back(self):
        done = self.record("sh", "-c", "cat; exit 7", input="words\n")
        self.assertEqual(done.stdout, "words\n")
        self.assertEqual(done.returncode, 7)
        self.assertIn("nothing was recorded", done.stderr)
        done = self.record("sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, 137)

    def test_exit_code_comes_back_beside_a_recording_that_cannot_be_read(self):
        done = self.record("sh", "-c", f"{JOB} 0 1 5; cd $ASSAY_RECORDER_OUTPUT; "
                           "(head -c 8 assay_*.rec; head -c 9000 /dev/zero) > damaged.rec; exit 7")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("damaged.rec: a recording of version 0", done.stderr)
        self.assertIn("recorded 1 process,", done.stderr)

    def test_folder_with_letters_that_stand_for_others_is_refused(self):
        self.output = self.folder / "of_%p"
        done = self.record("true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("holds %p, which stands for each process", done.stderr)

    def test_exit_code_comes_back_where_the_folder_is_gone(self):
        done = self.record("sh", "-c", "rm -r $ASSAY_RECORDER_OUTPUT; exit 7")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn(str(self.output), done.stderr)

    def test_sets_the_log_unless_the_user_did(self):
        show = ("sh", "-c", "echo $NCCL_DEBUG,$NCCL_DEBUG_SUBSYS,$NCCL_DEBUG_FILE")
        done = self.record(*show)
        self.assertEqual(done.stdout, f"INFO,INIT,GRAPH,TUNING,{self.output}/nccl_%h_%p.log\n")
        done = self.record(*show, more={"NCCL_DEBUG": "WARN"})
        self.assertTrue(done.stdout.startswith("WARN,"))
        self.assertIn("NCCL_DEBUG of your environment stays", done.stderr)
        done = self.record(*show, options=("--no-nccl-log",))
        self.assertEqual(done.stdout, ",,\n")

    def test_options_reach_the_recorder(self):
        done = self.record("sh", "-c", "echo $ASSAY_RECORDER_EVENTS $ASSAY_RECORDER_LIMIT_MB "
                           "$ASSAY_RECORDER_KERNEL_TIMES",
                           options=("--events", "proxy", "--limit-mb", "7", "--kernel-times", "cupti"))
        self.assertEqual(done.stdout, "proxy 7 cupti\n")

    def test_kernels_have_times_without_cupti(self):
        done = self.record("sh", "-c", f"{JOB} 0 2 5 & {JOB} 1 2 5; wait", more={"ASSAY_RECORDER_CUPTI": ""})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("recorded 2 processes, 70 operations, 40 kernels", done.stderr)

    def test_refuses_what_cannot_work(self):
        self.assertEqual(self.record(JOB, "0", "1", "1").returncode, 0)
        done = self.record(JOB, "0", "1", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds a recording already", done.stderr)
        self.output = self.folder / "other"
        done = self.record("true", more={"NCCL_PROFILER_PLUGIN": "/x/libother.so"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("NCCL_PROFILER_PLUGIN", done.stderr)
        done = subprocess.run([ASSAY, "record"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)

    def test_a_command_that_does_not_start_ends_as_in_a_shell(self):
        plain = self.folder / "plain"
        plain.write_text("words\n")
        for command, code in (("/nowhere/program", 127), ("no-such-command", 127),
                              (str(plain), 126), (str(self.folder), 126)):
            done = self.record(command)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(f"cannot start '{command}': ", done.stderr)
            self.assertNotIn("nothing was recorded", done.stderr)

    def test_tells_mpirun_what_to_forward(self):
        mpirun = self.folder / "mpirun"
        mpirun.write_text("#!/bin/sh\necho $OMPI_MCA_mca_base_env_list\n")
        mpirun.chmod(0o755)
        done = self.record(str(mpirun), "-n", "2", "./train")
        self.assertIn("NCCL_PROFILER_PLUGIN;ASSAY_RECORDER_OUTPUT;NCCL_DEBUG", done.stdout)

    def test_killed_processes_files_have_no_more_than_their_records(self):
        # The job says "ready" when its records are in the file.
        done = self.record("sh", "-c", f"mkfifo said; {JOB} 0 1 3 hang > said & "
                                       "read -r word < said; kill -9 $!; wait; test $word = ready")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("21 operations, 12 kernels", done.stderr)
        self.assertLess(self.recordings()[0].stat().st_size, 150_000)

    def interrupted(self, send):
        program = subprocess.Popen(
            [ASSAY, "record", "-o", self.output, "--", JOB, "0", "1", "2", "hang"],
            env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        self.assertEqual(program.stdout.readline(), "ready\n")
        send(program.pid)
        _, words = program.communicate(timeout=30)
        return program.returncode, words

    def test_signals_are_the_commands(self):
        code, words = self.interrupted(lambda pid: os.kill(pid, signal.SIGTERM))
        self.assertEqual(code, 128 + signal.SIGTERM)
        self.assertIn("recorded 1 process, 14 operations", words)


if __name__ == "__main__":
    unittest.main()
