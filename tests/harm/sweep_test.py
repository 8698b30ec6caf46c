#!/usr/bin/env python3
"""A bad job must never do harm to a sweep: 23 kinds of them beside two good ones, in one run.

usage: ASSAY=PROGRAM sweep_test.py       exit status: 0 good, else failed

Every good run is kept, every bad one is told of by name with its own reason, and nothing is left
running. The same file is the job: `sweep_test.py job DIR` is as bad as its variable KIND says.
"""
import csv
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ASSAY = os.environ.get('ASSAY', '')
NOBODY = 65534
LONG_S = 120
HUGE = 64 << 20
CHILDREN = 30

# What a good trace and a good exit code make of each job: its status and what is said of it.
OK = {
    'good1': '',
    'good2': '',
    'recreates_dir': '',
    'read_only_dir': '',
    'closes_output': '',
    'changes_directory': '',
    'huge_log': '',
    'binary_log': '',
    'removes_log': 'the command removed its log',
    'own_log': '',
    'daemon': 'left 1 process behind',
    'many_children': f'left {CHILDREN} processes behind',
}
BAD = {
    'removes_dir': ('no traces', 'the command removed its folder'),
    'dir_into_file': ('no traces', 'the command put a file in the place of its folder'),
    'exit_1': ('failed', 'exit code 1'),
    'exit_255': ('failed', 'exit code 255'),
    'removes_dir_and_fails': ('failed', 'exit code 3; the command removed its folder'),
    'segfault': ('failed', 'killed by signal 11'),
    'kills_itself': ('failed', 'killed by signal 9'),
    'aborts': ('failed', 'killed by signal 6'),
    'file_limit': ('failed', 'killed by signal 25'),
    'damaged_trace': ('bad traces', 'rank 0'),
    'empty_trace': ('bad traces', 'empty'),
    'no_trace': ('no traces', 'no torch_profiler'),
    'stubborn': ('hung', 'by SIGKILL: it did not heed SIGTERM'),
}


def write_trace(folder, cut=None):
    place = folder / 'torch_profiler' / 'rank0'
    place.mkdir(parents=True)
    (place / 'trace.json').write_text(json.dumps({
        'distributedInfo': {'backend': 'nccl', 'rank': 0, 'world_size': 1},
        'traceEvents': [{'ph': 'X', 'cat': 'kernel', 'name': 'gemm', 'pid': 0, 'tid': 7, 'ts': 10,
                         'dur': 5, 'args': {'device': 0, 'stream': 7}}]})[:cut])


def end_by(number):
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def leave_child(stubborn=False):
    if os.fork() == 0:
        os.setsid()
        if stubborn:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(LONG_S)
        os._exit(0)


def fill_file_limit(folder):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    (folder / 'file').write_bytes(bytes(8192))


def fill_disk(write):
    piece = bytes(1 << 20)
    try:
        while True:
            write(piece)
    except OSError:
        sys.exit(1)


def be_stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(LONG_S)


def before_trace(kind, folder):
    """What a bad job does while it could still write a trace."""
    endings = {'exit_1': 1, 'exit_255': 255}
    signals = {'segfault': signal.SIGSEGV, 'kills_itself': signal.SIGKILL,
               'aborts': signal.SIGABRT}
    if kind in endings:
        sys.exit(endings[kind])
    if kind in signals:
        os.kill(os.getpid(), signals[kind])
    if kind == 'file_limit':
        fill_file_limit(folder)
    if kind == 'fills_disk':
        with open(folder / 'big', 'wb', buffering=0) as file:
            fill_disk(file.write)
    if kind == 'fills_disk_by_log':
        fill_disk(lambda piece: os.write(1, piece))
    if kind == 'stubborn':
        be_stubborn()
    if kind == 'recreates_dir':
        shutil.rmtree(folder)
        folder.mkdir()
    if kind == 'changes_directory':
        os.chdir('/')
    if kind == 'closes_output':
        os.close(1)
        os.close(2)
    if kind == 'huge_log':
        for _ in range(HUGE >> 20):
            os.write(1, b'words' * (1 << 18))
    if kind == 'binary_log':
        os.write(1, bytes(range(256)) * 64)


def after_trace(kind, folder):
    if kind.startswith('removes_dir'):
        shutil.rmtree(folder)
    if kind == 'dir_into_file':
        shutil.rmtree(folder)
        folder.write_text('no folder')
    if kind == 'read_only_dir':
        folder.chmod(0o555)
    if kind == 'removes_log':
        os.unlink(os.readlink('/proc/self/fd/1'))
    if kind == 'own_log':
        (folder / 'run_output.log').write_text('the job wrote this')
    if kind == 'daemon':
        leave_child(stubborn=True)
    if kind == 'many_children':
        for _ in range(CHILDREN):
            leave_child()
    if kind == 'removes_dir_and_fails':
        sys.exit(3)


def job(folder):
    kind = os.environ['KIND']
    print('this is', kind, flush=True)
    before_trace(kind, folder)
    if kind != 'no_trace':
        write_trace(folder, {'damaged_trace': -20, 'empty_trace': 0}.get(kind))
    after_trace(kind, folder)


def marked_processes(sweep_id):
    mark = b'ASSAY_SWEEP_ID=' + sweep_id.encode()
    found = []
    for environment in pathlib.Path('/proc').glob('[0-9]*/environ'):
        try:
            if mark in environment.read_bytes().split(b'\0'):
                found.append(environment.parent.name)
        except OSError:
            pass
    return found


class Sweep(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='assay-harm-'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.sweep = self.folder / 'sweep'
        self.script = self.folder / 'job.py'
        shutil.copy(__file__, self.script)

    # The interpreter for the jobs, and who runs the sweep: a folder without write permission stops
    # anyone but root.
    def python_and_user(self):
        if os.geteuid() != 0:
            return sys.executable, {}
        user = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}
        for python in (sys.executable, '/usr/bin/python3'):
            try:
                subprocess.run([ASSAY, '--version'], check=True, capture_output=True, **user)
                subprocess.run([python, '-c', ''], check=True, capture_output=True, **user)
            except (OSError, subprocess.SubprocessError):
                continue
            os.chown(self.folder, NOBODY, NOBODY)
            return python, user
        return sys.executable, {}

    def run_sweep(self, kinds):
        def no_core_files():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        python, user = self.python_and_user()
        return subprocess.run(
            [ASSAY, 'sweep', 'run', '-o', self.sweep, '--deadline', '5', '--grace', '0.5',
             '--set', 'KIND=' + ','.join(kinds), '--', python, self.script, 'job', '{dir}'],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
            cwd=self.folder, preexec_fn=no_core_files, **user)

    def rows(self):
        with open(self.sweep / 'sweep_summary.csv', newline='', encoding='utf-8') as file:
            return {row['setting'].removesuffix('-kind'): row for row in csv.DictReader(file)}

    def log(self, row):
        return (self.sweep / row['folder'] / 'run_output.log').read_bytes()

    def test_bad_jobs_cost_only_themselves(self):
        done = self.run_sweep([*OK, *BAD])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f'{len(BAD)} of {len(OK) + len(BAD)} runs did not go well', done.stderr)
        rows = self.rows()
        for kind in OK:
            self.assertEqual((rows[kind]['status'], rows[kind]['detail']), ('ok', ''), kind)
            self.assertEqual(rows[kind]['folder'], kind + '-kind')
            trace = self.sweep / f'{kind}-kind' / 'torch_profiler' / 'rank0' / 'trace.json'
            self.assertTrue(trace.is_file(), kind)
        for kind, (status, reason) in BAD.items():
            self.assertEqual(rows[kind]['status'], status, kind)
            self.assertIn(reason, rows[kind]['detail'], kind)
            self.assertEqual(rows[kind]['folder'], kind + '-kind.failed')
        for kind, row in rows.items():
            if kind != 'removes_log':
                self.assertTrue(self.log(row).startswith(b'this is ' + kind.encode()), kind)
            record = json.loads((self.sweep / row['folder'] / 'sweep_run.json').read_text())
            self.assertIn([f'{kind}-kind'], [r[1:2] for r in record['tables'][0]['rows']], kind)
        summary = json.loads((self.sweep / 'sweep_summary.json').read_text())
        warned = {(words[0], words[1]) for table in summary['tables']
                  if table['name'] == 'warnings' for words in table['rows']}
        for kind, reason in OK.items():
            said = [words for words, runs in warned if kind + '-kind' in runs.split('; ')]
            self.assertEqual(len(said), 1 if reason else 0, (kind, said))
            self.assertTrue(not reason or reason in said[0], (kind, said))
        self.assertGreater(len(self.log(rows['huge_log'])), HUGE)
        self.assertIn(bytes(range(256)), self.log(rows['binary_log']))
        self.assertEqual(
            (self.sweep / 'own_log-kind' / 'run_output.log.own').read_text(), 'the job wrote this')
        self.assertEqual((self.sweep / 'dir_into_file-kind.file').read_text(), 'no folder')
        self.assertEqual(list(self.sweep.glob('*.log')), [])
        sweep_id = json.loads((self.sweep / 'sweep.json').read_text())['id']
        self.assertEqual(marked_processes(sweep_id), [])


@unittest.skipUnless(shutil.which('unshare'), 'no disk can be mounted without unshare')
class FullDisk(unittest.TestCase):
    KINDS = {'good1': 'ok', 'fills_disk': 'failed', 'good2': 'ok', 'fills_disk_by_log': 'failed',
             'good3': 'ok'}

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='assay-harm-')
        self.addCleanup(folder.cleanup)
        self.disk = pathlib.Path(folder.name) / 'disk'
        self.disk.mkdir()
        self.script = pathlib.Path(folder.name) / 'job.py'
        shutil.copy(__file__, self.script)

    def test_a_run_that_fills_the_disk_costs_only_itself(self):
        done = subprocess.run(
            ['unshare', '-rm', 'sh', '-c',
             'mount -t tmpfs -o size=40m none "$0" || exit 77; cd "$0"; "$@"; '
             'cat sweep/sweep_summary.csv',
             self.disk, ASSAY, 'sweep', 'run', '-q', '-o', 'sweep', '--seed', '1', '--set',
             'KIND=' + ','.join(self.KINDS), '--', sys.executable, self.script, 'job', '{dir}'],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode == 77 or 'unshare' in done.stderr:
            self.skipTest('no disk can be mounted here')
        rows = {row['setting'].removesuffix('-kind'): row
                for row in csv.DictReader(done.stdout.splitlines())}
        self.assertEqual({kind: row['status'] for kind, row in rows.items()}, self.KINDS,
                         done.stderr)
        for kind, row in rows.items():
            said = 'the disk was full: its files were removed' in row['detail']
            self.assertEqual(said, kind.startswith('fills'), row['detail'])


class Report(unittest.TestCase):
    SETTINGS = ('default', '8cta_512threads', '16cta_256threads')
    DAMAGES = {'cut': lambda whole: whole[:3000], 'empty': lambda whole: b'',
               'no gzip': lambda whole: b'no gzip' * 100}

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='assay-harm-')
        self.addCleanup(folder.cleanup)
        self.sweep = pathlib.Path(folder.name) / 'sweep'
        self.sweep.mkdir()
        sample = pathlib.Path(__file__).resolve().parents[2] / 'samples' / 'sweep-nccl-ctas'
        shutil.copy(sample / 'sweep.json', self.sweep)
        for name in self.SETTINGS:
            shutil.copytree(sample / name, self.sweep / name)

    def trace(self, setting, repeat=2):
        return (self.sweep / setting / f'repeat{repeat}' / 'torch_profiler' / 'rank1' /
                'trace.json.gz')

    def runs(self):
        book = json.loads((self.sweep / 'sweep_report.json').read_text())
        return {row[0]: row[1] for row in book['tables'][0]['rows']}

    def report(self, *options):
        return subprocess.run([ASSAY, 'sweep', 'report', self.sweep, '--write', 'json', *options],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=120)

    def assert_left_out(self, done, bad):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"{bad}, repeat 2 is left out: '{self.trace(bad)}'", done.stderr)
        self.assertIn('1 repeat is left out', done.stderr)
        self.assertEqual(self.runs(), {name: 2 if name == bad else 3 for name in self.SETTINGS})
        book = json.loads((self.sweep / 'sweep_report.json').read_text())
        left_out = next(table for table in book['tables'] if table['name'] == 'left_out')
        self.assertEqual([row[:2] for row in left_out['rows']], [[bad, 2]])
        for good in set(self.SETTINGS) - {bad}:
            self.assertNotIn(f'{good}, repeat', done.stderr)

    def test_a_damaged_trace_costs_only_its_repeat(self):
        for bad, (name, damaged) in zip(self.SETTINGS, self.DAMAGES.items()):
            whole = self.trace(bad).read_bytes()
            self.trace(bad).write_bytes(damaged(whole))
            with self.subTest(damage=name, setting=bad):
                self.assert_left_out(self.report(), bad)
            self.trace(bad).write_bytes(whole)

    def damage_all(self, setting):
        for repeat in 1, 2, 3:
            self.trace(setting, repeat).write_bytes(b'')

    def test_a_setting_without_a_whole_repeat_is_left_out(self):
        bad = self.SETTINGS[1]
        self.damage_all(bad)
        done = self.report()
        self.assertEqual(done.returncode, 1)
        self.assertIn(f'setting {bad} is left out', done.stderr)
        self.assertIn('1 of 3 settings is left out', done.stderr)
        self.assertEqual(self.runs(), {name: 3 for name in self.SETTINGS if name != bad})

    def test_a_damaged_baseline_that_was_asked_for_is_an_error(self):
        bad = self.SETTINGS[1]
        self.damage_all(bad)
        done = self.report('--baseline', bad)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"the baseline {bad} cannot be used: '{self.trace(bad, 3)}'", done.stderr)
        self.assertFalse((self.sweep / 'sweep_report.json').exists())


if __name__ == '__main__':
    if sys.argv[1:2] == ['job']:
        job(pathlib.Path(sys.argv[2]))
    else:
        unittest.main()
