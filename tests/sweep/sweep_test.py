#!/usr/bin/env python3
"""Whole sweeps with real child processes: failures, hangs, kills, resumption, arguments.

The program to test is named by the environment variable ASSAY.
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

ASSAY = os.environ['ASSAY']
HERE = pathlib.Path(__file__).resolve().parent
WORKLOAD = [sys.executable, str(HERE / 'workload.py'), '{dir}']
GOOD = ['good1', 'good2', 'good3', 'good4', 'good5', 'good6']
BAD = ['crash1', 'crash2', 'crash3', 'hang1', 'hang2', 'stubborn']
PATIENCE_S = 60


def marked_processes(sweep_id):
    """Processes of a sweep that are alive, by their environment."""
    mark = b'ASSAY_SWEEP_ID=' + sweep_id.encode()
    found = []
    for process in pathlib.Path('/proc').iterdir():
        if not process.name.isdigit():
            continue
        try:
            if mark in (process / 'environ').read_bytes().split(b'\0'):
                found.append(process.name)
        except OSError:
            pass
    return found


def wait_until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError('waited in vain')
        time.sleep(0.02)


class SweepTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='assay-sweep-'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.sweep = self.folder / 'sweep'

    def arguments(self, *options, kinds=None, command=None):
        values = ['--set', 'KIND=' + ','.join(kinds)] if kinds else []
        return [ASSAY, 'sweep', 'run', '-o', str(self.sweep), *values, *options, '--',
                *(command or WORKLOAD)]

    def run_sweep(self, *options, kinds=None, command=None, environment=None):
        return subprocess.run(self.arguments(*options, kinds=kinds, command=command), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=PATIENCE_S, env={**os.environ, **(environment or {})},
                              cwd=self.folder)

    def start_sweep(self, *options, kinds, environment=None):
        return subprocess.Popen(self.arguments(*options, kinds=kinds), cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True,
                                env={**os.environ, **(environment or {})})

    def sweep_id(self):
        return json.loads((self.sweep / 'sweep.json').read_text())['id']

    def rows(self):
        with open(self.sweep / 'sweep_summary.csv', newline='', encoding='utf-8') as file:
            return list(csv.DictReader(file))

    def statuses(self):
        return {row['setting']: row['status'] for row in self.rows()}

    def assert_refused(self, result, words, code=1):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(words, result.stderr)
        self.assertEqual(result.stderr.count('assay:'), 1, result.stderr)


class Failures(SweepTest):
    def test_bad_runs_cost_only_themselves(self):
        result = self.run_sweep('--deadline', '1', '--grace', '0.5', kinds=GOOD + BAD)
        self.assertEqual(result.returncode, 1)
        self.assertIn('6 of 12 runs did not go well', result.stderr)
        statuses = self.statuses()
        self.assertEqual(sorted(statuses), sorted(kind + '-kind' for kind in GOOD + BAD))
        for kind in GOOD:
            self.assertEqual(statuses[kind + '-kind'], 'ok')
            self.assertTrue((self.sweep / (kind + '-kind') / 'torch_profiler/rank1').is_dir())
        for kind in BAD:
            wanted = 'failed' if kind.startswith('crash') else 'hung'
            self.assertEqual(statuses[kind + '-kind'], wanted)
            self.assertFalse((self.sweep / (kind + '-kind')).exists())
            self.assertTrue((self.sweep / (kind + '-kind.failed') / 'run_output.log').is_file())
        self.assertIn('SIGKILL', next(row['detail'] for row in self.rows()
                                      if row['setting'] == 'stubborn-kind'))
        self.assertEqual(marked_processes(self.sweep_id()), [])

    def test_traces_are_judged(self):
        result = self.run_sweep(kinds=['good', 'cut', 'silent'])
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.statuses(), {'good-kind': 'ok', 'cut-kind': 'bad traces',
                                           'silent-kind': 'no traces'})
        row = next(row for row in self.rows() if row['setting'] == 'cut-kind')
        self.assertIn('rank 1', row['detail'])

    def test_what_a_run_leaves_behind_is_ended_and_said(self):
        result = self.run_sweep(kinds=['leaves'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('left 3 processes behind', result.stderr)
        self.assertEqual(marked_processes(self.sweep_id()), [])

    def test_a_daemon_is_not_counted_into_the_duration(self):
        grace_s = 2
        result = self.run_sweep('--grace', str(grace_s), kinds=['daemon'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('left 1 process behind', result.stderr)
        self.assertLess(float(self.rows()[0]['duration (s)']), grace_s)

    def test_nothing_is_cut_in_the_summary(self):
        kind = 'crash' + 'y' * 180
        self.run_sweep('--set', 'LONG=' + 'z' * 40, kinds=[kind])
        text = (self.sweep / 'sweep_summary.txt').read_text()
        self.assertIn(self.rows()[0]['detail'], text)
        self.assertIn(f'{kind}-kind_{"z" * 40}-long', text)
        self.assertNotIn('…', text)

    def test_other_alphabets_stay_apart(self):
        kinds = ['good-ä', 'good-ü', 'good/1', 'good:1']
        result = self.run_sweep(kinds=kinds)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual({row['folder'] for row in self.rows()},
                         {'good-ä-kind', 'good-ü-kind', 'good-1-kind', 'good-1-kind_2'})

    def test_failed_runs_are_run_again_only_when_asked(self):
        self.run_sweep(kinds=['good', 'crash'])
        again = self.run_sweep('--resume', kinds=['good', 'crash'])
        self.assertEqual(again.returncode, 1)
        self.assertFalse((self.sweep / 'crash-kind.failed2').exists())
        self.run_sweep('--resume-retry-failed', kinds=['good', 'crash'])
        self.assertTrue((self.sweep / 'crash-kind.failed2').is_dir())
        self.assertEqual(len(self.rows()), 2)


class Interruptions(SweepTest):
    def assert_whole_after_resume(self, kinds):
        result = self.run_sweep('--resume', kinds=kinds)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = self.rows()
        self.assertEqual(sorted(row['setting'] for row in rows),
                         sorted(kind + '-kind' for kind in kinds))
        for row in rows:
            self.assertEqual(row['status'], 'ok')
            started = self.sweep / row['folder'] / 'started'
            self.assertEqual(started.read_text(), row['setting'] + '\n')
        self.assertEqual(marked_processes(self.sweep_id()), [])

    def wait_for_runs(self, count):
        wait_until(lambda: len(list(self.sweep.glob('*/started'))) >= count)

    def test_killed_and_resumed(self):
        for everyone in (False, True):
            with self.subTest(everyone=everyone):
                shutil.rmtree(self.sweep, ignore_errors=True)
                process = self.start_sweep(kinds=GOOD, environment={'HOLD_AT': '3'})
                self.wait_for_runs(3)
                if everyone:
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
                process.communicate()
                self.assert_whole_after_resume(GOOD)
                self.assertEqual(len(list(self.sweep.glob('*.unfinished'))), 1)

    def test_the_run_ends_when_the_sweep_is_killed(self):
        process = self.start_sweep(kinds=['hang'])
        self.wait_for_runs(1)
        process.kill()
        process.communicate()
        wait_until(lambda: not marked_processes(self.sweep_id()))

    def test_one_interrupt_is_enough(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=sent.name):
                shutil.rmtree(self.sweep, ignore_errors=True)
                bystander = subprocess.Popen(['sleep', '60'])
                process = self.start_sweep('--grace', '0.5', kinds=['hang', 'stubborn'])
                self.wait_for_runs(1)
                process.send_signal(sent)
                output = process.communicate(timeout=PATIENCE_S)[0].decode()
                self.assertEqual(process.returncode, 130, output)
                self.assertIn('--resume -o', output)
                self.assertEqual(marked_processes(self.sweep_id()), [])
                self.assertIsNone(bystander.poll())
                bystander.kill()
                bystander.wait()
                self.assertEqual(len(list(self.sweep.glob('*.unfinished'))), 1)

    def test_who_waits_says_for_whom(self):
        process = self.start_sweep('--grace', '1', kinds=['stubborn'])
        self.wait_for_runs(1)
        waiting = subprocess.Popen([ASSAY, 'sweep', 'run', '--resume', '-o', str(self.sweep)],
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = waiting.stderr.readline()
        waiting.terminate()
        waiting.communicate()
        self.assertIn(f'waiting for the last run of process {process.pid} on ', said)
        process.send_signal(signal.SIGINT)
        lines = iter(process.stdout.readline, b'')
        self.assertTrue(any(b'Ctrl-C again leaves at once' in line for line in lines))
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=PATIENCE_S)[0].decode()
        self.assertIn("the run's processes are being ended", output)
        self.assertEqual(process.returncode, 130)
        wait_until(lambda: not marked_processes(self.sweep_id()))

    def test_two_sweeps_cannot_share_a_folder(self):
        process = self.start_sweep(kinds=['hang'])
        self.wait_for_runs(1)
        self.assert_refused(self.run_sweep(kinds=['good']), 'holds a sweep already')
        process.kill()
        process.communicate()


class Requests(SweepTest):
    def test_arguments_arrive_as_they_are(self):
        odd = ['-o', '[a,b]', '--', '', 'two words', '{"a": {}}', '{unknown}', '{}', '--repeat',
               '{KIND}/{setting}', 'ü$(x)\'"', '@file', '-']
        script = 'import json,sys; json.dump(sys.argv[2:], open(sys.argv[1] + "/argv", "w"))'
        self.run_sweep(kinds=['x'], command=[sys.executable, '-c', script, '{dir}', *odd])
        argv = json.loads((self.sweep / 'x-kind.failed' / 'argv').read_text())
        self.assertEqual(argv, [a.replace('{KIND}/{setting}', 'x/x-kind') for a in odd])

    def test_settings_decide_over_the_callers_environment(self):
        script = 'import os,sys; print(os.environ.get("NCCL_ALGO"), os.environ.get("OTHER"))'
        self.run_sweep('--set', 'NCCL_ALGO=,Ring', command=[sys.executable, '-c', script],
                       environment={'NCCL_ALGO': 'Tree', 'OTHER': 'kept'})
        log = lambda name: (self.sweep / (name + '.failed') / 'run_output.log').read_text()
        self.assertEqual(log('default-algo'), 'None kept\n')
        self.assertEqual(log('ring-algo'), 'Ring kept\n')

    def test_the_default_settings_and_folders_of_the_requirement(self):
        result = subprocess.run([ASSAY, 'sweep', 'run', '--', *WORKLOAD], cwd=self.folder,
                                env={**os.environ, 'KIND': 'good'}, capture_output=True, text=True,
                                check=False, timeout=PATIENCE_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        (sweep,) = (self.folder / 'experiments').iterdir()
        self.assertRegex(sweep.name, r'^rccl_warp_speed_\d{8}_\d{6}$')
        for setting in ('56cu_256threads', '37cu_384threads', '32cu_512threads'):
            self.assertTrue((sweep / setting / 'torch_profiler/rank0/trace.json').is_file())

    def test_a_seed_is_one_order(self):
        orders = []
        for name in ('a', 'b'):
            self.sweep = self.folder / name
            self.run_sweep('--seed', '7', '--repeat', '2', kinds=GOOD)
            orders.append([row['folder'] for row in self.rows()])
        self.assertEqual(orders[0], orders[1])
        first_round = [folder.split('/')[0] for folder in orders[0][:len(GOOD)]]
        self.assertEqual(sorted(first_round), sorted(kind + '-kind' for kind in GOOD))

    def test_more_repeats_go_on_with_a_sweep(self):
        self.run_sweep('--repeat', '2', kinds=['good'])
        result = self.run_sweep('--resume', '--repeat', '3', kinds=['good'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([row['repeat'] for row in self.rows()], ['1', '2', '3'])

    def test_bad_input_gives_one_clear_error(self):
        self.assert_refused(subprocess.run([ASSAY, 'sweep', 'run'], text=True, capture_output=True,
                                           check=False), 'no command to run', code=2)
        self.assert_refused(self.run_sweep('-p', '56'), "'56' is not a pair CU_COUNT,THREADS", 2)
        self.assert_refused(self.run_sweep('-p', '56,x'), "'x' is not a positive whole number", 2)
        self.assert_refused(self.run_sweep('--preset', 'nccl-ctas', '-p', '8,384'),
                            'NCCL would ignore 384 threads', 2)
        self.assert_refused(self.run_sweep('--set', 'KIND'), "'KIND' is not NAME=value", 2)
        self.assert_refused(self.run_sweep(command=['no-such-program']), 'no-such-program')
        self.assert_refused(self.run_sweep('-c', '/no/file', command=['true', '{config}']),
                            "there is no file '/no/file'")
        self.sweep = pathlib.Path('/proc/sweep')
        self.assert_refused(self.run_sweep(kinds=['good']), "cannot make the folder '/proc/sweep'")
        self.sweep = self.folder
        (self.folder / 'thesis.txt').write_text('')
        self.assert_refused(self.run_sweep(kinds=['good']), 'is not empty')

    def test_a_resumed_sweep_must_be_the_same(self):
        self.run_sweep(kinds=['good'])
        self.assert_refused(self.run_sweep(kinds=['good']), 'holds a sweep already')
        self.assert_refused(self.run_sweep('--resume', kinds=['good', 'other']),
                            'the settings differ')
        self.assert_refused(self.run_sweep('--resume', kinds=['good'], command=['true']),
                            'the commands differ')
        self.sweep = self.folder / 'none'
        self.assert_refused(self.run_sweep('--resume', kinds=['good']), 'holds no sweep')

    def test_a_command_that_cannot_write_its_traces_is_warned_of(self):
        script = 'true {dri} ${NAME} {"a": {}} {{b}} {setting}{KIND} {config}'
        result = self.run_sweep('--dry-run', kinds=['x'], command=['sh', '-c', script])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('warning: the command has no {dir}', result.stderr)
        self.assertIn('warning: {dri} in the command means nothing', result.stderr)
        self.assertIn('warning: {config} in the command is empty', result.stderr)
        self.assertEqual(result.stderr.count('warning:'), 3, result.stderr)
        for good in ('true {dir}', 'true $ASSAY_RUN_DIR'):
            result = self.run_sweep('--dry-run', kinds=['x'], command=['sh', '-c', good])
            self.assertEqual(result.stderr, '')

    def test_a_dry_run_writes_nothing(self):
        result = self.run_sweep('--dry-run', kinds=['good'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('good-kind', result.stdout)
        self.assertFalse(self.sweep.exists())


class Launchers(SweepTest):
    @unittest.skipUnless(shutil.which('mpirun'), 'Open MPI is not installed')
    def test_mpirun_ranks_see_the_setting_and_end_with_it(self):
        mpirun = ['mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '2']
        result = self.run_sweep('--set', 'NCCL_ALGO=Ring',
                                command=[*mpirun, 'sh', '-c', 'echo algo $NCCL_ALGO'])
        log = self.sweep / 'ring-algo.failed' / 'run_output.log'
        self.assertEqual(log.read_text(), 'algo Ring\n' * 2, result.stderr)
        shutil.rmtree(self.sweep)
        self.run_sweep('--set', 'NCCL_ALGO=Ring', '--deadline', '2',
                       command=[*mpirun, 'sleep', '120'])
        self.assertEqual(self.statuses(), {'ring-algo': 'hung'})
        self.assertEqual(marked_processes(self.sweep_id()), [])


class Cost(SweepTest):
    @unittest.skipIf(os.environ.get('ASSAY_SANITIZED'), 'sanitizers cost time and memory')
    def test_the_runner_costs_little(self):
        runs = 20
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(self.arguments('--set', 'X=' + ','.join(map(str, range(runs))),
                                                  command=['true']),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / runs
        print(f'{seconds * 1e3:.1f} CPU-ms a run, {after.ru_maxrss / 1e3:.1f} MB')
        self.assertLess(seconds, 0.1)
        self.assertLess(after.ru_maxrss, 20_000)


if __name__ == '__main__':
    unittest.main()
