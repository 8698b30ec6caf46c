#!/usr/bin/env python3
"""What commands keep and go on with later must never do harm: the folders of collections,
benchmarks, sweeps and recordings, and stores, with every kind of thing under the names in them.

usage: ASSAY=PROGRAM jobs_test.py     exit status: 0 good, else failed
"""
import os
import shutil
import subprocess
import sys
import unittest

import writers
from writers import OUTPUT, into, run, snapshot

# What is written bit by bit and read again can only be a regular file.
STATE = {
    'collect': ('perf.db', 'perf.db-wal', 'perf.db-shm', 'perf.db-journal', '.assay_collect.lock'),
    'bench': ('benchmark.tp2.sm90.csv', 'worker.log', '.allreduce_bench.lock'),
    'sweep': ('.sweep.lock',),
}
LOCKS = ('.assay_collect.lock', '.allreduce_bench.lock', '.sweep.lock')


class Jobs(writers.InOwnFolder):
    def setUp(self):
        super().setUp()
        self.output = self.place / 'output'
        self.outside = self.folder / 'outside'
        self.commands = writers.job_commands()

    def begin_anew(self):
        for folder in (self.place, self.outside):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        (self.outside / 'precious').write_text('precious')

    def command(self, job):
        """A benchmark refuses what is there unless it is told to replace it."""
        words = into(self.output, self.commands[job])
        return [*words, '--overwrite'] if job == 'bench' else words

    def run_job(self, job, **options):
        return run(self.command(job), cwd=self.folder, **options)

    def refused(self, done, path):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(str(path), done.stderr)
        self.nothing_left(path.name)

    def refuses(self, job, name, make):
        with self.subTest(f'{job}: {name}'):
            self.begin_anew()
            path = self.output / name
            path.parent.mkdir(parents=True)
            make(path)
            before = snapshot(self.folder)
            self.refused(self.run_job(job), path)
            after = snapshot(self.folder)
            self.assertEqual({key: after.get(key) for key in before}, before)

    def test_state_is_a_regular_file(self):
        for job, names in STATE.items():
            for name in names:
                for make in (os.mkfifo, os.mkdir):
                    self.refuses(job, name, make)

    def test_state_is_no_device(self):
        if not writers.can_make_devices(self.place):
            self.skipTest('only root may make devices, and not in every container')
        for job, names in STATE.items():
            for name in names:
                if name != 'worker.log':  # which goes to /dev/null if the user wants it to
                    self.refuses(job, name, writers.make_device)

    def test_locks_are_no_links(self):
        for job, names in STATE.items():
            for name in set(names) & set(LOCKS):
                for target in ('precious', 'nothing'):
                    self.refuses(job, name, lambda path, target=target: path.symlink_to(
                        self.outside / target))

    def test_a_file_in_the_place_of_the_folder_is_refused(self):
        for job in self.commands:
            with self.subTest(job):
                self.begin_anew()
                self.output.write_text('mine')
                self.refused(self.run_job(job), self.output)
                self.assertEqual(self.output.read_text(), 'mine')

    def test_a_read_only_folder_is_refused(self):
        user = writers.as_nobody(self)
        self.folder.chmod(0o755)
        for job in self.commands:
            with self.subTest(job):
                self.begin_anew()
                self.place.chmod(0o555)
                self.refused(self.run_job(job, **user), self.output)
                self.place.chmod(0o755)
                self.assertEqual(list(self.place.iterdir()), [])

    def test_the_latest_reports_never_replace_another_thing(self):
        for make in (os.mkfifo, os.mkdir, lambda path: path.write_text('mine')):
            self.begin_anew()
            latest = self.output / 'reports' / 'latest'
            latest.parent.mkdir(parents=True)
            make(latest)
            before = snapshot(self.output)
            self.assertEqual(self.run_job('collect').returncode, 0)
            after = snapshot(self.output)
            self.assertEqual({key: after.get(key) for key in before}, before)

    def test_two_at_once_are_refused(self):
        for job in ('collect', 'bench', 'sweep'):
            with self.subTest(job):
                self.begin_anew()
                running = [subprocess.Popen(self.command(job), cwd=self.folder, text=True,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE) for _ in range(3)]
                for one in running:
                    words = one.communicate(timeout=60)[1]
                    if one.returncode != 0:
                        self.assertIn(str(self.output), words)
                self.assertIn(0, [one.returncode for one in running])

    def test_a_second_recording_into_the_folder_is_refused(self):
        self.begin_anew()
        record = ['record', '-o', OUTPUT, '--', 'sh', '-c', 'echo ready; read end']
        with subprocess.Popen(into(self.output, record), stdin=subprocess.PIPE, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as first:
            self.assertEqual(first.stdout.readline(), 'ready\n')
            self.refused(run(into(self.output, record)), self.output)


class Stores(writers.InOwnFolder):
    def setUp(self):
        super().setUp()
        tables = self.folder / 'tables'
        done = run(into(tables, ('store', 'export', '--store', 'h200_sxm', '--table', 'moe_perf',
                                 '-o', OUTPUT)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.store = self.place / 'store.db'
        self.command = into(self.store, ('store', 'import', tables, '--store', OUTPUT))

    def is_whole(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = run(into(self.store, ('store', 'list', '--store', OUTPUT)))
        self.assertIn('moe_perf', listed.stdout, listed.stderr)

    def refused(self, done):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(str(self.store), done.stderr)

    def test_links_stay_links(self):
        self.store.symlink_to(self.place / 'target')
        for _ in ('dangling', 'existing'):
            self.is_whole(run(self.command))
            self.assertTrue(self.store.is_symlink())
            self.assertEqual(sorted(path.name for path in self.place.iterdir()),
                             ['store.db', 'target'])

    def test_what_is_no_store_is_refused(self):
        kinds = [os.mkfifo, os.mkdir, lambda path: path.write_text('mine' * 1000)]
        if writers.can_make_devices(self.place):
            kinds.append(writers.make_device)
        for make in kinds:
            make(self.store)
            before = snapshot(self.place)
            self.refused(run(self.command))
            self.assertEqual(snapshot(self.place), before)
            shutil.rmtree(self.store) if self.store.is_dir() else self.store.unlink()

    def test_read_only_folders_and_stores_are_refused(self):
        user = writers.as_nobody(self)
        self.folder.chmod(0o755)
        self.place.chmod(0o555)
        self.refused(run(self.command, **user))
        self.place.chmod(0o755)
        self.is_whole(run(self.command))
        self.store.chmod(0o444)
        before = snapshot(self.place)
        self.refused(run(self.command, **user))
        self.assertEqual(snapshot(self.place), before)

    def test_a_full_disk_is_an_error_that_names_the_store(self):
        with writers.small_disk(self, self.place, 1 << 16):
            self.refused(run(self.command))

    def test_two_at_once_leave_one_whole_store(self):
        running = [subprocess.Popen(self.command, stdin=subprocess.DEVNULL, text=True,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                   for _ in range(4)]
        for one in running:
            words = one.communicate(timeout=60)[1]
            self.assertEqual(one.returncode, 0, words)
        self.is_whole(run(self.command))
        self.assertEqual([path.name for path in self.place.iterdir()], ['store.db'])


if __name__ == '__main__':
    sys.exit(unittest.main())
