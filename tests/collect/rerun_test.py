#!/usr/bin/env python3
"""`assay collect`, then `assay store check`: what is missing, and points measured again.

The program to test is named by the environment variable ASSAY, the CPU's worker by CPU_WORKER.
"""

import contextlib
import json
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
SHAPES = ('--m', '1,2,4,8', '--n', '32,64', '--k', '32,64', '--dtype', 'bfloat16,fp8')  # 32 cases


class RerunTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='assay-rerun-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / 'perf'
        self.begun = self.folder / 'begun'
        self.fault_file = self.folder / 'faults'
        self.fault_file.touch()

    def run_assay(self, *arguments, worker=FAKE, **variables):
        environment = {**os.environ, 'ASSAY_WORKER': str(worker), 'FAKE_CASES': str(self.begun),
                       'ASSAY_HOST_ROOT': str(self.folder / 'machine'),
                       'FAKE_FAULTS': str(self.fault_file), **variables}
        return subprocess.run([ASSAY, *arguments], text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE_S, cwd=self.folder,
                              env=environment)

    def collect(self, *options, **others):
        result = self.run_assay('collect', *options, '--device', 'cpu', '-o', 'perf', **others)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.begun.unlink(missing_ok=True)

    def check(self, *options, store='perf/perf.db', **others):
        return self.run_assay('store', 'check', '--store', store, *options, **others)

    def tables(self, result):
        document = json.loads(result.stdout)
        return {table['name']: [dict(zip((column['name'] for column in table['columns']), row))
                                for row in table['rows']] for table in document['tables']}

    def checked(self, *options, code=0, **others):
        result = self.check(*options, '--format', 'json', **others)
        self.assertEqual(result.returncode, code, result.stderr)
        return self.tables(result)

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(self.data / 'perf.db')) as store:
            return store.execute(sql).fetchall()

    def faults(self, *lines):
        self.fault_file.write_text('\n'.join(lines), encoding='utf-8')

    def begun_cases(self):
        return self.begun.read_text(encoding='utf-8').splitlines()


class Rerun(RerunTest):
    def test_the_same_times_do_not_deviate_and_no_table_shows_them(self):
        self.collect('gemm', *SHAPES, '--l2', 'cold', '--num-runs', '7', '--backend', 'TRTLLM')
        before = (self.data / 'gemm_perf.txt').read_bytes()
        tables = self.checked('--rerun', '5', '--max-share', '0')
        [row] = tables['rerun']
        self.assertEqual((row['table'], row['result'], row['points'], row['beyond'], row['lost']),
                         ('gemm_perf', 'passed', 5, 0, 0))
        self.assertEqual((row['share'], row['median'], row['worst']), (0, 0, 0))
        self.assertNotIn('rerun_worst', tables)
        self.assertEqual(len(set(self.begun_cases())), 5)
        self.assertEqual((self.data / 'gemm_perf.txt').read_bytes(), before)
        self.assertEqual(self.query('SELECT count(*) FROM gemm_perf'), [(32,)])
        self.assertEqual(self.query('SELECT kind FROM run'), [('collect',), ('rerun',)])
        [(first,), (again,)] = self.query('SELECT facts FROM run ORDER BY id')
        settings = [{name: value for name, value in json.loads(facts).items()
                     if name.startswith('setting ')} for facts in (first, again)]
        self.assertEqual(settings[0], settings[1])
        self.assertEqual(settings[1]['setting --l2'], 'cold')
        self.assertTrue((self.data / 'reports/latest/collection_summary_TRTLLM.json').exists())

    def test_every_operator_is_seen_and_the_seed_chooses(self):
        self.collect('gemm', 'copy', '--smoke', '--limit', '20')
        self.checked('--rerun', '6')
        first = self.begun_cases()
        self.assertEqual(sum(line.startswith('gemm ') for line in first), 3)
        for seed, same in (('42', True), ('7', False)):
            self.begun.unlink()
            self.checked('--rerun', '6', '--seed', seed)
            self.assertEqual(self.begun_cases() == first, same)

    def test_points_beyond_the_limit_are_named(self):
        self.collect('gemm', *SHAPES)
        self.faults('slow m=2 n=32 k=32 ', 'error m=4 n=32 k=32 ')
        tables = self.checked('--rerun', '32', '--max-share', '20')
        [row] = tables['rerun']
        self.assertEqual((row['points'], row['beyond'], row['lost'], row['share']),
                         (32, 4, 2, 12.5))
        self.assertAlmostEqual(row['worst'], 50)
        worst = tables['rerun_worst']
        self.assertEqual([bool(one['now']) for one in worst], [False, False, True, True])
        self.assertEqual({one['case'] for one in worst[2:]},
                         {f'gemm gemm_dtype={dtype} m=2 n=32 k=32' for dtype in ('bfloat16', 'fp8')})
        self.assertAlmostEqual(worst[2]['differs'], 50)
        self.assertEqual(tables['rerun_failures'][0]['class'], 'DeviceError')
        tables = self.checked('--rerun', '32', '--max-share', '10', code=3)
        self.assertEqual(tables['rerun'][0]['result'], 'failed')
        quiet = self.check('--rerun', '32', '--max-share', '10', '--quiet')
        self.assertEqual((quiet.returncode, quiet.stdout), (3, ''))
        self.assertIn('gemm_perf: 4 of 32 points measured again differ by more than 10 %',
                      quiet.stderr)

    def test_another_device_is_refused_and_another_driver_told(self):
        self.collect('gemm', *SHAPES)
        other = self.check('--rerun', '3', FAKE_NAME='Other')
        self.assertEqual(other.returncode, 1)
        self.assertIn('the points to go by are of another device: its name was Fake and is Other',
                      other.stderr)
        self.assertEqual(self.query('SELECT kind FROM run'), [('collect',)])
        driver = self.check('--rerun', '3', FAKE_DRIVER='590')
        self.assertEqual(driver.returncode, 0, driver.stderr)
        self.assertIn('driver was 580 and is 590', driver.stderr)

    def test_a_store_of_another_name(self):
        self.collect('gemm', *SHAPES)
        shutil.copy(self.data / 'perf.db', self.folder / 'fake.db')
        self.assertEqual(self.check('--rerun', '3', store='fake.db').returncode, 0)
        self.assertEqual(self.query('SELECT kind FROM run'), [('collect',)])

    def test_wrong_usage(self):
        self.collect('gemm', *SHAPES)
        table = str(self.data / 'gemm_perf.txt')
        for options, words in (((table, '--rerun', '3'), '--rerun needs --store'),
                               (('--store', 'perf/perf.db', '--seed', '3'), '--rerun'),
                               (('--store', 'perf/perf.db', '--rerun', '0'), '0')):
            result = self.run_assay('store', 'check', *options)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)
        self.run_assay('store', 'import', table, '--store', 'imported.db')
        result = self.check('--rerun', '3', store='imported.db')
        self.assertEqual(result.returncode, 1)
        self.assertIn('imported.db holds no collection', result.stderr)
        result = self.check('--rerun', '3', FAKE_START='exit')
        self.assertEqual(result.returncode, 1)
        self.assertIn('no worker is left', result.stderr)


class Expected(RerunTest):
    def test_skipped_and_failed_cases_pass(self):
        self.faults('skip m=1 ', 'oom m=2 ')
        self.collect('gemm', *SHAPES)
        tables = self.checked()
        [row] = tables['collection']
        self.assertEqual([row[name] for name in ('expected', 'measured', 'skipped', 'failed',
                                                 'missing')], [32, 16, 8, 8, 0])
        self.assertEqual(tables['skips'][0]['reason'], 'the fake has no plan for this')
        self.assertEqual(tables['failures'][0]['class'], 'OutOfMemory')
        [failed] = [row for row in tables['findings'] if row['finding'] == 'failed cases']
        self.assertEqual((failed['weight'], failed['count'], failed['of']), ('remark', 8, 32))

    def test_missing_cases_fail(self):
        self.collect('gemm', *SHAPES)
        with contextlib.closing(sqlite3.connect(self.data / 'perf.db')) as store, store:
            store.execute('PRAGMA foreign_keys = ON')
            store.execute("DELETE FROM case_record WHERE name LIKE '% m=8 %'")
        tables = self.checked(code=3)
        self.assertEqual(tables['collection'][0]['missing'], 8)
        [missing] = [row for row in tables['findings'] if row['finding'] == 'missing cases']
        self.assertEqual((missing['weight'], missing['count'], missing['of']), ('problem', 8, 32))
        self.assertIn('gemm: missing cases: 8 of 32', self.check('--quiet').stderr)
        self.collect('gemm', *SHAPES, '--resume')
        self.assertEqual(self.checked()['collection'][0]['missing'], 0)


@unittest.skipUnless(os.environ.get('CPU_WORKER'), 'assay was built without a worker for the CPU')
class RealWorker(RerunTest):
    def test_points_measured_on_the_cpu_again(self):
        worker = os.environ['CPU_WORKER']
        result = self.run_assay('collect', 'gemm', '--m', '16,32,64,128', '--n', '256', '--k', '256',
                                '--dtype', 'float32', '--device', 'cpu', '-o', 'perf',
                                worker=worker)
        self.assertEqual(result.returncode, 0, result.stderr)
        # How far they are apart is up to the machine.
        [row] = self.checked('--rerun', '3', worker=worker)['rerun']
        self.assertEqual((row['table'], row['points'], row['lost']), ('gemm_perf', 3, 0))
        self.assertGreater(row['worst'], 0)
        self.assertEqual(self.query('SELECT count(*) FROM gemm_perf'), [(4,)])


if __name__ == '__main__':
    unittest.main()
