#!/usr/bin/env python3
"""Whole benchmarks with a worker that needs no GPU: failures, kills, resumption, full disks, ranks.

The program to test is named by the environment variable ASSAY.
"""

import collections
import csv
import json
import os
import pathlib
import pty
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ASSAY = os.environ['ASSAY']
WORKER = pathlib.Path(__file__).resolve().parent / 'fake_worker.py'
STRATEGIES = ['ONESHOT', 'TWOSHOT_PUSH', 'TWOSHOT', 'NCCL_SYMMETRIC', 'NCCL']
HEADER = ('world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us),'
          'launch,low (us),high (us),min (us),samples,memory (bytes),outcome,reason')
PATIENCE_S = 60


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


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='assay-bench-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / 'data'
        self.pids = self.folder / 'pids'
        self.csv = self.data / 'benchmark.tp2.sm90.csv'

    def tearDown(self):
        """No worker, nor what it started, outlives its benchmark."""
        wait_until(lambda: not any(is_alive(pid) for pid in self.worker_pids()))

    def worker_pids(self):
        return self.pids.read_text(encoding='utf-8').split() if self.pids.exists() else []

    def environment(self, **variables):
        return {**os.environ, 'ASSAY_WORKER': str(WORKER), 'FAKE_PIDS': str(self.pids),
                **variables}

    def arguments(self, *options):
        usual = {'--output': str(self.data), '--tp': '2', '--fusion': 'NONE',
                 '--hidden': '128,256', '--tokens': '1,2,4'}
        return [ASSAY, 'allreduce', 'bench', *options,
                *(word for name, value in usual.items() if name not in options
                  for word in (name, value))]

    def bench(self, *options, prefix=(), preexec=None, **variables):
        return subprocess.run([*prefix, *self.arguments(*options)], text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE_S, cwd=self.folder,
                              env=self.environment(**variables), preexec_fn=preexec)

    def start(self, *options, **variables):
        return subprocess.Popen(self.arguments(*options), text=True, cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.environment(**variables))

    def rows(self, path=None):
        with open(path or self.csv, newline='', encoding='utf-8') as file:
            return list(csv.DictReader(file))

    def outcomes(self):
        return collections.Counter(row['outcome'] for row in self.rows())

    def bad_rows(self):
        return [row for row in self.rows() if row['outcome'] != 'ok']

    def keys(self):
        return [(row['hidden_size'], row['num_tokens'], row['strategy']) for row in self.rows()]

    def assert_whole(self, cells=6, strategies=5):
        keys = self.keys()
        self.assertEqual(len(keys), cells * strategies)
        self.assertEqual(len(set(keys)), len(keys))

    def assert_failed(self, result, words, code=1):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(words, result.stderr)
        lines = [line for line in result.stderr.splitlines() if 'assay: waiting:' not in line]
        self.assertEqual(sum('assay:' in line for line in lines), 1, result.stderr)

    def wait_for_rows(self, count):
        wait_until(lambda: self.csv.exists() and
                   len(self.csv.read_text(encoding='utf-8').splitlines()) > count)


class Codegen(BenchTest):
    def test_without_data_it_measures_first(self):
        gpus = self.folder / 'gpus'
        gpus.write_text('count 2\n', encoding='utf-8')
        libraries = os.pathsep.join(
            path for path in (os.environ['FAKE_NVML'], os.environ.get('LD_LIBRARY_PATH')) if path)
        result = subprocess.run(
            [ASSAY, 'allreduce', 'codegen', '--save_csv_dir', str(self.data)], text=True,
            capture_output=True, check=False, timeout=PATIENCE_S, cwd=self.folder,
            env=self.environment(ASSAY_FAKE_NVML=str(gpus), LD_LIBRARY_PATH=libraries,
                                 CUDA_VISIBLE_DEVICES='0,1'))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_whole_grid()
        self.assertTrue((self.data / 'gen_heuristic_code/generated_lookup_table.cpp').exists())
        self.assertIn('measured ' + str(self.csv), result.stderr)

    def assert_whole_grid(self):
        self.assertEqual(len(self.rows()), 4 * 13 * 15 * len(STRATEGIES))


class NcclSweep(BenchTest):
    """`bench --nccl-sweep`, and what `codegen` makes of it."""

    def sweep(self, *options, **variables):
        return subprocess.run(
            [ASSAY, 'allreduce', 'bench', '--nccl-sweep', '--tp', '4', '--output', str(self.data),
             *options], text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL,
            timeout=PATIENCE_S, cwd=self.folder, env=self.environment(**variables))

    def small(self, *options, **variables):
        return self.sweep('--collectives', 'allreduce', '--channels', '1,2', '--min-size', '4K',
                          '--max-size', '8K', *options, **variables)

    def swept(self):
        return self.rows(self.data / 'nccl_sweep.tp4.sm90.csv')

    def codegen(self, *options):
        done = subprocess.run(
            [ASSAY, 'allreduce', 'codegen', str(self.data), *options], text=True,
            capture_output=True, check=False, timeout=PATIENCE_S, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {path.name: path.read_text(encoding='utf-8')
                for path in (self.data / 'gen_heuristic_code').iterdir()}

    def test_every_setting_of_every_call(self):
        done = self.sweep('--launch', 'both')
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.swept()
        sizes, channels = 18, 7
        self.assertEqual(len(rows), 2 * sizes * ((1 + 6 * channels) + 3 * (1 + 3 * channels)))
        self.assertEqual({row['op'] for row in rows},
                         {'allreduce', 'allgather', 'reducescatter', 'broadcast'})
        self.assertEqual({row['launch'] for row in rows}, {'graph', 'eager'})
        self.assertTrue(all(row['ran'] == row['strategy'] for row in rows
                            if row['strategy'] != 'NCCL'))
        self.assertIn('25', done.stdout)  # percent that NCCL's own choice takes longer
        facts = json.loads((self.data / 'nccl_sweep.tp4.sm90.json').read_text(encoding='utf-8'))
        self.assertEqual(facts['settings']['GPU'], 'Fake')

    def test_tuner_files(self):
        self.assertEqual(self.small('--launch', 'both').returncode, 0)
        files = self.codegen()
        self.assertEqual(set(files), {'nccl_tuner.conf', 'assay_nccl_tuner.conf'})
        rows = [line for line in files['assay_nccl_tuner.conf'].splitlines()
                if not line.startswith('# ')]
        self.assertEqual(rows, ['#! gpu Fake', '#! nccl 2.28',
                                'allreduce,4096,8192,ring,ll,1,1,4,1,1',
                                'allreduce,4096,8192,ring,ll,1,1,4,1,0'])
        self.assertIn('\nallreduce,0,9223372036854775807,ring,ll,1,1,4\n', files['nccl_tuner.conf'])

    def test_beside_a_benchmark(self):
        self.assertEqual(self.small().returncode, 0)
        self.assertEqual(self.bench('--tp', '4').returncode, 0)
        files = self.codegen()
        self.assertIn('allreduce_table.h', files)
        self.assertIn('\nallreduce,4096,8192,ring,ll,1,1,4,1,1\n', files['assay_nccl_tuner.conf'])

    def test_a_setting_that_fails_costs_only_itself(self):
        faults = ('crash:NCCL_RING_LL_2:*:8192', 'incorrect:NCCL_RING_LL_1:*:*',
                  'hang:NCCL_TREE_LL_1:*:4096')
        done = self.small('--deadline', '1', FAKE_FAULTS=';'.join(faults))
        self.assertEqual(done.returncode, 0, done.stderr)
        bad = {(row['strategy'], row['size']): row['outcome'] for row in self.swept()
               if row['outcome'] != 'ok'}
        self.assertEqual(bad, {('NCCL_RING_LL_2', '8192'): 'error',
                               ('NCCL_RING_LL_1', '4096'): 'incorrect',
                               ('NCCL_RING_LL_1', '8192'): 'incorrect',
                               ('NCCL_TREE_LL_1', '4096'): 'hang'})
        self.assertEqual(len(self.swept()), 2 * 13)
        rows = [line for line in self.codegen()['assay_nccl_tuner.conf'].splitlines()
                if line.startswith('allreduce')]
        self.assertEqual(rows, [])

    def test_nothing_is_lost_in_silence(self):
        self.assertEqual(self.small().returncode, 0)
        self.assert_failed(self.small(), 'is there already')
        self.assertEqual(self.small('--overwrite').returncode, 0)
        self.assert_failed(self.small('--overwrite', FAKE_START='fatal'), 'no NVIDIA driver')

    def test_resuming_measures_what_is_missing(self):
        self.assertEqual(self.small('--launch', 'graph').returncode, 0)
        path = self.data / 'nccl_sweep.tp4.sm90.csv'
        before = path.read_text(encoding='utf-8')
        self.assertEqual(self.small('--resume').returncode, 0)
        self.assertEqual(path.read_text(encoding='utf-8'), before, 'all of it was there')
        done = self.sweep('--collectives', 'allreduce', '--channels', '1,2,4', '--min-size', '4K',
                          '--max-size', '16K', '--resume')
        self.assertEqual(done.returncode, 0, done.stderr)
        text = path.read_text(encoding='utf-8')
        self.assertTrue(text.startswith(before), 'no row was touched')
        count = collections.Counter((row['size'], row['strategy']) for row in self.swept())
        self.assertEqual(len(count), 3 * (1 + 6 * 3))
        self.assertEqual({key for key, times in count.items() if times > 1},
                         {('4096', 'NCCL'), ('8192', 'NCCL')}, 'only NCCL itself, for new settings')
        facts = json.loads((self.data / 'nccl_sweep.tp4.sm90.json').read_text(encoding='utf-8'))
        self.assertEqual(len(facts['runs']), 3)

    def test_resuming_after_a_worker_that_cannot_start(self):
        """What was measured before stays, whatever stops the rest."""
        self.assertEqual(self.sweep('--collectives', 'broadcast', '--max-size', '4K').returncode, 0)
        before = self.swept()
        self.assert_failed(self.small('--resume', FAKE_START='fatal'), 'no NVIDIA driver')
        self.assert_failed(self.small('--resume', FAKE_FACT='Other'), "GPU 'Fake', and now it is 'Other'")
        self.assertEqual(self.swept(), before)

    def test_resuming_leaves_out_a_torn_line(self):
        self.assertEqual(self.small().returncode, 0)
        path = self.data / 'nccl_sweep.tp4.sm90.csv'
        whole = path.read_text(encoding='utf-8')
        lines = whole.splitlines(keepends=True)
        path.write_text(''.join(lines[:-1]) + lines[-1][:20], encoding='utf-8')
        self.assertEqual(self.small('--resume').returncode, 0)
        self.assertEqual([row['strategy'] for row in self.swept()][-2:], ['NCCL', 'NCCL_TREE_SIMPLE_2'])
        path.write_text('a,b\n1,2\n', encoding='utf-8')
        self.assert_failed(self.small('--resume'), 'has other columns')
        self.assertEqual(path.read_text(encoding='utf-8'), 'a,b\n1,2\n')

    def test_data_types(self):
        done = self.sweep('--dtype', 'bfloat16,float32', '--collectives', 'allreduce,allgather',
                          '--channels', '1', '--min-size', '4K', '--max-size', '4K')
        self.assertEqual(done.returncode, 0, done.stderr)
        count = collections.Counter((row['op'], row['dtype'], row['hidden_size']) for row in self.swept())
        self.assertEqual(count, {('allreduce', 'bfloat16', '2048'): 7,
                                 ('allreduce', 'float32', '1024'): 7,
                                 ('allgather', 'bfloat16', '2048'): 4}, 'bytes have no type')

    def test_a_row_is_better_with_every_data_type(self):
        """NCCL does not tell a tuner the type."""
        options = ('--dtype', 'bfloat16,float32', '--launch', 'eager')
        self.assertEqual(self.small(*options).returncode, 0)
        self.assertIn('\nallreduce,4096,8192,ring,ll,1,1,4,1,0\n',
                      self.codegen()['assay_nccl_tuner.conf'])
        self.assertEqual(self.small(*options, '--overwrite',
                                    FAKE_FAULTS='incorrect:NCCL_RING_LL_1:float32:4096').returncode, 0)
        self.assertIn('\nallreduce,8192,8192,ring,ll,1,1,4,1,0\n',
                      self.codegen()['assay_nccl_tuner.conf'])

    def test_plan(self):
        done = self.small('--plan-only')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'4 +graph +allreduce +bfloat16 +2 +13')
        self.assertFalse(self.data.exists())
        done = self.small('--plan-only', '--dtype', 'float16,float32')
        self.assertIn('4 calls', done.stdout)

    def test_wrong_usage(self):
        for options, words in (
                (('--fusion', 'NONE'), '--nccl-sweep has no strategies'),
                (('--hidden', '128'), '--nccl-sweep has no strategies'),
                (('--channels', '0'), '--channels 0'),
                (('--channels', '65'), '--channels 65'),
                (('--min-size', '1G'), 'nothing to measure')):
            with self.subTest(options=options):
                self.assert_failed(self.sweep(*options), words, code=2)
        self.assert_failed(self.bench('--collectives', 'allreduce'), '--nccl-sweep', code=2)


class Normal(BenchTest):
    def test_every_strategy_of_every_cell_is_written(self):
        result = self.bench()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, '')
        self.assertEqual(self.csv.read_text(encoding='utf-8').splitlines()[0], HEADER)
        self.assert_whole()
        for row in self.rows():
            self.assertEqual(row['outcome'], 'ok')
            self.assertEqual(row['op'], 'allreduce')
            self.assertEqual(int(row['size']),
                             2 * int(row['hidden_size']) * int(row['num_tokens']))
            self.assertLess(float(row['low (us)']), float(row['time (us)']))
            self.assertEqual(row['memory (bytes)'], str(1 << 20))
        self.assertEqual({row['strategy'] for row in self.rows()}, set(STRATEGIES))
        self.assertIn('benchmark.tp2.sm90.csv', result.stdout)
        self.assertEqual(len(self.worker_pids()), 1)

    def test_it_says_what_was_measured_with(self):
        self.bench(NCCL_ALGO='Ring')
        kept = json.loads((self.data / 'benchmark.tp2.sm90.json').read_text(encoding='utf-8'))
        self.assertEqual(kept['settings']['GPU'], 'Fake')
        self.assertEqual(kept['settings']['variable NCCL_ALGO'], 'Ring')
        self.assertIn('assay', kept['settings']['made by'])
        self.assertIn('--tokens 1,2,4', kept['runs'][0]['command line'])
        self.assertIn('date', kept['runs'][0])

    def test_launches_types_and_tp_sizes_have_files_of_their_own(self):
        result = self.bench('--launch', 'both', '--dtype', 'bfloat16,float32', '--tp', '2,3',
                            '--strategies', 'NCCL', '--limit', '3')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(path.name for path in self.data.glob('*.csv')), sorted(
            f'benchmark.tp{tp}.sm90{dtype}{launch}.csv' for tp in (2, 3)
            for dtype in ('', '.float32') for launch in ('', '.eager')))
        self.assertEqual(len(self.worker_pids()), 2)

    def test_a_plan_starts_nothing(self):
        result = self.bench('--plan-only', '--format', 'csv')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('2,graph,bfloat16,NONE,2,3,6,5,30', result.stdout)
        self.assertFalse(self.data.exists())
        self.assertEqual(self.worker_pids(), [])

    def test_a_terminal_sees_how_far_it_is(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(self.arguments(), stdin=subprocess.DEVNULL, stderr=theirs,
                                   stdout=subprocess.DEVNULL,
                                   env=self.environment(FAKE_SECONDS='0.05'))
        self.assertEqual(process.wait(PATIENCE_S), 0)
        os.close(theirs)
        seen = b''
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:
            pass
        os.close(ours)
        self.assertRegex(seen.decode(), r'TP 2: 3 of 6 cells, [\d.]+ cells/s, 1 s left')


class Failures(BenchTest):
    def test_a_hang_costs_one_strategy_in_one_cell(self):
        result = self.bench('--deadline', '1', FAKE_FAULTS='hang:TWOSHOT:128:2')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_whole()
        [bad] = self.bad_rows()
        self.assertEqual((bad['strategy'], bad['hidden_size'], bad['num_tokens'], bad['outcome'],
                          bad['time (us)']), ('TWOSHOT', '128', '2', 'hang', ''))
        self.assertEqual(bad['reason'], 'no end within 1 s during time')
        self.assertIn('hang', result.stdout)

    def test_crashes_exits_and_garbage_cost_one_strategy_in_one_cell(self):
        result = self.bench(FAKE_FAULTS='crash:ONESHOT:128:1;exit:NCCL:256:2;'
                            'garbage:TWOSHOT:256:4;lost:NCCL_SYMMETRIC:128:4')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_whole()
        bad = {row['strategy']: row for row in self.bad_rows()}
        self.assertEqual({row['outcome'] for row in bad.values()}, {'error'})
        self.assertEqual(sorted(bad), ['NCCL', 'NCCL_SYMMETRIC', 'ONESHOT', 'TWOSHOT'])
        self.assertIn('signal 11 (Segmentation fault); it said: CUDA error: an illegal memory '
                      'access', bad['ONESHOT']['reason'])
        self.assertIn('exited with code 7', bad['NCCL']['reason'])
        self.assertIn("no JSON in 'Segmentation fault (core dumped)'", bad['TWOSHOT']['reason'])
        self.assertEqual(self.outcomes()['ok'], 26)

    def test_outcomes_are_kept_with_their_reasons(self):
        result = self.bench(FAKE_FAULTS='incorrect:ONESHOT:128:1;unsupported:NCCL:*:*;'
                            'lines:TWOSHOT:128:1')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.outcomes(), {'ok': 22, 'unsupported': 6, 'incorrect': 1, 'error': 1})
        reasons = {row['strategy']: row['reason'] for row in self.bad_rows()}
        self.assertEqual(reasons['ONESHOT'], 'incorrect, "as told"')
        self.assertEqual(reasons['TWOSHOT'], 'one two, "three" ')
        self.assertEqual(len(self.csv.read_text(encoding='utf-8').splitlines()), 31)

    def test_a_worker_that_dies_idle_twice_ends_that_cell_only(self):
        result = self.bench(FAKE_FAULTS='idle:idle:128:4')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_whole()
        self.assertEqual({(row['hidden_size'], row['num_tokens']) for row in self.bad_rows()},
                         {('128', '4')})
        self.assertEqual(len(self.bad_rows()), 5)
        self.assertEqual(len(self.worker_pids()), 3)

    def test_a_worker_that_dies_idle_once_costs_nothing(self):
        result = self.bench(FAKE_FAULTS=f'idle:idle:128:4:{self.folder}/once')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.outcomes(), {'ok': 30})

    def test_a_strategy_that_keeps_hanging_is_left_out(self):
        result = self.bench('--deadline', '0.4', FAKE_FAULTS='hang:NCCL:*:*')
        self.assertEqual(result.returncode, 1)
        self.assertIn('NCCL hung in 3 cells in a row and is left out', result.stderr)
        self.assertIn('3 measurements are left out', result.stderr)
        self.assertIn('no time at all for NCCL:', result.stderr)
        self.assertEqual(self.outcomes(), {'ok': 24, 'hang': 3})
        self.assertEqual(self.bench('--resume').returncode, 0)
        self.assert_whole()

    def test_a_worker_that_cannot_work_here_says_so(self):
        result = self.bench(FAKE_START='fatal')
        self.assert_failed(result, 'no NVIDIA driver was found')
        self.assertFalse(self.csv.exists())

    def test_a_worker_that_cannot_start_says_why(self):
        self.assert_failed(self.bench(FAKE_START='exit'), 'the worker does not start: the worker '
                           'exited with code 127; it said: error while loading shared libraries')

    def test_no_worker(self):
        self.assert_failed(self.bench('--worker', '/no/such/worker'),
                           "no worker: '/no/such/worker' is not a file")
        result = self.bench(ASSAY_WORKER='')
        if not (pathlib.Path(ASSAY).parent / 'assay-worker').exists():
            self.assert_failed(result, 'no assay-worker beside')

    def test_no_table(self):
        self.assert_failed(self.bench('--enable_auto', '--table', 'none.json'),
                           "no table: 'none.json' is not a file")
        self.assertFalse(self.data.exists())

    def test_wrong_usage(self):
        for options, words in ((('--hidden', '100'), 'hidden size 100 is not a multiple of 8'),
                               (('--tp', '1'), 'an all-reduce takes 2 to 8 GPUs'),
                               (('--tp', '16'), 'an all-reduce takes 2 to 8 GPUs'),
                               (('--tp', '99999999999'), 'not a list of whole numbers'),
                               (('--tp', '4,2,4'), '--tp names 4 twice'),
                               (('--gpus', '0,0'), '--gpus names GPU 0 twice'),
                               (('--gpus', '99999999999'), 'not a list of whole numbers'),
                               (('--tokens', '1,x'), 'not a list of whole numbers'),
                               (('--max-size', '1'), 'nothing to measure: no message'),
                               (('--strategies', 'ONESHOOT'), "did you mean 'ONESHOT'?"),
                               (('--max-size', '64Q'), 'is not a number of bytes'),
                               (('--resume', '--overwrite'), 'exclude each other')):
            self.assert_failed(self.bench(*options), words, code=2)
        self.assertFalse(self.data.exists())


class Interruptions(BenchTest):
    def test_kill_and_resume_give_every_row_once(self):
        process = self.start(FAKE_SECONDS='0.2')
        self.wait_for_rows(10)
        process.kill()
        process.communicate()
        before = self.csv.read_text(encoding='utf-8')
        result = self.bench('--resume')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_whole()
        self.assertTrue(self.csv.read_text(encoding='utf-8').startswith(before))
        kept = json.loads((self.data / 'benchmark.tp2.sm90.json').read_text(encoding='utf-8'))
        self.assertEqual(len(kept['runs']), 2)

    def test_a_kill_ends_a_hung_worker_and_what_it_started(self):
        process = self.start(FAKE_FAULTS='hang:TWOSHOT:*:*')
        wait_until(lambda: len(self.worker_pids()) == 2)
        process.kill()
        process.communicate()
        # tearDown waits for both to be gone.

    def test_ctrl_c_keeps_all_and_says_how_to_go_on(self):
        process = self.start(FAKE_SECONDS='0.2')
        self.wait_for_rows(5)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        self.assertLess(time.monotonic() - begin, 1.5)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn('--resume', stderr)
        self.assertEqual(self.bench('--resume').returncode, 0)
        self.assert_whole()

    def test_ctrl_c_ends_a_hung_worker_at_once(self):
        process = self.start(FAKE_FAULTS='hang:TWOSHOT:*:*')
        wait_until(lambda: len(self.worker_pids()) == 2)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        self.assertLess(time.monotonic() - begin, 2)
        self.assertEqual(process.returncode, 130)

    def test_a_torn_line_is_cut_and_measured_again(self):
        self.bench()
        whole = self.csv.read_bytes()
        self.csv.write_bytes(whole[:-25])
        result = self.bench('--resume')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('cut off an unfinished last line of', result.stderr)
        self.assert_whole()
        self.csv.write_bytes(whole[:20])
        self.assertEqual(self.bench('--resume').returncode, 0)
        self.assert_whole()

    def test_a_full_disk_keeps_what_fitted(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
        result = self.bench(preexec=limit)
        self.assert_failed(result, 'File too large; 2 cells are measured and kept')
        self.assertTrue(self.csv.read_bytes().endswith(b'\n'))
        self.assertEqual(len(self.rows()), 10)
        self.assertEqual(self.bench('--resume').returncode, 0)
        self.assert_whole()


class Mixing(BenchTest):
    def test_what_is_there_is_not_touched_unasked(self):
        self.bench()
        before = self.csv.read_bytes()
        self.assert_failed(self.bench(), 'is there already: go on with it by --resume')
        self.assertEqual(self.csv.read_bytes(), before)
        self.assertEqual(self.bench('--overwrite', '--strategies', 'NCCL').returncode, 0)
        self.assert_whole(strategies=1)

    def test_resume_refuses_another_machine_version_or_setting(self):
        self.bench()
        before = self.csv.read_bytes()
        self.assert_failed(self.bench('--resume', FAKE_FACT='Other'),
                           "was measured with GPU 'Fake', and now it is 'Other'")
        self.assert_failed(self.bench('--resume', '--tie', '5'), "with --tie '0.02'")
        self.assert_failed(self.bench('--resume', NCCL_PROTO='LL'), 'with variable NCCL_PROTO')
        self.assert_failed(self.bench('--resume', '--held-out'), "with shapes 'grid'")
        self.assertEqual(self.bench('--resume', NCCL_DEBUG='INFO').returncode, 0)
        (self.data / 'benchmark.tp2.sm90.json').unlink()
        self.assert_failed(self.bench('--resume'), 'benchmark.tp2.sm90.json')
        self.assertEqual(self.csv.read_bytes(), before)

    def test_resume_may_add_shapes_and_strategies(self):
        self.bench('--strategies', 'NCCL,ONESHOT')
        result = self.bench('--resume', '--hidden', '128,512')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(set(self.keys())), len(self.keys()))
        self.assertEqual(len(self.keys()), 6 * 2 + 3 * 3 + 3 * 5)

    def test_two_at_once_in_one_folder(self):
        first = self.start(FAKE_SECONDS='2')
        wait_until(self.csv.exists)
        self.assert_failed(self.bench('--resume'), "another 'assay allreduce bench' is writing")
        self.assertEqual(first.wait(PATIENCE_S), 0)
        first.communicate()
        self.assert_whole()


@unittest.skipUnless(shutil.which('mpirun'), 'no mpirun')
class Ranks(BenchTest):
    def mpirun(self, *options, **variables):
        prefix = ['mpirun', '-n', '3', '--oversubscribe', '--allow-run-as-root']
        return self.bench('--rendezvous', str(self.folder / 'meet'), *options, prefix=prefix,
                          **variables)

    def test_every_rank_has_a_worker_and_rank_0_writes(self):
        result = self.mpirun('--tp', '2,3')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_whole()
        self.assertEqual(len(self.rows(self.data / 'benchmark.tp3.sm90.csv')), 30)
        self.assertEqual(len(self.worker_pids()), 2 + 3)
        self.assertEqual(result.stdout.count('Strategies in cells'), 1)
        self.assertFalse((self.folder / 'meet').exists())

    def test_a_hang_has_all_ranks_start_anew(self):
        result = self.mpirun('--tp', '3', '--deadline', '1', FAKE_FAULTS='hang:TWOSHOT:128:2')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.csv = self.data / 'benchmark.tp3.sm90.csv'
        self.assert_whole()
        self.assertEqual(len(self.bad_rows()), 1)
        self.assertEqual(len(self.worker_pids()), 3 + 1 + 3)

    def test_a_rank_whose_worker_fails_is_named(self):
        result = self.mpirun('--tp', '3', FAKE_BAD_RANK='2')
        self.assertEqual(result.returncode, 1)
        self.assertIn('the worker of rank 2 ended', result.stderr)

    def test_more_gpus_than_ranks(self):
        result = self.mpirun('--tp', '4')
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count('--tp 4: there are 3 ranks'), 1)


if __name__ == '__main__':
    unittest.main()
