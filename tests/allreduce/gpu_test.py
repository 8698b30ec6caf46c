#!/usr/bin/env python3
"""A small benchmark on this machine's GPUs: all that can be asked for is right and has a time.

usage: ASSAY=PROGRAM ASSAY_WORKER=PROGRAM gpu_test.py     exit status: 0 good, 77 skipped, else failed
"""
import collections
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ASSAY = os.environ['ASSAY']
WORKER = pathlib.Path(os.environ['ASSAY_WORKER'])
PATIENCE_S = 420  # of a benchmark; each takes about a minute
OWN_STRATEGIES = {'ONESHOT', 'TWOSHOT_PUSH', 'TWOSHOT'}
DATA_TYPES = ('bfloat16', 'float16', 'float32')
NVFP4 = 'RESIDUAL_RMS_NORM_QUANT_NVFP4'
FUSIONS = ('NONE', 'RESIDUAL_RMS_NORM', 'RESIDUAL_RMS_NORM_QUANT_FP8', NVFP4)
# The least that each fusion takes, odd multiples of it, and rows that no block has threads for.
HIDDEN_SIZES = ('16', '48', '2880', '7168')
HIDDEN_SIZES_WITHOUT_NVFP4 = ('8', '24', '136')
TOKENS = ('1', '3', '130')
SHORT_TIMES = ('--min-samples', '5', '--max-samples', '5')


def count_gpus():
    """As many as programs see here."""
    try:
        listed = subprocess.run(['nvidia-smi', '-L'], capture_output=True, text=True, check=True,
                                timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    present = len(re.findall('^GPU ', listed, re.MULTILINE))
    visible = os.environ.get('CUDA_VISIBLE_DEVICES')
    if visible is None:
        return present
    return min(present, len([name for name in visible.split(',') if name not in ('', '-1')]))


GPUS = count_gpus()


class Gpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='assay-gpu-')
        self.addCleanup(folder.cleanup)
        self.data = pathlib.Path(folder.name) / 'data'

    def bench(self, world_size, hidden_sizes, fusions):
        done = subprocess.run(
            [ASSAY, 'allreduce', 'bench', '--tp', str(world_size), '--dtype', ','.join(DATA_TYPES),
             '--fusion', ','.join(fusions), '--hidden', ','.join(hidden_sizes),
             '--tokens', ','.join(TOKENS), '--launch', 'both', *SHORT_TIMES,
             '--output', str(self.data)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        files = sorted(self.data.glob('benchmark.*.csv'))
        self.assertEqual(len(files), len(DATA_TYPES) * 2, files)
        rows = []
        for path in files:
            with path.open(encoding='utf-8', newline='') as file:
                rows += csv.DictReader(file)
        return rows

    def assert_good(self, rows, cells):
        """Nothing went wrong, and our own strategies have a time in every cell."""
        bad = [row for row in rows if row['outcome'] not in ('ok', 'unsupported')]
        self.assertEqual(bad, [])
        times = collections.defaultdict(set)
        for row in rows:
            if row['outcome'] == 'unsupported':
                self.assertTrue(row['reason'], row)
                continue
            self.assertGreater(float(row['time (us)']), 0, row)
            cell = tuple(row[name] for name in
                         ('world_size', 'dtype', 'fusion', 'hidden_size', 'num_tokens', 'launch'))
            times[cell].add(row['strategy'])
        self.assertEqual(len(times), cells)
        for cell, strategies in times.items():
            self.assertLessEqual(OWN_STRATEGIES, strategies, cell)

    def check_world_size(self, world_size):
        if GPUS < world_size:
            self.skipTest(f'{GPUS} GPUs')
        kinds = len(DATA_TYPES) * 2 * len(TOKENS)
        self.assert_good(self.bench(world_size, HIDDEN_SIZES, FUSIONS),
                         kinds * len(HIDDEN_SIZES) * len(FUSIONS))

    def test_two_gpus(self):
        self.check_world_size(2)

    def test_four_gpus(self):
        self.check_world_size(4)

    def test_hidden_sizes_without_nvfp4(self):
        fusions = [fusion for fusion in FUSIONS if fusion != NVFP4]
        cells = len(DATA_TYPES) * 2 * len(TOKENS) * len(HIDDEN_SIZES_WITHOUT_NVFP4) * len(fusions)
        self.assert_good(self.bench(2, HIDDEN_SIZES_WITHOUT_NVFP4, fusions), cells)

    def test_nvfp4_of_half_a_group_is_unsupported(self):
        """Not an error: the reason is in the file, and the program says that no time came of it."""
        done = subprocess.run(
            [ASSAY, 'allreduce', 'bench', '--tp', '2', '--fusion', NVFP4, '--hidden', '24',
             '--tokens', '1', *SHORT_TIMES, '--output', str(self.data)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('no time at all', done.stderr)
        (path,) = self.data.glob('benchmark.*.csv')
        with path.open(encoding='utf-8', newline='') as file:
            for row in csv.DictReader(file):
                self.assertEqual(row['outcome'], 'unsupported', row)
                self.assertIn('16', row['reason'])


if __name__ == '__main__':
    if GPUS < 2:
        print(f'skipped: 2 GPUs are needed, and nvidia-smi -L lists {GPUS}')
        sys.exit(77)
    if not WORKER.is_file():
        print(f'skipped: {WORKER} was not built')
        sys.exit(77)
    unittest.main()
