#!/usr/bin/env python3
"""`assay collect`, then `assay collect --refine` of the same folder, with a worker that needs no GPU.

The program to test is named by the environment variable ASSAY, the CPU's worker by CPU_WORKER.
"""

import contextlib
import csv
import io
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

ASSAY = os.environ['ASSAY']
FAKE = pathlib.Path(__file__).resolve().parent / 'fake_worker.py'
PATIENCE_S = 120
# The fake takes 0.001 ms * (1 + (m + n + k) % 97): straight in m up to 32, then it falls, so that 32
# is predicted badly.
SIZES = ('--n', '32', '--k', '32', '--dtype', 'bfloat16')
POINTS = ('--m', '8,12,16,24,32,48')
REFINED = [28, 40]


class RefineTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='assay-refine-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / 'perf'
        self.begun = self.folder / 'begun'

    def collect(self, *options, worker=FAKE, output='perf', **variables):
        environment = {**os.environ, 'ASSAY_WORKER': str(worker), 'FAKE_CASES': str(self.begun),
                       'ASSAY_HOST_ROOT': str(self.folder / 'machine'),
                       **variables}
        return subprocess.run([ASSAY, 'collect', *options, '-o', output], text=True,
                              capture_output=True, check=False, stdin=subprocess.DEVNULL,
                              timeout=PATIENCE_S, cwd=self.folder, env=environment)

    def collected(self, *options, **others):
        self.begun.unlink(missing_ok=True)
        result = self.collect(*options, **others)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def start(self, *options):
        self.collected('gemm', *POINTS, *SIZES, '--device', 'cpu', *options)

    def planned(self, *options, **others):
        result = self.collected('--refine', '--plan-only', '--format', 'csv', *options, **others)
        cases = [row['case'] for row in csv.DictReader(io.StringIO(result.stdout))]
        return sorted(int(case.split(' m=')[1].split()[0]) for case in cases)

    def query(self, sql, store='perf/perf.db'):
        with contextlib.closing(sqlite3.connect(self.folder / store)) as opened:
            return opened.execute(sql).fetchall()

    def placed(self, *options):
        place = subprocess.run([ASSAY, 'store', 'place', '--store', 'perf/perf.db', '--systems',
                                'systems', '--system', 'here', '--backend', 'trtllm',
                                '--layout', 'flat', *options], text=True,
                               capture_output=True, check=False, cwd=self.folder,
                               timeout=PATIENCE_S)
        self.assertEqual(place.returncode, 0, place.stderr)
        [table] = (self.folder / 'systems').glob('data/here/*/*/gemm_perf.txt')
        with open(table, newline='', encoding='utf-8') as file:
            return sorted(int(row['m']) for row in csv.DictReader(file))

    def measured(self, run):
        names = self.query(f'SELECT name FROM case_record WHERE run = {run}')
        return sorted(int(name.split(' m=')[1].split()[0]) for (name,) in names)

    def fact(self, run, name):
        [(value,)] = self.query(f"""SELECT json_extract(facts, '$."{name}"') FROM run """
                                f'WHERE id = {run}')
        return value

    def assert_failed(self, result, words, code=1):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(words, result.stderr)


class Refine(RefineTest):
    def test_measures_between_points_that_predict_badly(self):
        self.start()
        self.assertEqual(self.planned(), REFINED)
        self.assertEqual(self.query('SELECT count(*) FROM run'), [(1,)])
        result = self.collected('--refine')
        self.assertEqual(result.stderr, '')
        self.assertEqual(self.measured(2), REFINED)
        with open(self.data / 'gemm_perf.txt', newline='', encoding='utf-8') as file:
            rows = sorted(int(row['m']) for row in csv.DictReader(file))
        self.assertEqual(rows, [8, 12, 16, 24, 28, 32, 40, 48])
        self.assertEqual(set(self.planned()) & set(rows), set())
        # The new points lie on a curve that the grid began.
        self.assertEqual(self.placed(), rows)
        self.assertEqual(self.placed('--points', 'all', '--force'), rows)

    # A point that a refinement lacks leaves no gap in a table, one of the grid does.
    def test_missing_points_are_checked(self):
        self.start()
        self.collected('--refine')
        for run, code, weight in ((2, 0, 'remark'), (1, 3, 'problem')):
            with contextlib.closing(sqlite3.connect(self.data / 'perf.db')) as store:
                last = f'SELECT max(id) FROM case_record WHERE run = {run}'
                store.execute(f'DELETE FROM case_record WHERE id = ({last})')
                store.commit()
            check = subprocess.run([ASSAY, 'store', 'check', '--store', 'perf/perf.db', '--format',
                                    'csv'], text=True, capture_output=True, check=False,
                                   cwd=self.folder, timeout=PATIENCE_S)
            self.assertEqual(check.returncode, code, check.stderr)
            self.assertIn(f'gemm,{weight},missing cases,1,', check.stdout)

    def test_limits(self):
        self.start()
        self.assertEqual(self.planned('--limit', '1'), [28])
        self.assertEqual(self.planned('--case-filter', 'm=40 '), [40])
        self.assertEqual(self.planned('moe'), [])
        result = self.collected('--refine', '--refine-limit', '10000')
        self.assertIn('nothing to refine: each of 4 predictions is within 10000 %', result.stderr)
        self.assertEqual(self.query('SELECT count(*) FROM run'), [(1,)])

    def test_measures_as_the_points_were_measured(self):
        self.start('--num-runs', '7', '--l2', 'cold', '--backend', 'TRTLLM')
        self.assert_failed(self.collect('--refine', '--l2', 'hot'), '--l2 was cold and is hot')
        self.assert_failed(self.collect('--refine', FAKE_NAME='Other'),
                           'of another device: its name was Fake and is Other')
        self.assertEqual(self.query('SELECT count(*) FROM run'), [(1,)])
        self.collected('--refine', '--num-runs', '7')
        self.assertEqual(self.measured(2), REFINED)
        for name in ('setting --l2', 'setting --num-runs', 'setting --backend', 'device kind'):
            self.assertEqual(self.fact(2, name), self.fact(1, name))
        self.assertEqual(self.query('SELECT DISTINCT framework FROM gemm_perf'), [('TRTLLM',)])

    # The run's own points must not change what it has planned.
    def test_goes_on_with_a_refinement(self):
        self.start()
        self.collected('--refine')
        self.query_and_commit("DELETE FROM case_record WHERE run = 2 AND name LIKE '% m=28 %'")
        self.assert_failed(self.collect('--refine'), 'unfinished run')
        self.collected('--refine', '--resume')
        [begun] = self.begun.read_text(encoding='utf-8').splitlines()
        self.assertIn('m=28 ', begun)
        self.assertEqual(self.measured(2), REFINED)
        self.assert_failed(self.collect('--refine', '--resume', '--refine-limit', '50'),
                           '--refine was beyond 5 % and is beyond 50 %')

    def query_and_commit(self, sql):
        with contextlib.closing(sqlite3.connect(self.folder / 'perf/perf.db')) as store:
            store.execute('PRAGMA foreign_keys = ON')
            store.execute(sql)
            store.commit()

    def test_points_of_another_store(self):
        self.start()
        self.collected('--refine', '--refine-from', 'perf/perf.db', output='more')
        names = self.query('SELECT name FROM case_record', store='more/perf.db')
        self.assertEqual(len(names), len(REFINED))
        self.assertEqual(self.query('SELECT count(*) FROM run'), [(1,)])

    def test_what_cannot_be_refined(self):
        self.assert_failed(self.collect('--refine'), "there is no 'perf/perf.db'")
        self.assertFalse(self.data.exists())
        self.start()
        self.assert_failed(self.collect('--refine', '--resume'), 'it refines no other')
        self.assert_failed(self.collect('--refine', 'gemm', '--m', '3'), '--case-filter', code=2)
        self.assert_failed(self.collect('--refine', '--grid', 'fine'), 'exclude', code=2)
        self.assert_failed(self.collect('--refine-limit', '3'), '--refine', code=2)


@unittest.skipUnless(os.environ.get('CPU_WORKER'), 'this build has no worker for CPUs')
class OnTheCpu(RefineTest):
    def test_a_coarse_grid_and_what_refines_it(self):
        worker = os.environ['CPU_WORKER']
        self.collected('add', '--device', 'cpu', '--dtype', 'float32', '--rows', '1,16,256',
                       '--columns', '512,2048', '--num-runs', '5', worker=worker)
        # Any error at all, so that what is planned does not depend on the processor.
        self.collected('--refine', '--refine-limit', '0', worker=worker)
        [(count,)] = self.query("SELECT count(*) FROM case_record WHERE run = 2 AND "
                                "outcome = 'measured'")
        # Both middles of 16 rows at both widths.
        self.assertEqual(count, 4)
        self.assertEqual(self.query('SELECT count(*) FROM memory_op_perf'), [(10,)])


if __name__ == '__main__':
    unittest.main()
