#!/usr/bin/env python3
"""What happens to plan commands from outside: a reader that leaves, a full disk, Ctrl-C, a kill while
tables are kept beside the user's caches, several at once, and a folder of caches that nobody may write.

usage: ASSAY=PROGRAM [ASSAY_KILLS=8] [ASSAY_SEED=N] plan_test.py     exit status: 0 good, else failed
"""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import writers
from writers import ASSAY, PATIENCE_S, run

KILLS = int(os.environ.get('ASSAY_KILLS', '8'))
SEED = int(os.environ.get('ASSAY_SEED', time.time_ns()))

# Commands that take long enough to be disturbed.
LONG = {
    'estimate': ('plan', 'estimate', '--model', 'qwen3-8b', '--request-rate', '20', '--requests',
                 '500000'),
    'estimate of pools': ('plan', 'estimate', '--model', 'qwen3-8b', '--prefill', '4P(tp 1)',
                          '--decode', '4D(tp 1)', '--request-rate', '20', '--requests', '300000'),
    'conversations': ('plan', 'estimate', '--model', 'qwen3-8b', '--conversation-num', '100000',
                      '--conversation-turn-mean', '4', '--num-clients', '40', '--isl', '500'),
    'search': ('plan', 'search', '--model', 'qwen3-32b', '--gpus', '64', '--simulate-all',
               '--max-pp', '8'),
    'size': ('plan', 'size', '--model', 'qwen3-32b', '--request-rate', '10', '--requests', '30000'),
}

SHORT = {
    'estimate': ('plan', 'estimate', '--model', 'qwen3-8b', '--batch', '8'),
    'search': ('plan', 'search', '--model', 'qwen3-8b', '--gpus', '2', '--scheduler', 'closed-form'),
    'size': ('plan', 'size', '--model', 'qwen3-8b', '--target-concurrency', '8', '--scheduler',
             'closed-form'),
    'support': ('plan', 'support', '--model', 'qwen3-8b'),
}


def wait_until_it_listens(program):
    """A busy machine takes long to start a program; a signal before then is nobody's."""
    status = pathlib.Path(f'/proc/{program.pid}/status')
    ends = time.monotonic() + PATIENCE_S
    while program.poll() is None and time.monotonic() < ends:
        caught = re.search(r'^SigCgt:\s*([0-9a-f]+)', status.read_text(encoding='ascii'), re.MULTILINE)
        if int(caught.group(1), 16) >> (signal.SIGINT - 1) & 1:
            return
        time.sleep(0.01)


class Disturbed(writers.InOwnFolder):
    def test_a_reader_that_leaves(self):
        for name, command in SHORT.items():
            with self.subTest(name):
                pipe = subprocess.Popen([ASSAY, *command], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
                pipe.stdout.close()  # head -0
                said = pipe.stderr.read()
                pipe.stderr.close()
                self.assertIn(pipe.wait(PATIENCE_S), (0, 1, 3))
                self.assertNotIn('terminate', said)
                self.assertLess(len(said.splitlines()), 4, said)

    def test_a_full_disk(self):
        for name, command in SHORT.items():
            with self.subTest(name), open('/dev/full', 'w', encoding='ascii') as full:
                ended = subprocess.run([ASSAY, *command], stdin=subprocess.DEVNULL, stdout=full,
                                       stderr=subprocess.PIPE, text=True, check=False,
                                       timeout=PATIENCE_S)
                self.assertEqual(ended.returncode, 1)
                self.assertIn('cannot write to standard output', ended.stderr)

    def test_ctrl_c(self):
        for name, command in LONG.items():
            with self.subTest(name):
                program = subprocess.Popen([ASSAY, *command], stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           start_new_session=True)
                wait_until_it_listens(program)
                time.sleep(0.2)
                self.assertIsNone(program.poll(), 'it is too short to be interrupted')
                asked = time.monotonic()
                program.send_signal(signal.SIGINT)
                out, said = program.communicate(timeout=PATIENCE_S)
                self.assertLess(time.monotonic() - asked, 5)
                self.assertEqual(program.returncode, 130, said)
                self.assertEqual(out, '')


class Caches(writers.InOwnFolder):
    """A tree of public tables, which is read once and then mapped."""

    def setUp(self):
        super().setUp()
        systems = self.folder / 'systems'
        made = run([ASSAY, 'store', 'place', '--store', 'h200_sxm', '--system', 'h200_sxm',
                    '--backend', 'vllm', '--systems', str(systems)])
        self.assertEqual(made.returncode, 0, made.stderr)
        self.caches = self.folder / 'caches'
        self.command = [ASSAY, 'plan', 'search', '--model', 'qwen3-8b', '--gpus', '4', '--backend',
                        'vllm', '--scheduler', 'closed-form', '--systems-paths', str(systems),
                        '--format', 'csv', '-q']
        self.environment = {**os.environ, 'XDG_CACHE_HOME': str(self.caches)}
        self.environment.pop('ASSAY_CACHE', None)
        alone = run(self.command, env={**os.environ, 'ASSAY_CACHE': 'off'})
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.answer = alone.stdout
        self.assertGreater(len(self.answer.splitlines()), 5)

    def entries(self):
        return sorted(path.name for path in self.caches.rglob('*.tables'))

    def asked(self, **options):
        ended = run(self.command, env=self.environment, **options)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stdout, self.answer)
        return ended.stderr

    def test_entries_are_kept(self):
        self.assertEqual(self.asked(), '')
        kept = self.entries()
        self.assertTrue(kept)
        self.assertEqual(self.asked(), '')
        self.assertEqual(self.entries(), kept)

    def test_killed_while_it_writes(self):
        chance = random.Random(SEED)
        print('seed', SEED)
        started = time.monotonic()
        self.asked()
        seconds = time.monotonic() - started
        for _ in range(KILLS):
            shutil.rmtree(self.caches)
            victim = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                victim.wait(chance.uniform(0, seconds))
            except subprocess.TimeoutExpired:
                victim.kill()
                victim.wait()
            self.caches.mkdir(exist_ok=True)
            self.asked()
        left = [path for path in self.caches.rglob('*')
                if path.is_file() and path.suffix != '.tables']
        self.assertEqual(left, [])

    def test_entries_that_end_early(self):
        """As a disk leaves them that lost its power: none is believed."""
        self.asked()
        for entry in self.caches.rglob('*.tables'):
            whole = entry.read_bytes()
            for size in (0, 1, 100, len(whole) // 2, len(whole) - 1):
                entry.write_bytes(whole[:size])
                self.asked()

    def test_several_at_once(self):
        for _ in range(3):
            programs = [subprocess.Popen(self.command, env=self.environment,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True) for _ in range(4)]
            for program in programs:
                out, said = program.communicate(timeout=PATIENCE_S)
                self.assertEqual((program.returncode, out, said), (0, self.answer, ''))
            shutil.rmtree(self.caches)

    def test_a_folder_that_nobody_may_write(self):
        self.folder.chmod(0o755)
        self.caches.mkdir(mode=0o555)
        said = self.asked(**writers.as_nobody(self))
        self.assertIn('tables are read anew each time', said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertEqual(list(self.caches.rglob('*')), [])

    def test_a_file_in_place_of_the_folder(self):
        self.caches.write_text('mine', encoding='ascii')
        self.assertIn('tables are read anew each time', self.asked())
        self.assertEqual(self.caches.read_text(encoding='ascii'), 'mine')

    def test_a_full_disk_of_caches(self):
        self.caches.mkdir()
        with writers.small_disk(self, self.caches, 1 << 16):
            for _ in range(2):  # what did fit is whole
                self.assertIn('tables are read anew each time', self.asked())


if __name__ == '__main__':
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    unittest.main()
