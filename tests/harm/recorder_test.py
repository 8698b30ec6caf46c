#!/usr/bin/env python3
"""The recorder must never do harm to the job that it is in: whatever it meets, the job ends as it
would have without it.

ASSAY, FAKE_NCCL_JOB and FAKE_CUPTI name the programs.     exit status: 0 good, else failed
"""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import unittest

import writers

JOB = os.environ['FAKE_NCCL_JOB']
LIBRARY = pathlib.Path(os.environ['ASSAY']).parent / 'libassay_recorder.so'
STEPS = '1000'  # about 1.5 MB: more than the recorder reserves at once
NOBODY = 65534
LONE_USER = 61534  # has no other processes
MIB = 1 << 20


def limits(**numbers):
    """Sets limits in the child, such as NOFILE=3."""
    def set_them():
        for name, number in numbers.items():
            resource.setrlimit(getattr(resource, f'RLIMIT_{name}'), (number, number))
    return set_them


class Harm(writers.InOwnFolder):
    def setUp(self):
        super().setUp()
        self.output = self.folder / 'rec'

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(('NCCL_', 'ASSAY_'))}
        return {**kept, 'ASSAY_RECORDER_CUPTI': os.environ['FAKE_CUPTI'],
                'ASSAY_RECORDER_OUTPUT': str(self.output), **more}

    def start(self, end='talk', more=None, plugin=LIBRARY, **options):
        plugin = {'NCCL_PROFILER_PLUGIN': str(plugin)} if plugin else {}
        return subprocess.Popen([JOB, '0', '2', STEPS, end], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment(**plugin, **(more or {})), **options)

    def ends(self, job):
        """Lets the job go on; returns what it says on its standard error."""
        out, words = job.communicate(timeout=60)
        self.assertEqual((job.returncode, out), self.end_without, words)
        return words

    @property
    def end_without(self):
        job = self.start(plugin=None)
        out, _ = job.communicate(timeout=60)
        return job.returncode, out

    def limited(self, **numbers):
        return self.ends(self.start(preexec_fn=limits(**numbers)))

    def recording(self):
        return next(self.output.glob('*.rec'))

    def once(self, words, sentence):
        self.assertEqual(words.count(sentence), 1, words)

    def test_the_job_ends_as_it_should(self):
        self.assertEqual(self.end_without, (7, 'ready\ndone\n'))
        self.assertEqual(self.ends(self.start()), '')

    def test_few_open_files(self):
        for number in range(3, 10):
            if self.job_starts(NOFILE=number):
                self.limited(NOFILE=number)

    def job_starts(self, **numbers):
        job = self.start(plugin=None, preexec_fn=limits(**numbers))
        job.communicate(timeout=60)
        return job.returncode == 7

    def test_small_files(self):
        for size in (0, 1, 247):
            self.once(self.limited(FSIZE=size), 'nothing is recorded')
            self.assertEqual(list(self.output.iterdir()), [])
        for size in (248, 16384, 100_000, MIB):
            words = self.limited(FSIZE=size)
            self.once(words, 'recording ends')
            self.once(words, 'File too large')

    def test_its_own_words_may_not_fit(self):
        """The job's own standard error is a file at the limit, or a pipe that nobody reads."""
        more = {'ASSAY_RECORDER_EVENTS': 'nonsense'}
        with open(self.folder / 'log', 'wb') as log:
            done = subprocess.run([JOB, '0', '2', '5', 'talk'], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=log, check=False, timeout=60,
                                  env=self.environment(NCCL_PROFILER_PLUGIN=str(LIBRARY), **more),
                                  preexec_fn=limits(FSIZE=0))
        self.assertEqual(done.returncode, 7)
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([JOB, '0', '2', '5', 'talk'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=writer, check=False, timeout=60,
                              env=self.environment(NCCL_PROFILER_PLUGIN=str(LIBRARY), **more))
        os.close(writer)
        self.assertEqual(done.returncode, 7)

    def test_little_memory(self):
        for size in (64, 128, 256, 512, 1024, 1100, 1200, 2048):
            if self.job_starts(AS=size * MIB):
                self.limited(AS=size * MIB)

    def test_no_memory(self):
        # The fake CUPTI itself cannot start without memory.
        for end, more in (('starve', {}), ('starved', {'ASSAY_RECORDER_CUPTI': 'off'})):
            job = self.start(end, more)
            _, words = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 0, words)

    def test_no_more_threads(self):
        user = {}
        if os.geteuid() == 0:
            if not self.reachable():
                self.skipTest('root has no limit on processes, and nobody else may run the job')
            user = {'user': LONE_USER}
            self.folder.chmod(0o777)
        # This job has one thread, and the recorder gets none.
        done = subprocess.run([JOB, 'bench', '1000'], capture_output=True, text=True, check=False,
                              env=self.environment(NCCL_PROFILER_PLUGIN=str(LIBRARY)), timeout=60,
                              preexec_fn=limits(NPROC=1), **user)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.once(done.stderr, 'cannot start a thread')

    def reachable(self):
        done = subprocess.run(['test', '-x', JOB, '-a', '-r', LIBRARY], user=LONE_USER, check=False)
        return done.returncode == 0

    def test_cupti_is_left_alone_while_the_process_tears_down(self):
        for end in ('exit', 'opposite'):
            job = self.start(end)
            _, words = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 0, words)

    def changed_while_it_runs(self, change):
        job = self.start()
        self.assertEqual(job.stdout.readline(), 'ready\n')
        change()
        job.stdin.close()
        job.stdin = None
        out, words = job.communicate(timeout=60)
        self.assertEqual((job.returncode, out), (7, 'done\n'), words)
        return words

    def test_folder_is_removed(self):
        self.changed_while_it_runs(lambda: shutil.rmtree(self.output))

    def test_folder_becomes_read_only(self):
        self.changed_while_it_runs(lambda: self.output.chmod(0o555))
        self.output.chmod(0o755)

    def test_folder_is_read_only(self):
        self.output.mkdir()
        self.output.chmod(0o555)
        user = {'user': NOBODY} if os.geteuid() == 0 and self.reachable() else {}
        self.ends(self.start(**user))
        self.output.chmod(0o755)

    def test_folder_is_a_file(self):
        self.output.write_text('mine')
        self.once(self.ends(self.start()), 'nothing is recorded')
        self.assertEqual(self.output.read_text(), 'mine')

    def test_recording_is_removed(self):
        self.changed_while_it_runs(lambda: self.recording().unlink())

    def test_recording_is_truncated(self):
        for size in (0, 100, 16384, 100_000):
            shutil.rmtree(self.output, ignore_errors=True)
            self.changed_while_it_runs(lambda: os.truncate(self.recording(), size))

    def test_disk_is_full(self):
        self.output.mkdir()
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1280k', 'none', self.output],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest('mounting a small file system is not allowed: ' + mounted.stderr.strip())
        self.addCleanup(subprocess.run, ['umount', self.output], check=False)
        self.once(self.ends(self.start()), 'No space left')
        for recording in self.output.iterdir():
            recording.unlink()
        job = self.start('exit')  # which has no other end than the process's
        _, words = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)
        self.once(words, 'No space left')

    def test_killed(self):
        job = self.start()
        self.assertEqual(job.stdout.readline(), 'ready\n')
        job.kill()
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, -signal.SIGKILL)
        self.assertGreater(self.recording().stat().st_size, 0)


if __name__ == '__main__':
    sys.exit(unittest.main())
