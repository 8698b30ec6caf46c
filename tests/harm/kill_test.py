#!/usr/bin/env python3
"""Every command that writes, killed at random moments: no file is ever half-written under its final
name, and the next run removes what the killed ones left.

usage: ASSAY=PROGRAM [ASSAY_KILLS=300] [ASSAY_SEED=N] kill_test.py     exit status: 0 good, else failed
"""
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

import writers
from writers import ASSAY, OUTPUT, PATIENCE_S, into

KILLS = int(os.environ.get('ASSAY_KILLS', '8'))
SEED = int(os.environ.get('ASSAY_SEED', time.time_ns()))


def files_in(place):
    if place.is_file():
        return {'': place}
    return {str(path.relative_to(place)): path for path in place.rglob('*')
            if path.is_file() and not any(part.startswith('.assay-') for part in path.parts)}


def files_of_job(place):
    """The files that each of its runs has, but for what says when they were."""
    return {key: path for key, path in files_in(place).items()
            if path.suffix in ('.csv', '.json') or key == 'gemm_perf.txt'
            if 'reports' not in path.parts and 'unfinished' not in key}


class Kill(writers.InOwnFolder):
    def start(self, command):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                start_new_session=True)

    def run_whole(self, name, command):
        started = time.monotonic()
        self.assertEqual(self.start(command).wait(120), 0, name)
        return time.monotonic() - started

    def kill_at(self, command, moment):
        victim = self.start(command)
        try:
            victim.wait(moment)
        except subprocess.TimeoutExpired:
            os.killpg(victim.pid, signal.SIGKILL)
            victim.wait()

    def kill_often(self, name, command, output):
        reference = self.folder / f'whole {name}'
        seconds = self.run_whole(name, into(reference, command))
        whole = {key: path.read_bytes() for key, path in files_in(reference).items()}
        self.assertTrue(whole, name)
        moments = random.Random(f'{SEED} {name}')
        for number in range(KILLS):
            moment = moments.uniform(0, 1.05 * seconds)
            label = f'{name}, kill {number} after {moment:.4f} s, ASSAY_SEED={SEED}'
            self.kill_at(into(output, command), moment)
            for key, path in (files_in(output) if output.exists() else {}).items():
                self.assertIn(key, whole, label)
                self.assert_whole(path.read_bytes(), whole[key], path, label)
        self.run_whole(name, into(output, command))
        self.assertEqual(sorted(files_in(output)), sorted(whole), name)
        self.nothing_left(f'{name}, ASSAY_SEED={SEED}')

    def test_files(self):
        text = self.folder / 'job.goal'
        binary = self.folder / 'job.bin'
        ops = ''.join(f'l{i}: calc {i * 7919}\n' for i in range(1, 40000))
        text.write_text('num_ranks 2\n' + ''.join(f'rank {rank} {{\n{ops}}}\n' for rank in (0, 1)))
        self.run_whole('to-bin', into(binary, ('goal', 'to-bin', text, '-o', OUTPUT)))
        for name, command in writers.file_commands(text, binary).items():
            self.kill_often(name, command, self.place / 'output')
            (self.place / 'output').unlink()

    def test_folders(self):
        for name, command in writers.folder_commands(self.folder).items():
            self.kill_often(name, command, self.place / name)

    def assert_lines(self, path, whole, label):
        """Its times are others, but it has as many lines."""
        if path.suffix == '.json':
            json.loads(path.read_bytes())
            return
        self.assertEqual(path.read_bytes().count(b'\n'), whole.read_bytes().count(b'\n'), label)
        self.assertTrue(path.read_bytes().endswith(b'\n'), label)

    def until_whole(self, name, commands):
        """A killed run's processes may live a moment longer, and keep its lock so long."""
        give_up_at = time.monotonic() + PATIENCE_S
        while all(self.start(command).wait(PATIENCE_S) != 0 for command in commands):
            self.assertLess(time.monotonic(), give_up_at, f'{name}, ASSAY_SEED={SEED}')

    def test_jobs(self):
        """What goes on after a kill has in the end what it would have had without one."""
        for name, command in writers.job_commands().items():
            if name == 'record':
                continue
            output = self.place / name
            anew, resumed = into(output, command), into(output, writers.resumed(command))
            seconds = self.run_whole(name, into(self.folder / name, command))
            moments = random.Random(f'{SEED} {name}')
            for number in range(KILLS):
                self.kill_at([anew, resumed][number % 2], moments.uniform(0, 1.05 * seconds))
            # Nothing is left to resume when the last of them came to its end.
            self.until_whole(name, [resumed, anew])
            whole = files_of_job(self.folder / name)
            found = files_of_job(output)
            self.assertEqual(found.keys(), whole.keys(), f'{name}, ASSAY_SEED={SEED}')
            for key, path in found.items():
                self.assert_lines(path, whole[key], f'{name}: {key}, ASSAY_SEED={SEED}')
            self.nothing_left(f'{name}, ASSAY_SEED={SEED}')

    def test_a_store(self):
        """A store has all rows of an import or none, so the next import finds all, and none twice."""
        tables = self.folder / 'tables'
        self.run_whole('export', into(tables, writers.folder_commands(self.folder)['export']))
        command = ('store', 'import', tables, '-q', '--store', OUTPUT)

        def listed(store):
            shown = subprocess.run([ASSAY, 'store', 'list', '--store', store, '--format', 'csv'],
                                   stdout=subprocess.PIPE, check=True, text=True).stdout
            rows = shown.split('\n\n')[0].splitlines()
            return [row.split(',')[:6] for row in rows]  # without the times of the import

        seconds = self.run_whole('import', into(self.folder / 'whole.db', command))
        whole = listed(self.folder / 'whole.db')
        moments = random.Random(SEED)
        for number in range(KILLS):
            store = self.place / f'{number % 4}.db'
            self.kill_at(into(store, command), moments.uniform(0, 1.05 * seconds))
        for store in sorted(self.place.glob('*.db')):
            self.run_whole('import', into(store, command))
            self.assertEqual(listed(store), whole, f'ASSAY_SEED={SEED}')
        self.nothing_left(f'import, ASSAY_SEED={SEED}')


if __name__ == '__main__':
    sys.exit(unittest.main())
