#!/usr/bin/env python3
"""Whole collections with a worker that needs no GPU: failures, kills, resumption, full disks.

The program to test is named by the environment variable ASSAY.
"""

import collections
import contextlib
import csv
import json
import os
import pathlib
import pty
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

ASSAY = os.environ['ASSAY']
WORKER = pathlib.Path(__file__).resolve().parent / 'fake_worker.py'
PATIENCE_S = 120
# 200 cases of gemm.
SHAPES = ('--m', '1,2,4,8,16,32,64,128,256,512', '--n', '32,64,128,256,512', '--k', '32,64',
          '--dtype', 'bfloat16,fp8')


def is_alive(pid):
    try:
        return ') Z' not in pathlib.Path(f'/proc/{pid}/stat').read_text(encoding='utf-8')
    except OSError:
        return False


def wait_until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError('waited in vain')
        time.sleep(0.02)


def is_pending(pid, number):
    """Whether a signal was sent to the process and has not been delivered yet."""
    fields = dict(line.split(':', 1) for line in
                  pathlib.Path(f'/proc/{pid}/status').read_text(encoding='utf-8').splitlines())
    return any(int(fields[name], 16) >> (number - 1) & 1 for name in ('SigPnd', 'ShdPnd'))


class CollectTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='assay-collect-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / 'perf'
        self.pids = self.folder / 'pids'
        self.begun = self.folder / 'begun'
        self.fault_file = self.folder / 'faults'
        self.fault_file.touch()

    def tearDown(self):
        """Neither a worker nor a process that it started outlives its collection."""
        wait_until(lambda: not any(is_alive(pid) for pid in self.lines(self.pids)))

    @staticmethod
    def lines(path):
        return path.read_text(encoding='utf-8').splitlines() if path.exists() else []

    def faults(self, *lines):
        self.fault_file.write_text('\n'.join(lines), encoding='utf-8')

    def environment(self, **variables):
        return {**os.environ, 'ASSAY_WORKER': str(WORKER), 'FAKE_PIDS': str(self.pids),
                'FAKE_CASES': str(self.begun), 'FAKE_FAULTS': str(self.fault_file),
                'ASSAY_HOST_ROOT': str(self.folder / 'machine'), **variables}

    def arguments(self, *options):
        where = () if {'--device', '--gpus'} & set(options) else ('--device', 'cpu')
        return [ASSAY, 'collect', *options, *where, '-o', str(self.data)]

    def collect(self, *options, preexec=None, **variables):
        return subprocess.run(self.arguments(*options), text=True, capture_output=True,
                              check=False, stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
                              cwd=self.folder, env=self.environment(**variables),
                              preexec_fn=preexec)

    def start(self, *options, **variables):
        return subprocess.Popen(self.arguments(*options), text=True, cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.environment(**variables))

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(self.data / 'perf.db')) as store:
            return store.execute(sql).fetchall()

    def outcomes(self):
        return collections.Counter(
            outcome for (outcome,) in self.query('SELECT outcome FROM case_record'))

    def failures(self):
        return dict(self.query(
            "SELECT name, error_class FROM case_record WHERE outcome = 'failed'"))

    def wait_for_cases(self, count):
        wait_until(lambda: len(self.lines(self.begun)) > count)

    def assert_failed(self, result, words, code=1):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(words, result.stderr)

    def summary(self):
        path = self.data / 'reports/latest/collection_summary_assay.json'
        return json.loads(path.read_text(encoding='utf-8'))

    def table(self, name):
        with open(self.data / name, newline='', encoding='utf-8') as file:
            return list(csv.DictReader(file))


class Certainty(CollectTest):
    SOME = ('--m', '1,2,4', '--n', '32', '--k', '32', '--dtype', 'bfloat16')

    def store_says(self, *arguments):
        result = subprocess.run([ASSAY, 'store', *arguments, '--store', self.data / 'perf.db',
                                 '--format', 'json'], text=True, capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {table['name']: [dict(zip((column['name'] for column in table['columns']), row))
                                for row in table['rows']]
                for table in json.loads(result.stdout)['tables']}

    def test_rows_that_missed_it_are_counted(self):
        self.faults('sure m=1 ', 'scatter m=2 ')
        result = self.collect('gemm', *self.SOME)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('1 of 2 rows is less certain than ±1 %; the worst is ±40 %: gemm '
                      'gemm_dtype=bfloat16 m=2', result.stderr)
        tables = self.store_says('check')
        self.assertEqual(tables['tables'][0]['uncertain'], 1)
        [found] = [row for row in tables['findings'] if row['finding'] == 'uncertain']
        self.assertEqual((found['weight'], found['count'], found['of'], found['where']),
                         ('remark', 1, 2, 'm=2'))
        self.assertAlmostEqual(found['worst'], 40)
        [answer] = self.store_says('query', 'gemm', '--m', '2')['gemm_perf']
        self.assertAlmostEqual(answer['interval_low'], 0.6 * answer['latency'])
        self.assertAlmostEqual(answer['interval_high'], 1.4 * answer['latency'])
        self.assertGreater(answer['interval_confidence'], 95)
        [answer] = self.store_says('query', 'gemm', '--m', '3')['gemm_perf']
        self.assertIsNone(answer['interval_low'])

    def test_a_store_that_tells_no_certainty_is_unknown(self):
        self.faults('scatter m=')
        for asked in (['--num-runs', '5'], []):
            self.assertEqual(self.collect('gemm', *self.SOME, '--new-run', *asked).returncode, 0)
            if not asked:  # as a version wrote it that did not record how it measured
                self.query_and_commit("UPDATE run SET facts = '{}'")
            self.assertEqual(self.store_says('check', '--table', 'gemm')['tables'][0]['uncertain'],
                             'unknown')

    def query_and_commit(self, sql):
        with contextlib.closing(sqlite3.connect(self.data / 'perf.db')) as store:
            store.execute(sql)
            store.commit()


class OtherWork(CollectTest):
    def test_busy_processors_are_warned_of_and_recorded(self):
        machine = self.folder / 'machine'
        for name in ('cpu0', 'cpu1', 'cpufreq'):
            (machine / 'sys/devices/system/cpu' / name).mkdir(parents=True)
        (machine / 'proc').mkdir()
        for load, seen in (('3.40', 'other work keeps 2 of 2 processors busy (load 3.4)'),
                           ('0.30', None)):
            (machine / 'proc/loadavg').write_text(f'{load} 1.00 1.00 1/100 1000\n',
                                                  encoding='utf-8')
            result = self.collect('gemm', *SHAPES, '--limit', '2', '--new-run')
            self.assertEqual(result.returncode, 0, result.stderr)
            warning = f'assay: warning: host: {seen}: times can be too long\n' if seen else ''
            self.assertEqual(result.stderr, warning)
            [(facts,)] = self.query('SELECT facts FROM run ORDER BY id DESC LIMIT 1')
            self.assertEqual(json.loads(facts).get('other work'), seen and f'host: {seen}')

    def test_busy_gpus_are_warned_of(self):
        nvml = self.folder / 'nvml'
        for lines, gpus, seen in (
                (['utilization 0', 'used.1 4711 1073741824'], '0,1',
                 'GPU 1: process 4711 uses it, 1.0 GiB of memory'),
                (['utilization 95'], '0', 'GPU 0: it is busy (95 %), though no process is seen'),
                (['utilization 0', 'used.1 4711 1073741824'], '0', None)):
            nvml.write_text('\n'.join(['count 2', *lines]) + '\n', encoding='utf-8')
            result = self.collect('gemm', *SHAPES, '--limit', '2', '--new-run', '--gpus', gpus,
                                  ASSAY_LIBRARY_PATH=os.environ['FAKE_NVML'],
                                  ASSAY_FAKE_NVML=str(nvml))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr,
                             f'assay: warning: {seen}: times can be too long\n' if seen else '')


class Normal(CollectTest):
    def test_every_case_is_in_store_table_and_summary(self):
        result = self.collect('gemm', *SHAPES)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, '')
        self.assertEqual(self.outcomes(), {'measured': 200})
        rows = self.table('gemm_perf.txt')
        self.assertEqual(len(rows), 200)
        self.assertEqual(list(rows[0]), ['framework', 'version', 'device', 'op_name',
                                         'kernel_source', 'gemm_dtype', 'm', 'n', 'k', 'latency'])
        self.assertEqual(len({(r['gemm_dtype'], r['m'], r['n'], r['k']) for r in rows}), 200)
        summary = self.summary()['summary']
        self.assertEqual((summary['expected'], summary['measured'], summary['total_errors']),
                         (200, 200, 0))
        self.assertEqual(summary['version'], '0.1.0')
        self.assertIn('gemm_perf.txt', result.stdout)
        self.assertEqual(len(self.lines(self.pids)), 1)

    def test_one_case_by_its_axes(self):
        result = self.collect('gemm', '--m', '4096', '--n', '4096', '--k', '8192', '--dtype', 'bf16',
                              '--backend', 'TRTLLM')
        self.assertEqual(result.returncode, 0, result.stderr)
        [row] = self.table('gemm_perf.txt')
        self.assertEqual((row['framework'], row['gemm_dtype'], row['k']),
                         ('TRTLLM', 'bfloat16', '8192'))
        self.assertTrue((self.data / 'reports/latest/collection_summary_TRTLLM.json').exists())

    def test_gpus_share_one_queue(self):
        result = self.collect('gemm', *SHAPES, '--gpus', '0,2', FAKE_SECONDS='0.01')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.lines(self.pids)), 2)
        self.assertEqual(len(set(self.lines(self.begun))), 200)
        logs = sorted(path.name for path in (self.data / 'reports/latest').glob('*.log'))
        self.assertEqual(logs, ['worker.gpu0.log', 'worker.gpu2.log'])

    def test_smoke_and_limit_are_the_same_every_time(self):
        plans = [self.collect('gemm', *options, '--plan-only', '--format', 'csv').stdout
                 for options in (['--smoke'], ['--smoke'], ['--smoke', '--seed', '1'],
                                 ['--limit', '7'])]
        self.assertEqual(plans[0], plans[1])
        self.assertNotEqual(plans[0], plans[2])
        self.assertEqual([len(plan.splitlines()) for plan in plans], [5, 5, 5, 8])
        self.assertFalse(self.data.exists())

    def test_case_filters_add_up(self):
        result = self.collect('gemm', *SHAPES, '--case_filter', 'm=16 ', '--case-filter', 'm=32 ',
                              '--plan-only', '--format', 'csv')
        self.assertEqual(len(result.stdout.splitlines()), 41, result.stderr)

    def test_list(self):
        result = self.collect('--list', '--format', 'json')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('"gemm"', result.stdout)
        self.assertIn('"--dtype"', result.stdout)

    def test_a_terminal_sees_how_far_it_is(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(self.arguments('gemm', *SHAPES, '--limit', '30'), stderr=theirs,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   env=self.environment(FAKE_SECONDS='0.02'))
        self.assertEqual(process.wait(PATIENCE_S), 0)
        os.close(theirs)
        seen = b''
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                seen += part
        os.close(ours)
        self.assertRegex(seen.decode(), r'gemm: \d+ of 30 cases, [\d.]+ cases/s, \d+ s left')


    def test_types_and_names_that_the_grid_does_not_list(self):
        result = self.collect('gemm', '--m', '8', '--n', '64', '--k', '64', '--dtype', 'float32,half')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([row['gemm_dtype'] for row in self.table('gemm_perf.txt')],
                         ['float32', 'float16'])
        plan = self.collect('moe', '--distribution', 'power_law_1.3', '--limit', '1', '--plan-only',
                            '--format', 'csv')
        self.assertIn('distribution=power_law_1.3', plan.stdout, plan.stderr)

    def test_a_cpu_has_a_grid_of_its_own(self):
        def sizes(*options):
            plan = self.collect('gemm', '--plan-only', '--format', 'csv', *options)
            self.assertEqual(plan.returncode, 0, plan.stderr)
            return [[int(word.split('=')[1]) for word in line.split(',')[1].split()[2:]]
                    for line in plan.stdout.splitlines()[1:]]

        own = sizes('--device', 'cpu')
        self.assertTrue(20 < len(own) <= 100, len(own))
        self.assertLessEqual(max(2 * m * n * k for m, n, k in own), 1e9)
        self.assertEqual(sizes('--gpus', '0', '--grid', 'cpu'), own)
        coarse = sizes('--gpus', '0', '--grid', 'coarse')
        self.assertEqual(sizes('--device', 'cpu', '--grid', 'coarse'), coarse)
        self.assertEqual([len(coarse), len(sizes('--gpus', '0'))], [2844, 35280])
        # What is named is measured, however long it takes.
        self.assertEqual(sizes('--device', 'cpu', '--m', '8192', '--n', '65536', '--k', '16384',
                               '--dtype', 'float32'), [[8192, 65536, 16384]])


class Collectives(CollectTest):
    """They are measured after everything else, by one worker that owns all GPUs."""

    def collect_both(self, *options, **variables):
        return self.collect('gemm', 'nccl', '--limit', '10', '--gpus', '0,2,3', *options,
                            FAKE_GPUS=str(self.folder / 'gpus'), **variables)

    def measured_on(self):
        return [line.split() for line in self.lines(self.folder / 'gpus')]

    def test_one_worker_owns_all_gpus_after_the_rest(self):
        result = self.collect_both(FAKE_SECONDS='0.05')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        where = self.measured_on()
        self.assertEqual([operator for operator, _ in where], ['gemm'] * 10 + ['nccl'] * 10)
        self.assertEqual({gpus for operator, gpus in where if operator == 'gemm'}, {'0', '2', '3'})
        self.assertEqual({gpus for operator, gpus in where if operator == 'nccl'}, {'0,2,3'})
        self.assertEqual(len(self.lines(self.pids)), 4)
        logs = sorted(path.name for path in (self.data / 'reports/latest').glob('*.log'))
        self.assertEqual(logs, ['worker.all_gpus.log', 'worker.gpu0.log', 'worker.gpu2.log',
                                'worker.gpu3.log'])
        rows = self.table('nccl_perf.txt')
        self.assertEqual(len(rows), 10)
        self.assertEqual(list(rows[0])[3:8], ['op_name', 'kernel_source', 'nccl_dtype', 'num_gpus',
                                              'message_size'])
        self.assertEqual(rows[0]['op_name'], 'all_reduce')
        operators = self.summary()['summary']['operators']
        self.assertEqual(list(operators), ['gemm', 'nccl'])
        self.assertEqual(operators['nccl']['measured'], 10)

    def test_alone_they_need_no_other_worker(self):
        result = self.collect('nccl', '--limit', '5', '--gpus', '0,1')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.lines(self.pids)), 1)

    def test_a_case_that_fails_costs_only_itself(self):
        plan = self.collect('nccl', '--limit', '3', '--gpus', '0,2,3', '--plan-only',
                            '--format', 'csv').stdout
        sizes = [line.split('message_size=')[1].split(',')[0] for line in plan.splitlines()[1:]]
        self.faults(f'crash message_size={sizes[0]} ', f'hang message_size={sizes[2]} ')
        result = self.collect_both('--deadline', '4')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.outcomes(), {'measured': 18, 'failed': 2})
        self.assertEqual(sorted(self.failures().values()), ['CaseTimeout', 'WorkerSignalCrash'])
        errors = json.loads((self.data / 'reports/latest/errors_assay.nccl.json').read_text())
        self.assertEqual({error['device_id'] for error in errors}, {'0,2,3'})

    def test_resuming_with_collectives_alone_left(self):
        plan = self.collect('nccl', '--limit', '10', '--gpus', '0,2,3', '--plan-only',
                            '--format', 'csv').stdout
        fifth = plan.splitlines()[5].split('message_size=')[1].split(',')[0]
        self.faults(f'wait message_size={fifth} ')
        process = subprocess.Popen(
            self.arguments('gemm', 'nccl', '--limit', '10', '--gpus', '0,2,3'), cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.environment())
        self.wait_for_cases(13)
        process.kill()
        process.wait(PATIENCE_S)
        self.faults()
        left = 20 - sum(self.outcomes().values())
        self.assertGreater(left, 0)
        result = self.collect_both('--resume')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.outcomes(), {'measured': 20})
        self.assertEqual(self.measured_on(), [['nccl', '0,2,3']] * left)

    def test_ctrl_c_before_them_leaves_them(self):
        process = self.start('gemm', 'nccl', '--limit', '10', '--gpus', '0,1', FAKE_SECONDS='1')
        self.wait_for_cases(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(any(line.startswith('nccl') for line in self.lines(self.begun)))
        self.assertEqual(self.summary()['summary']['operators']['nccl']['missing'], 10)

    def test_a_lost_gpu_costs_the_collectives_alone(self):
        result = self.collect_both(FAKE_BAD_GPU='3')
        self.assert_failed(result, 'no worker is left: 10 of 20 cases are not measured')
        self.assertIn('the worker of GPUs 0,2,3 is given up', result.stderr)
        self.assertEqual(self.outcomes(), {'measured': 10})
        self.assertEqual(len(self.table('gemm_perf.txt')), 10)


class Failures(CollectTest):
    def test_twenty_faults_cost_twenty_cases(self):
        kinds = {'hang': 'CaseTimeout', 'crash': 'WorkerSignalCrash', 'kill': 'WorkerSignalCrash',
                 'exit': 'WorkerAbnormalExit', 'garbage': 'WorkerProtocolError'}
        faults = {}
        for kind, m in zip(kinds, (1, 4, 16, 64, 256)):
            for n, k in ((32, 32), (64, 64), (128, 32), (512, 64)):
                faults[f'gemm gemm_dtype=fp8 m={m} n={n} k={k}'] = kind
        self.faults(*(f"{kind} {case.split(' ', 1)[1]} " for case, kind in faults.items()))
        result = self.collect('gemm', *SHAPES, '--gpus', '0,1', '--deadline', '4')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.outcomes(), {'measured': 180, 'failed': 20})
        self.assertEqual(self.failures(), {case: kinds[kind] for case, kind in faults.items()})
        self.assertEqual(len(self.table('gemm_perf.txt')), 180)
        begun = collections.Counter(self.lines(self.begun))
        self.assertEqual(set(begun.values()), {1})
        self.check_reports(kinds)

    def check_reports(self, kinds):
        errors = json.loads((self.data / 'reports/latest/errors_assay.gemm.json').read_text())
        self.assertEqual(len(errors), 20)
        self.assertEqual(set(errors[0]), {'module', 'device_id', 'task_id', 'task_params',
                                          'error_type', 'error_message', 'traceback', 'doing',
                                          'timestamp'})
        self.assertEqual(errors[0]['task_params']['gemm_dtype'], 'fp8')
        self.assertIn(errors[0]['device_id'], (0, 1))
        crash = next(e for e in errors if 'm=4 ' in e['task_id'])
        self.assertIn('signal 11 (Segmentation fault); it said: CUDA error: an illegal memory '
                      'access during time', crash['error_message'])
        summary = self.summary()
        self.assertEqual(summary['summary']['errors_by_type'],
                         dict(collections.Counter(kinds[kind] for kind in kinds for _ in range(4))))
        self.assertEqual(len(summary['errors']), 20)

    def test_errors_and_skips_of_the_worker_keep_their_words(self):
        self.faults('oom m=1 ', 'lost m=2 ', 'skip m=4 ', 'empty m=8 ', 'stranger m=16 ')
        result = self.collect('gemm', *SHAPES)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.outcomes(), {'measured': 100, 'failed': 80, 'skipped': 20})
        self.assertEqual(collections.Counter(self.failures().values()),
                         {'OutOfMemory': 20, 'DeviceError': 20, 'NoRow': 20,
                          'WorkerProtocolError': 20})
        summary = self.summary()['summary']
        self.assertEqual(summary['skipped_by_reason'],
                         {'gemm': {'the fake has no plan for this': 20}})
        self.assertIn('the fake has no plan', result.stdout)

    def test_a_worker_that_dies_before_a_case_begins_gets_a_second_try(self):
        self.faults('once-idle m=1 n=32 k=32 ', 'idle m=2 n=32 k=32 ')
        result = self.collect('gemm', '--m', '1,2,4', '--n', '32', '--k', '32', '--dtype', 'fp8')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.failures(),
                         {'gemm gemm_dtype=fp8 m=2 n=32 k=32': 'WorkerAbnormalExit'})

    def test_a_killed_worker_costs_its_case(self):
        process = self.start('gemm', *SHAPES, '--limit', '40', FAKE_SECONDS='0.05')
        self.wait_for_cases(5)
        os.kill(int(self.lines(self.pids)[0]), signal.SIGKILL)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        process.communicate()
        self.assertLessEqual(len(self.failures()), 1)
        self.assertEqual(sum(self.outcomes().values()), 40)
        self.assertEqual(len(self.lines(self.pids)), 2)

    def test_a_gpu_that_is_lost_is_given_up(self):
        result = self.collect('gemm', *SHAPES, '--gpus', '0,1', FAKE_BAD_GPU='1', FAKE_SECONDS='0.02')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('GPU 1 is given up: no worker started 3 times in a row: the GPU is lost',
                      result.stderr)
        self.assertEqual(self.outcomes(), {'measured': 200})

    def test_no_worker_at_all(self):
        result = self.collect('gemm', *SHAPES, FAKE_START='exit')
        self.assert_failed(result, 'no worker is left: nothing is measured')
        self.assertIn('it said: error while loading shared libraries', result.stderr)
        result = self.collect('gemm', *SHAPES)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_nothing_measured_of_an_operator_is_a_failure(self):
        self.faults('skip m=')
        self.assert_failed(self.collect('gemm', *SHAPES), 'nothing is measured of gemm')

    def test_wrong_usage(self):
        for options, words in ((('gem',), "unknown operator 'gem'; did you mean 'gemm'?"),
                               (('gemm', '--dtype', 'fp9'), "did you mean 'fp8'"),
                               (('gemm', '--m', '0'), '--m: m of gemm cannot be \'0\': it is an '
                                'integer from 1 to 2147483647'),
                               (('gemm', '--m', '1,x'), "--m: m of gemm cannot be 'x'"),
                               (('gemm', '--m', '99999999999999999999'), 'it is an integer'),
                               (('nccl', '--num-gpus', '1'), 'it is an integer from 2 to'),
                               (('--m', '1'), '--m is an axis: name the one operator'),
                               (('gemm', '--head-dim', '64'), 'gemm has no axis --head-dim; it '
                                'has --dtype, --m, --n, --k'),
                               (('--gpus', '0,0'), 'GPU 0 is named twice'),
                               (('--resume', '--new-run'), 'exclude each other'),
                               (('--limit', '0'), '--limit')):
            self.assert_failed(self.collect(*options), words, code=2)
        self.assertFalse(self.data.exists())

    def test_an_output_that_cannot_be_written(self):
        self.data.write_text('a file', encoding='utf-8')
        result = self.collect('gemm', *SHAPES)
        self.assert_failed(result, 'perf')
        self.assertEqual(result.stderr.count('assay:'), 1)
        self.assertEqual(self.lines(self.pids), [])

    def test_a_full_disk_ends_the_run_and_keeps_what_is_written(self):
        limit = 400_000
        result = self.collect('gemm', *SHAPES, preexec=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn('--resume', result.stderr)
        self.assertEqual(result.stderr.count('assay:'), 1, result.stderr)
        kept = self.outcomes()['measured']
        self.assertGreater(kept, 0)
        result = self.collect('gemm', *SHAPES, '--resume')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.outcomes(), {'measured': 200})


class Ending(CollectTest):
    def test_ctrl_c_lets_running_cases_end(self):
        process = self.start('gemm', *SHAPES, '--gpus', '0,1', FAKE_SECONDS='0.1')
        self.wait_for_cases(10)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn('go on by the same command with --resume', err)
        done = self.outcomes()['measured']
        self.assertEqual(done, len(self.lines(self.begun)))
        self.assertEqual(len(self.table('gemm_perf.txt')), done)
        self.assertEqual(self.summary()['summary']['missing'], 200 - done)
        self.assertIn('missing', out)

    def test_a_second_ctrl_c_ends_at_once(self):
        process = self.start('gemm', *SHAPES, FAKE_SECONDS='30')
        self.wait_for_cases(0)
        process.send_signal(signal.SIGINT)
        wait_until(lambda: not is_pending(process.pid, signal.SIGINT))
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130)
        self.assertLess(time.monotonic() - begin, 15)


class Resume(CollectTest):
    def test_a_killed_run_goes_on_with_every_case_exactly_once(self):
        # The plan shuffles the cases: 60 others are begun before both workers wait.
        self.faults('error m=1 n=32 ', 'wait gemm_dtype=fp8 m=512 n=512 k=64 ',
                    'wait gemm_dtype=fp8 m=512 n=512 k=32 ')
        process = self.start('gemm', *SHAPES, '--gpus', '0,1')
        self.wait_for_cases(60)
        process.kill()
        process.communicate()
        self.faults('error m=1 n=32 ')
        before = sum(self.outcomes().values())
        self.assertGreater(before, 50)
        self.assert_failed(self.collect('gemm', *SHAPES, '--gpus', '0,1'), 'holds an unfinished run')
        begun = len(self.lines(self.begun))
        result = self.collect('gemm', *SHAPES, '--gpus', '0,1', '--resume')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.outcomes(), {'measured': 196, 'failed': 4})
        self.assertEqual(len(self.lines(self.begun)) - begun, 200 - before)
        self.assertEqual(self.query('SELECT count(*), count(DISTINCT name) FROM case_record'),
                         [(200, 200)])
        self.assertEqual(len(self.table('gemm_perf.txt')), 196)
        self.assertEqual(self.summary()['summary']['total_errors'], 4)

    def test_failures_stay_until_they_are_tried_again(self):
        self.faults('error m=1 ')
        self.collect('gemm', *SHAPES)
        begun = len(self.lines(self.begun))
        self.faults()
        result = self.collect('gemm', *SHAPES, '--resume')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.lines(self.begun)), begun)
        self.assertEqual(self.summary()['summary']['errors_by_type'], {'DeviceError': 20})
        self.assertIn('DeviceError', result.stdout)
        result = self.collect('gemm', *SHAPES, '--resume_retry_failed')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.outcomes(), {'measured': 200})
        self.assertEqual(len(self.lines(self.begun)), begun + 20)

    def test_resume_refuses_what_is_not_the_same(self):
        self.faults('error m=1 ')
        self.assert_failed(self.collect('gemm', *SHAPES, '--resume'), 'nothing to resume')
        self.collect('gemm', *SHAPES)
        again = ('gemm', *SHAPES, '--resume-retry-failed')
        for options, variables, words in (
                (('--l2', 'cold'), {}, '--l2 was engine and is cold'),
                (('--limit', '9'), {}, '--limit was not given and is 9'),
                (('--num-runs', '6'), {}, '--num-runs was 0 and is 6'),
                ((), {'FAKE_VERSION': '9'}, 'version was 0.1.0 and is 9'),
                ((), {'FAKE_DRIVER': '590'}, 'driver was 580 and is 590'),
                ((), {'FAKE_NAME': 'Other'}, 'name was Fake and is Other')):
            self.assert_failed(self.collect(*again, *options, **variables), words)
        self.assertEqual(self.outcomes(), {'measured': 180, 'failed': 20})
        self.assert_failed(self.collect('gemm', '--smoke', '--resume'), '--m was 1,2,4')

    def test_other_checks_hold_for_what_is_left_and_are_recorded(self):
        self.faults('error m=1 ')
        self.collect('gemm', *SHAPES, '--check-every', '0')
        self.assertEqual(collections.Counter(self.failures().values()), {'DeviceError': 20})
        self.faults('wrong m=')
        result = self.collect('gemm', *SHAPES, '--resume-retry-failed', '--check-every', '1')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(collections.Counter(self.failures().values()), {'WrongResult': 20})
        facts = json.loads(self.query('SELECT facts FROM run')[0][0])
        changes = [text for name, text in facts.items() if name.startswith('resumed ')]
        self.assertEqual(changes, ['--check-every was 0 and is 1'])
        self.assertEqual(facts['--check-every'], '1')

    def test_a_new_run_may_begin_beside_an_unfinished_one(self):
        process = self.start('gemm', *SHAPES, FAKE_SECONDS='0.05')
        self.wait_for_cases(3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        result = self.collect('gemm', *SHAPES, '--limit', '5', '--new-run')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.query('SELECT count(*) FROM run'), [(2,)])
        self.assertEqual(self.collect('gemm', '--smoke').returncode, 0)

    def test_two_at_once_in_one_folder(self):
        self.faults('wait m=')
        first = self.start('gemm', *SHAPES, '--limit', '8')
        self.wait_for_cases(0)
        self.assert_failed(self.collect('gemm', *SHAPES), "another 'assay collect' is writing to")
        self.faults()
        self.assertEqual(first.wait(PATIENCE_S), 0)
        first.communicate()
        self.assertEqual(self.outcomes(), {'measured': 8})


if __name__ == '__main__':
    unittest.main()
