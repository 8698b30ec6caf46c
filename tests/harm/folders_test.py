#!/usr/bin/env python3
"""A folder of outputs must never do harm: every command that writes one, with every kind of thing
under the names of its files.

usage: ASSAY=PROGRAM [ASSAY_EVERYTHING=1] folders_test.py     exit status: 0 good, else failed

Each pair ends with an error that names the file, or with the whole output; what was there stays
what it was, and nothing beside the folder changes.
"""
import contextlib
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import writers
from writers import EVERYTHING, PATIENCE_S, into, run, snapshot

ROUNDS = 20 if EVERYTHING else 1


def files_in(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob('*')
                  if not path.is_dir() or path.is_symlink())


def wait_until(condition):
    give_up_at = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > give_up_at:
            raise AssertionError('waited in vain')
        time.sleep(0.01)


def run_beside_readers(command, fifos):
    """Reads the FIFOs while the command runs."""
    readers = {os.open(fifo, os.O_RDONLY | os.O_NONBLOCK): fifo for fifo in fifos}
    got = dict.fromkeys(fifos, b'')

    def read(reader):
        with contextlib.suppress(BlockingIOError):
            while more := os.read(reader, 1 << 20):
                got[readers[reader]] += more

    with tempfile.TemporaryFile('w+') as words, select.epoll() as poll:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=words)
        for reader in readers:
            poll.register(reader, select.EPOLLIN | select.EPOLLET)
        while running.poll() is None:
            for reader, _ in poll.poll(0.02):
                read(reader)
        for reader in readers:
            read(reader)
            os.close(reader)
        words.seek(0)
        return subprocess.CompletedProcess(command, running.returncode, '', words.read()), got


def for_each_command(test):
    def run_all(self):
        for name in self.commands:
            with self.subTest(name):
                self.begin_anew()
                test(self, name)
                self.nothing_outside()
    return run_all


def for_each_name(test):
    def run_all(self):
        for name in self.commands:
            for path in self.names(name):
                with self.subTest(f'{name}: {path}'):
                    self.begin_anew()
                    test(self, name, self.output / path)
                    self.nothing_outside()
    return run_all


class Folders(writers.InOwnFolder):
    @classmethod
    def setUpClass(cls):
        """Each command's own output, by the names of its files."""
        super().setUpClass()
        cls.inputs = test = cls('setUp')
        writers.InOwnFolder.setUp(test)
        cls.addClassCleanup(test.doCleanups)
        cls.commands = writers.folder_commands(test.folder)
        cls.whole = {}
        for name, command in cls.commands.items():
            done = run(into(test.place / name, command))
            test.assertEqual(done.returncode, 0, f'{name}: {done.stderr}')
            cls.whole[name] = {path: (test.place / name / path).read_bytes()
                               for path in files_in(test.place / name)}

    def setUp(self):
        super().setUp()
        self.output = self.place / 'output'
        self.outside = self.folder / 'outside'

    def begin_anew(self):
        for folder in (self.place, self.outside):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        (self.outside / 'precious').write_text('precious')

    def nothing_outside(self):
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ['outside', 'place'])
        self.assertEqual((self.outside / 'precious').read_text(), 'precious')

    def names(self, name):
        """One file for each ending, or all."""
        first = {path.suffix: path for path in reversed(self.whole[name])}
        return sorted(self.whole[name] if EVERYTHING else first.values())

    def prepare(self, name, make):
        """Puts something under each final name."""
        for number, path in enumerate(self.whole[name]):
            (self.output / path).parent.mkdir(parents=True, exist_ok=True)
            make(number, self.output / path)

    def run_into(self, name, **options):
        return run(into(self.output, self.commands[name]), **options)

    def good(self, done, name):
        self.assertEqual(done.returncode, 0, f'{name}: {done.stderr}')
        self.nothing_left(name)

    def refused(self, done, name, path):
        self.assertEqual(done.returncode, 1, f'{name}: {done.stderr}')
        self.assertIn(str(path), done.stderr, name)
        self.nothing_left(name)

    def all_whole(self, name, folder=None):
        for path, content in self.whole[name].items():
            file = (folder or self.output) / path
            self.assert_whole(file.read_bytes(), content, file, f'{name}: {path}')

    @for_each_command
    def test_links_stay_links(self, name):
        for existing in (True, False):
            self.begin_anew()

            def make(number, path):
                target = self.outside / f'{number}{path.suffix}'
                path.symlink_to(target)
                if existing:
                    target.write_text('old')
            self.prepare(name, make)
            self.good(self.run_into(name), name)
            self.all_whole(name)
            self.assertEqual([path for path in self.whole[name]
                              if not (self.output / path).is_symlink()], [])
            self.assertEqual(len(list(self.outside.iterdir())), len(self.whole[name]) + 1)

    @for_each_command
    def test_devices_stay_devices(self, name):
        if not writers.can_make_devices(self.place):
            self.skipTest('only root may make devices, and not in every container')
        self.prepare(name, lambda _, path: writers.make_device(path))
        before = snapshot(self.output)
        self.good(self.run_into(name), name)
        self.assertEqual(snapshot(self.output), before)

    @for_each_command
    def test_a_fifo_gets_its_file(self, name):
        self.prepare(name, lambda _, path: os.mkfifo(path))
        fifos = [self.output / path for path in self.whole[name]]
        done, got = run_beside_readers(into(self.output, self.commands[name]), fifos)
        self.good(done, name)
        for path, content in self.whole[name].items():
            fifo = self.output / path
            self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))
            fifo.unlink()
            fifo.write_bytes(got[fifo])
        self.all_whole(name)

    @for_each_name
    def test_a_folder_under_a_files_name_is_refused(self, name, path):
        path.mkdir(parents=True)
        (path / 'mine').write_text('mine')
        self.refused(self.run_into(name), name, path)
        self.assertEqual((path / 'mine').read_text(), 'mine')

    @for_each_command
    def test_a_link_to_a_folder_under_a_files_name_is_refused(self, name):
        path = self.output / next(iter(self.whole[name]))
        path.parent.mkdir(parents=True)
        path.symlink_to(self.outside)
        before = snapshot(self.outside)
        self.refused(self.run_into(name), name, path)
        self.assertEqual(snapshot(self.outside), before)
        self.assertTrue(path.is_symlink())

    @for_each_command
    def test_a_file_under_a_folders_name_is_refused(self, name):
        for folder in sorted({path.parent for path in self.names(name)}):
            self.begin_anew()
            place = self.output / folder
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text('mine')
            self.refused(self.run_into(name), name, place)
            self.assertEqual(place.read_text(), 'mine')

    @for_each_command
    def test_a_link_to_a_folder_is_followed(self, name):
        self.output.symlink_to(self.outside)
        self.good(self.run_into(name), name)
        self.assertTrue(self.output.is_symlink())
        self.all_whole(name, self.outside)

    @for_each_command
    def test_two_at_once_never_mix(self, name):
        """Each file that differs between two inputs is of one and the same of them."""
        commands = [self.commands[name], writers.with_other_input(self.commands[name])]
        whole = []
        for command in commands:
            self.good(run(into(self.outside / 'whole', command)), name)
            whole.append({path: (self.outside / 'whole' / path).read_bytes()
                          for path in files_in(self.outside / 'whole')})
        self.assertEqual(whole[0].keys(), whole[1].keys())
        for _ in range(ROUNDS):
            running = [subprocess.Popen(into(self.output, command), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True) for command in commands]
            for one in running:
                words = one.communicate(timeout=PATIENCE_S)[1]
                if one.returncode != 0:
                    self.assertIn(f"another process is writing into '{self.output}'", words)
            self.assertIn(0, [one.returncode for one in running])
            found = set()
            for path in whole[0]:
                got = (self.output / path).read_bytes()
                if got in (whole[0][path], whole[1][path]) and whole[0][path] != whole[1][path]:
                    found.add('first' if got == whole[0][path] else 'second')
            self.assertLessEqual(len(found), 1, f'{name}: files of both runs')
            self.nothing_left(name)

    @for_each_command
    def test_a_link_to_nowhere_is_refused(self, name):
        self.output.symlink_to(self.outside / 'nothing')
        before = snapshot(self.folder)
        self.refused(self.run_into(name), name, self.output)
        self.assertEqual(snapshot(self.folder), before)

    @for_each_command
    def test_ctrl_c_ends_waiting_for_a_fifos_reader(self, name):
        fifo = self.output / next(iter(self.whole[name]))
        fifo.parent.mkdir(parents=True)
        os.mkfifo(fifo)
        waiting = self.place / 'tmp'
        waiting.mkdir()
        running = subprocess.Popen(into(self.output, self.commands[name]), text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env={**os.environ, 'TMPDIR': waiting})
        wait_until(lambda: any(waiting.iterdir()))
        self.assertIsNone(running.poll())
        running.send_signal(signal.SIGINT)
        words = running.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(running.returncode, 130, words)
        self.nothing_left(name)

    @for_each_command
    def test_a_read_only_folder_is_refused(self, name):
        user = writers.as_nobody(self)
        for folder in (self.folder, self.inputs.folder):
            folder.chmod(0o755)
        self.place.chmod(0o555)
        try:
            self.refused(self.run_into(name, **user), name, self.output)
            self.output.mkdir()
            self.output.chmod(0o555)
            self.refused(self.run_into(name, **user), name, self.output)
            self.assertEqual(list(self.output.iterdir()), [])
        finally:
            self.place.chmod(0o755)

    @for_each_command
    def test_a_full_disk_is_an_error_that_names_a_file(self, name):
        needed = sum(map(len, self.whole[name].values()))
        self.output.mkdir()
        with writers.small_disk(self, self.output, needed // 2):
            done = self.run_into(name)
            self.refused(done, name, self.output)
            # One error of ours, and no input is blamed.
            self.assertEqual(done.stderr.count('cannot write'), 1, done.stderr)
            for wrong in ('[ERROR]', 'left out'):
                self.assertNotIn(wrong, done.stderr, name)
            for path in files_in(self.output):
                self.assert_whole((self.output / path).read_bytes(), self.whole[name][path],
                                  self.output / path, f'{name}: {path}')

    @for_each_command
    def test_a_closed_output_is_an_error(self, name):
        """The files are written before what is printed; what prints nothing does not miss it."""
        loud = [word for word in into(self.output, self.commands[name]) if word != '-q']
        done = run(['sh', '-c', '"$0" "$@" >&-', *loud])
        if name == 'help':
            self.good(done, name)
        else:
            self.refused(done, name, 'cannot write to standard output')
        self.all_whole(name)


if __name__ == '__main__':
    sys.exit(unittest.main())
