#!/usr/bin/env python3
"""Where an output goes must never do harm: every command that writes, to every kind of place.

usage: ASSAY=PROGRAM [ASSAY_EVERYTHING=1] outputs_test.py     exit status: 0 good, else failed

Each pair of a command and a place ends with an error that names the output, or with the whole
output; what was there stays what it was, and nothing is left beside it.
"""
import os
import resource
import stat
import subprocess
import sys
import threading
import unittest

import writers
from writers import ASSAY, into

SCHEDULE = 'num_ranks 2\n' + ''.join(
    f'rank {rank} {{\nl1: calc {"9" * 15}\nl2: {word} 8b {where} {1 - rank} tag 7\n'
    'l2 requires l1\n}\n' for rank, (word, where) in enumerate([('send', 'to'), ('recv', 'from')]))


def run(*arguments, **options):
    return subprocess.run([ASSAY, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output='stdout' not in options, text=True, check=False,
                          timeout=120, **options)


def run_into(output, command, **options):
    return run(*into(output, command)[1:], **options)


class Outputs(writers.InOwnFolder):
    def setUp(self):
        super().setUp()
        self.input = self.folder / 'input'
        self.input.mkdir()
        self.text = self.input / 'job.goal'
        self.text.write_text(SCHEDULE)
        self.binary = self.input / 'job.bin'
        self.assertEqual(run('goal', 'to-bin', self.text, '-o', self.binary).returncode, 0)

    def file_commands(self):
        return writers.file_commands(self.text, self.binary)

    def expected(self):
        whole = {}
        for name, command in self.file_commands().items():
            self.assertEqual(run_into(self.folder / 'whole', command).returncode, 0, name)
            whole[name] = (self.folder / 'whole').read_bytes()
            (self.folder / 'whole').unlink()
        return whole

    def test_a_fifo_gets_the_output(self):
        for name, whole in self.expected().items():
            fifo = self.place / 'fifo'
            os.mkfifo(fifo)
            got = []
            reader = threading.Thread(target=lambda path=fifo: got.append(path.read_bytes()))
            reader.start()
            done = run_into(fifo, self.file_commands()[name])
            if done.returncode != 0:  # lets the reader end
                os.close(os.open(fifo, os.O_WRONLY))
            reader.join()
            self.assertEqual(done.returncode, 0, f'{name}: {done.stderr}')
            self.assertEqual(got[0], whole, name)
            self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode), name)
            fifo.unlink()
            self.nothing_left(name)

    def test_a_device_stays_one(self):
        null = self.place / 'null'
        try:
            os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            null.write_bytes(b'x')
        except OSError:
            self.skipTest('only root may make devices, and not in every container')
        for name, command in self.file_commands().items():
            done = run_into(null, command)
            self.assertEqual(done.returncode, 0, f'{name}: {done.stderr}')
            self.assertTrue(stat.S_ISCHR(null.stat().st_mode), name)
            self.nothing_left(name)

    def test_a_full_device_is_an_error(self):
        for name, command in self.file_commands().items():
            done = run_into('/dev/full', command)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn("'/dev/full': No space left", done.stderr, name)
            self.assertTrue(stat.S_ISCHR(os.stat('/dev/full').st_mode), name)

    def test_links_stay_links(self):
        for name, whole in self.expected().items():
            for existing in (True, False):
                target = self.place / 'target'
                link = self.place / 'link'
                link.symlink_to('target')
                if existing:
                    target.write_text('old')
                done = run_into(link, self.file_commands()[name])
                self.assertEqual(done.returncode, 0, f'{name}: {done.stderr}')
                self.assertTrue(link.is_symlink(), name)
                self.assertEqual(target.read_bytes(), whole, name)
                target.unlink()
                link.unlink()

    def test_a_folder_is_refused(self):
        for name, command in self.file_commands().items():
            done = run_into(self.place, command)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(f"'{self.place}'", done.stderr, name)
            self.assertEqual(list(self.place.iterdir()), [], name)

    def test_read_only_files_and_folders_are_refused(self):
        user = writers.as_nobody(self)
        self.folder.chmod(0o755)
        for name, command in self.file_commands().items():
            old = self.place / 'old'
            old.write_text('old')
            old.chmod(0o444)
            self.place.chmod(0o555)
            try:
                for output in (old, self.place / 'new'):
                    done = run_into(output, command, **user)
                    self.assertEqual(done.returncode, 1, f'{name}: {done.stderr}')
                    self.assertIn(str(output), done.stderr, name)
            finally:
                self.place.chmod(0o755)
            self.assertEqual(old.read_text(), 'old', name)
            old.chmod(0o644)
            old.unlink()

    def test_a_disk_that_gets_full_is_an_error_that_names_a_file(self):
        """A limit on the size of files stands for the disk: only the errno differs."""
        for name, command in {**self.file_commands(),
                              **writers.folder_commands(self.folder)}.items():
            output = self.place / name
            done = run_into(output, command, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (64, 64)))
            self.assertEqual(done.returncode, 1, f'{name}: {done.stderr}')
            self.assertRegex(done.stderr, str(self.place), name)
            left = [path for path in self.place.rglob('*') if path.is_file()]
            self.assertEqual([path for path in left if path.stat().st_size == 64], [], name)
            self.nothing_left(name)

    def test_a_closed_output_is_an_error(self):
        for words in ([], ['--version'], ['store', 'list'], ['goal', 'stat', self.binary],
                      ['goal', 'to-text', self.binary, '-o', '-'], ['help', 'goal']):
            done = subprocess.run(['sh', '-c', '"$0" "$@" >&-', ASSAY, *map(str, words)],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  check=False, timeout=60)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn('cannot write to standard output', done.stderr, words)
        # What prints nothing does not miss it.
        done = subprocess.run(['sh', '-c', '"$0" "$@" >&-', ASSAY, 'goal', 'to-bin', self.text, '-o',
                               self.place / 'job.bin'], check=False, timeout=60,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_two_at_once_leave_one_whole_output(self):
        for name, whole in self.expected().items():
            output = self.place / 'output'
            running = [subprocess.Popen(into(output, self.file_commands()[name]),
                                        stdout=subprocess.DEVNULL) for _ in range(8)]
            self.assertEqual([one.wait(60) for one in running], [0] * 8, name)
            self.assertEqual(output.read_bytes(), whole, name)
            output.unlink()
            self.nothing_left(name)

    def test_a_kill_leaves_nothing_that_the_next_run_does_not_remove(self):
        for name, command in self.file_commands().items():
            output = self.place / 'output'
            for delay in (0.002, 0.004, 0.008, 0.016):
                victim = subprocess.Popen(into(output, command),
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    victim.wait(delay)
                except subprocess.TimeoutExpired:
                    victim.kill()
                    victim.wait()
            done = run_into(output, command)
            self.assertEqual(done.returncode, 0, f'{name}: {done.stderr}')
            self.nothing_left(name)

    def test_devices_are_no_inputs(self):
        for words in (['goal', 'stat'], ['goal', 'to-bin'], ['trace', 'report'], ['simulate'],
                      ['allreduce', 'lookup'], ['store', 'check'], ['store', 'list', '--store']):
            done = run(*words, '/dev/zero', cwd=self.place)
            self.assertIn(done.returncode, (1, 2), words)
            self.assertNotIn('terminate', done.stderr, words)


if __name__ == '__main__':
    sys.exit(unittest.main())
