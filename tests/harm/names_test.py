#!/usr/bin/env python3
"""Names that come from inputs must never lead out of the folder of the outputs, nor act there.

usage: ASSAY=PROGRAM names_test.py     exit status: 0 good, else failed

hostile.py has the names. What every command writes is examined: no path outside its folder is made
or changed, no program is started, nothing acts as a formula, a tag, a script or an escape sequence,
and every file can be parsed as what it is.
"""
import contextlib
import gzip
import json
import os
import pathlib
import pty
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

import hostile

ASSAY = os.path.abspath(os.environ['ASSAY'])
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'samples'
FORMATS = ('table', 'csv', 'json')
ENVIRONMENT = {**os.environ, 'COLUMNS': '10000', 'TERM': 'xterm', 'NO_COLOR': '',
               'LC_ALL': 'C.UTF-8'}


def run(*arguments, cwd=None):
    return subprocess.run([ASSAY, *map(os.fspath, arguments)], stdin=subprocess.DEVNULL, cwd=cwd,
                          capture_output=True, check=False, timeout=60, env=ENVIRONMENT)


def run_on_terminal(*arguments, cwd=None):
    """Returns all that the program writes when both its outputs are a terminal."""
    terminal, program_side = pty.openpty()
    seen = []

    def read():
        with contextlib.suppress(OSError):  # the other side is closed
            while True:
                seen.append(os.read(terminal, 1 << 16))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        subprocess.run([ASSAY, *map(os.fspath, arguments)], stdin=subprocess.DEVNULL, cwd=cwd,
                       stdout=program_side, stderr=program_side, check=False, timeout=60,
                       env=ENVIRONMENT)
    finally:
        os.close(program_side)
        reader.join()
        os.close(terminal)
    return b''.join(seen)


def trace(names, rank, world_size=2):
    """The trace of a rank in which operators, kernels, processes and groups have these names."""
    events = []
    for i, name in enumerate(names):
        at = 1000 * i
        events += [
            {'ph': 'X', 'cat': 'cpu_op', 'name': name, 'pid': 1, 'tid': 1, 'ts': at, 'dur': 90,
             'args': {'External id': i, 'Input Dims': [[2, 2], [2, 2]], 'Input type': [name, name],
                      'Input Strides': [[2, 1], [2, 1]], 'Concrete Inputs': [name, '']}},
            *({'ph': 'X', 'cat': 'cuda_runtime', 'name': word, 'pid': 1, 'tid': 1,
               'ts': at + 10 + call, 'dur': 1,
               'args': {'External id': i, 'correlation': 9000 + 2 * i + call}}
              for call, word in enumerate(('cudaLaunchKernel', name))),
            {'ph': 'X', 'cat': 'kernel', 'name': name, 'pid': 0, 'tid': 7, 'ts': at + 30,
             'dur': 100 + 10 * rank, 'args': {'External id': i, 'correlation': 9000 + 2 * i,
                                              'device': 0, 'stream': 7}},
            {'ph': 'X', 'cat': 'gpu_user_annotation', 'name': name, 'pid': 0, 'tid': 7, 'ts': at,
             'dur': 200, 'args': {'External id': i}},
            {'ph': 'X', 'cat': 'user_annotation', 'name': name, 'pid': 1, 'tid': 1, 'ts': at,
             'dur': 99, 'args': {'External id': i}},
            {'ph': 'X', 'cat': 'kernel', 'name': 'ncclDevKernel_AllReduce_Sum_f32_RING_LL',
             'pid': 0, 'tid': 8, 'ts': at + 300, 'dur': 50 + rank,
             'args': {'External id': i, 'correlation': 9001 + 2 * i, 'device': 0, 'stream': 8,
                      'Collective name': name if i % 2 else 'allreduce',
                      'dtype': name if i % 3 else 'Float',
                      'In msg nelems': 1024, 'Out msg nelems': 1024, 'Group size': world_size,
                      'Process Group Name': name, 'Process Group Description': name,
                      'Process Group Ranks': '[0, 1]', 'Rank': rank}},
            *({'ph': 'M', 'name': word, 'pid': i, 'tid': 0, 'ts': 0, 'args': {'name': name}}
              for word in ('process_name', 'thread_name', name)),
            {'ph': name, 'cat': name, 'name': name, 'pid': name, 'tid': name, 'ts': name,
             'dur': name},
        ]
    return hostile.json_bytes({
        'deviceProperties': [{'id': 0, 'name': names[rank % len(names)], 'numSms': 132}],
        'distributedInfo': {'backend': names[-1], 'rank': rank, 'world_size': world_size},
        'traceEvents': events, 'traceName': names[0]})


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='assay-names-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / 'a' / 'b' / 'output'
        self.output.mkdir(parents=True)
        self.input = self.folder / 'input'
        self.examined = set()
        self.inputs = set()  # what stands among the outputs
        self.input.mkdir()

    def refuse(self, problems, what):
        problems = list(problems)
        self.assertEqual(problems[:5], [], what)

    def check(self, what, *commands, tags=None, returned=(0, 1)):
        """Runs the commands and looks at all that they say and write."""
        before = hostile.snapshot(self.folder, without=self.output)
        for command in commands:
            done = run(*command, cwd=self.output)
            said = done.stderr.decode(errors='replace')
            self.assertIn(done.returncode, returned, (what, said[-2000:]))
            self.assertNotIn('terminate', said, what)
            if done.returncode == 1:
                self.assertIn('assay:', said, what)
            self.refuse(hostile.problems_of_terminal(done.stdout, 'stdout'), (what, command))
            self.refuse(hostile.problems_of_terminal(done.stderr, 'stderr'), (what, command))
            if '--format' in command and command[command.index('--format') + 1] == 'json' and \
                    done.returncode == 0:
                json.loads(done.stdout)
            if '--format' in command and command[command.index('--format') + 1] == 'csv':
                self.refuse(hostile.problems_of_csv(done.stdout.decode()), (what, command))
        self.check_files(what, before, tags)

    def check_files(self, what, before, tags=None):
        self.assertEqual(hostile.snapshot(self.folder, without=self.output), before, what)
        for escaped in ('/tmp/assay-pwned', '/tmp/pwned', '/x', '/pwned', 'pwned'):
            self.assertFalse(os.path.lexists(escaped), (what, escaped))
        for path in self.output.rglob('*'):
            if not path.is_file() or path in self.inputs:
                continue
            self.assertNotIn('pwned', path.name, what)
            version = (path, path.stat().st_mtime_ns, path.stat().st_size)
            if version not in self.examined:
                self.examined.add(version)
                self.refuse(hostile.problems_of_file(path, tags), (what, path.name))

    def check_on_terminal(self, *commands):
        for command in commands:
            seen = run_on_terminal(*command, cwd=self.output)
            self.refuse(hostile.problems_of_terminal(seen, 'terminal'), command)

    def assert_there(self, files, *texts):
        """Asserts that names reach the files, so that their examination means something."""
        whole = ''.join(path.read_text() for path in self.output.rglob(files))
        for text in texts:
            self.assertTrue(text in whole, (files, text))

    def write_run(self, name, names):
        for rank in range(2):
            place = self.input / name / 'torch_profiler' / f'rank{rank}'
            place.mkdir(parents=True)
            (place / 'trace.json').write_bytes(trace(names, rank))
        return self.input / name

    def test_names_in_traces(self):
        names = hostile.json_names()
        one = self.write_run('one', names)
        two = self.write_run('two', names)
        compare = ('trace', 'compare', '--baseline', one, '--test', two)
        commands = [('trace', 'report', one), ('trace', 'analyze', one),
                    ('trace', 'collectives', one / 'torch_profiler')]
        for command in commands:
            self.check(command[1], (*command, '-o', self.output / command[1]), returned=(0,))
        self.check('formats',
                   *((*commands[0], '-o', self.output, '--write', 'json', '--format', summary)
                     for summary in FORMATS),
                   ('trace', 'report', one / 'torch_profiler/rank0/trace.json', '-o', '-'))
        self.check('compare', (*compare, '-o', self.output, '--labels', 'one,two'),
                   *((*compare, '-o', self.output, '--gpu-timeline', '--labels', f'{label},x',
                      '--write', 'xlsx,csv,json', '--format', 'table')
                     for label in ('=1+1', '</script>', 'x\x1b[2J', "'x", '../pwned')))
        self.check_on_terminal((*commands[0], '-o', self.output, '--write', 'json'))
        self.assert_there('*/*kernel*.csv', "'=cmd|' /C calc'!A0", '</script><script>alert(1)')
    def test_values_in_a_store(self):
        """Every text of a table, and the names of its columns."""
        table = self.input / 'gemm_perf.txt'
        with open(table, 'wb') as file:
            file.write(b'framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency,'
                       b'"=1+1","</script>","x\x1b[2Jy"\n')
            for i, name in enumerate(hostile.ALL):
                cell = b'"' + name.replace(b'"', b'""') + b'"'
                sizes = b'%d,2,3,0.5' % (i + 1)
                file.write(b','.join([*(3 * [cell]), b'gemm', cell, cell, sizes, *(3 * [cell])]) +
                           b'\n')
        store = self.input / 'perf.db'
        done = run('store', 'import', table, '--store', store)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refuse(hostile.problems_of_terminal(done.stdout + done.stderr, 'import'), 'import')
        query = ('store', 'query', 'gemm', '--m', '5', '--n', '2', '--k', '3')
        commands = [('store', 'list', '--store', store), ('store', 'check', '--store', store),
                    ('store', 'check', table), ('store', 'diff', store, table),
                    (*query, '--store', store), (*query, table),
                    (*query, table, '--where', 'kernel_source=x\x1b[2Jy'),
                    (*query, table, '--kernel-source', '\x1b]0;x\x07'),
                    ('store', 'system', '--store', store, '--name', 'x')]
        for command in commands:
            formats = FORMATS if command[1] != 'system' else ()
            self.check(command[1], command, *((*command, '--format', name) for name in formats),
                       returned=(0, 1, 2, 3))
        self.check('export', ('store', 'export', '--store', store, '-o', self.output),
                   returned=(0,))
        exported = (self.output / 'gemm_perf.txt').read_text(errors='replace')
        self.assertIn('cmd|', exported)
        self.refuse(hostile.problems_of_csv(exported), 'gemm_perf.txt')
        self.check_on_terminal(*commands[:6])

    def test_names_in_a_store(self):
        """The texts of the store's own tables, changed behind the program's back."""
        store = self.input / 'perf.db'
        table = self.input / 'gemm_perf.txt'
        table.write_text('framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n'
                         'VLLM,1,NVIDIA H200,gemm,default,bfloat16,1,2,3,0.5\n')
        self.assertEqual(run('store', 'import', table, '--store', store).returncode, 0)
        for table, column, names in (
                ('layout', 'table_name', hostile.PATHS + hostile.BYTES),
                ('source', 'version', hostile.PATHS), ('source', 'framework', hostile.PATHS)):
            database = sqlite3.connect(store)
            database.text_factory = bytes
            before = database.execute(f'SELECT {column} FROM {table}').fetchone()
            database.close()
            for i, name in enumerate((*names, *before)):
                database = sqlite3.connect(store)
                database.execute(f'UPDATE {table} SET {column} = CAST(? AS TEXT)', (name,))
                database.commit()
                database.close()
                layout = 'flat' if i % 2 == 0 else 'family'
                self.check((column, name),
                           ('store', 'export', '--store', store, '-o', self.output),
                           ('store', 'place', '--store', store, '--systems', self.output,
                            '--system', 'x', '--force', '--layout', layout, '--backend',
                            'trtllm'))
        # The last name was the true one.
        self.assertTrue((self.output / 'gemm_perf.txt').is_file())

    def test_names_of_tables_in_the_twin_of_a_report(self):
        for name in hostile.PATHS + hostile.BYTES:
            for side in ('one', 'two'):
                twin = self.input / side / 'tracelens_analysis'
                for part in ('individual_reports', 'collective_reports'):
                    (twin / part).mkdir(parents=True, exist_ok=True)
                text = hostile.json_text(name)
                table = {'name': text, 'title': text, 'notes': [text],
                         'columns': [{'name': 'type'}, {'name': 'time ms', 'unit': text},
                                     {'name': text}],
                         'rows': [['total_time', 1.0, text]]}
                timeline = {**table, 'name': 'gpu_timeline'}
                for file in ('individual_reports/perf_rank0.json',
                             'collective_reports/collective_all_ranks.json'):
                    (twin / file).write_bytes(hostile.json_bytes(
                        {'format': 'assay-book', 'version': 1, 'tables': [timeline, table]}))
            self.check(name, ('trace', 'compare', '--baseline', self.input / 'one', '--test',
                              self.input / 'two', '--skip-tracelens', '--all', '--write',
                              'xlsx,csv,json', '-q', '-o', self.output))

    def write_benchmarks(self, names):
        """Benchmark files with these reasons, and with these names of a GPU beside them."""
        lines = [b'world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us),'
                 b'launch,low (us),high (us),min (us),samples,memory (bytes),outcome,reason\n']
        for i, name in enumerate(names):
            size = 256 * (i + 1) * 8
            reason = b'"' + name.replace(b'"', b'""') + b'"'
            for strategy, outcome in ((b'NCCL', b'ok'), (b'ONESHOT', b'error')):
                time = b'2.5' if outcome == b'ok' else b''
                lines.append(b'2,bfloat16,%d,%d,1024,%s,NONE,allreduce,%s,graph,,,,5,10,%s,%s\n' %
                             (size, i + 1, strategy, time, outcome, reason))
        folder = self.input / 'data'
        folder.mkdir(exist_ok=True)
        (folder / 'benchmark.tp2.sm90.csv').write_bytes(b''.join(lines))
        return folder

    def test_names_in_benchmarks(self):
        """Reasons, names of GPUs, and the names of files and folders that figures show."""
        tags = hostile.Page(self.page(self.write_benchmarks([b'x']), 'harmless')).tags
        data = self.write_benchmarks(hostile.ALL)
        plot = ('allreduce', 'plot', '--data_dir', data)
        self.check('page', (*plot, '--write', 'html', '-o', self.output), tags=tags, returned=(0,))
        tables = []
        run('allreduce', 'codegen', '--data_dir', data, '-o', self.output)
        whole = (self.output / 'allreduce_table.json').read_bytes()
        for name in hostile.ALL:
            if 0 < len(name) < 200 and b'/' not in name and name not in (b'.', b'..'):
                tables.append(os.fsencode(self.input) + b'/' + name)
                with open(tables[-1], 'wb') as file:
                    file.write(whole)
        named = [word for table in tables for word in ('--table', table)]
        self.check('tables', (*plot, *named, '--write', 'svg,html', '-o', self.output,
                              '--compare', tables[0]), tags=tags, returned=(0,))
        self.assert_there('*_regret.svg', '&lt;img src=x onerror', "x'.system('touch pwned').'")
        page = hostile.unpacked_page((self.output / 'index.html').read_text())
        self.assertIn('<script>alert(1)', page)
        self.assertIn('<!--', page)
        for summary in FORMATS:
            self.check('plot', (*plot, '--table', self.input / '=1+1', '--compare',
                                self.input / 'x\x1b[2Jy', '--write', 'html', '--format', summary,
                                '-o', self.output), tags=tags, returned=(0,))

    def test_folders_of_figures(self):
        """gnuplot is told where to write, too."""
        data = self.write_benchmarks([b'x'])
        for name in (b'~', b'~root', b'|touch pwned', b'`touch pwned`', b'$(touch pwned)',
                     b"x'.system('touch pwned').'", b"'", b'"', b'x\ny', b'x\x1b[2Jy', b'x\xff',
                     b'-', b'@x'):
            self.check(name, ('allreduce', 'plot', '--data_dir', data, '--write', 'svg', '-o',
                              name), returned=(0,))
            self.assertEqual(len(os.listdir(os.fsencode(self.output) + b'/' + name + b'/NONE')), 5)
        self.assertEqual(len(os.listdir(self.output)), 13)

    def test_names_in_the_description_of_benchmarks(self):
        data = self.write_benchmarks([b'x'])
        names = hostile.json_names()
        for three in zip(names[::3], names[1::3], names[2::3]):
            (data / 'benchmark.tp2.sm90.json').write_bytes(hostile.json_bytes(
                {'settings': dict(zip(('GPU', 'NCCL', 'CUDA runtime'), three)),
                 'runs': [{'date': three[0]}]}))
            self.check(three, ('allreduce', 'codegen', '--data_dir', data, '-o', self.output))
            self.check(three, ('allreduce', 'lookup', '2', '128', '1', '--table',
                               self.output / 'allreduce_table.json'))

    def page(self, data, name):
        folder = self.output / name
        self.assertEqual(run('allreduce', 'plot', '--data_dir', data, '--write', 'html', '-o',
                             folder).returncode, 0)
        return (folder / 'index.html').read_text()

    def test_words_that_no_benchmark_has(self):
        for name in hostile.ALL:
            cell = b'"' + name.replace(b'"', b'""') + b'"'
            data = self.write_benchmarks([b'x'])
            file = data / 'benchmark.tp2.sm90.csv'
            file.write_bytes(file.read_bytes().replace(b'ONESHOT', cell))
            self.check(name, ('allreduce', 'explain', '2', '128', '1', '--data_dir', data))

    def job(self):
        """A job that writes a trace."""
        script = self.input / 'job.sh'
        script.write_text('folder="$1/torch_profiler/rank0"\n'
                          'mkdir -p "$folder" && cp "$0.json" "$folder"\n')
        (self.input / 'job.sh.json').write_bytes(trace([b'"gemm"'] * 8, 0, 1))
        return str(script)

    def test_values_of_a_sweep(self):
        """Settings made of these values, each a run of a command that gets it in its arguments."""
        values = [name.decode() for name in hostile.TEXTS[::3] if len(name) < 200
                  and not name.endswith(b'\\')]  # it would escape the comma
        axis = 'X=' + ','.join(value.replace(',', '\\,') for value in values)
        sweep = self.output / 'sweep'
        command = ('sweep', 'run', '--set', axis, '-o', sweep, '--seed', '1')
        job = ('--', 'sh', self.job(), '{dir}', '{setting}', '{X}')
        self.check('dry run', *((*command, '--dry-run', '--format', name, *job)
                                for name in FORMATS), returned=(0,))
        self.check('run', (*command, *job), returned=(0,))
        self.assertEqual(len(list(sweep.glob('*/sweep_run.json'))), len(values))
        self.check('report', ('sweep', 'report', sweep, '--individual-only', '--write', 'json',
                              '-q'), returned=(0,))
        self.check_on_terminal(('sweep', 'run', '--resume', '-o', sweep))

    def test_settings_side_by_side(self):
        """The workbook, the pictures and the pages that compare settings with such names."""
        sweep = self.output / 'sweep'
        sweep.mkdir()
        names = [b'"; touch pwned; "', b"x'.system('touch pwned').'", b'<img src=x onerror=x>',
                 b'=1+1', b'{/:Bold=80 `touch pwned`}^2', b'&#x3C;%s%n']
        settings = [{'name': hostile.json_text(name.replace(b'/', b'_')),
                     'variables': {'X': str(i)}} for i, name in enumerate(names)]
        self.inputs.add(sweep / 'sweep.json')
        (sweep / 'sweep.json').write_bytes(hostile.json_bytes(
            {'format': 'assay-sweep', 'version': 1, 'id': '1', 'settings': settings,
             'command': ['sh', self.job(), '{dir}', '{setting}'], 'config': '', 'repeats': 1,
             'seed': 7, 'expected_library': ''}))
        self.check('run', ('sweep', 'run', '--resume', '-o', sweep), returned=(0,))
        self.check('report', ('sweep', 'report', sweep, '--write', 'xlsx,json', '--format', 'csv'),
                   ('sweep', 'report', sweep, '-o', self.output / 'x', '--write', 'csv'),
                   returned=(0,))
        self.assertTrue(list(sweep.glob('*.png')))

    def test_settings_of_another_sweep(self):
        """The plan of a sweep, as another wrote it."""
        sweep = self.output / 'sweep'
        sweep.mkdir()
        self.inputs.add(sweep / 'sweep.json')
        for name in hostile.json_names():
            plan = {'format': 'assay-sweep', 'version': 1, 'id': name, 'config': '',
                    'command': ['true', name, '{dir}'], 'repeats': 1, 'seed': 7,
                    'expected_library': '',
                    'settings': [{'name': name, 'variables': {'X': name}},
                                 {'name': 'two', 'variables': {'X': None}}]}
            (sweep / 'sweep.json').write_bytes(hostile.json_bytes(plan))
            run_too = name in map(hostile.json_text, hostile.PATHS)
            self.check(name, *([('sweep', 'run', '--resume', '-o', sweep)] if run_too else []),
                       ('sweep', 'run', '--resume', '-o', sweep, '--dry-run'),
                       ('sweep', 'report', sweep, '-o', self.output / 'report'), returned=(0, 1, 3))

    def test_a_plan_as_a_script(self):
        """What --dry-run prints can be run by a shell, and does no more there than the sweep."""
        sweep = self.output / 'sweep'
        sweep.mkdir()
        self.inputs.add(sweep / 'sweep.json')
        plan = {'format': 'assay-sweep', 'version': 1, 'id': '1', 'config': '', 'repeats': 1,
                'seed': 7, 'expected_library': ''}
        command = ('sweep', 'run', '--resume', '-o', sweep, '--dry-run')
        names = [hostile.json_text(name) for name in hostile.PATHS + hostile.WORDS
                 if len(name) < 4000]
        settings = [{'name': f's{i}', 'variables': {'X': name}} for i, name in enumerate(names)]
        (sweep / 'sweep.json').write_bytes(hostile.json_bytes(
            {**plan, 'command': ['true', '{X}', *names], 'settings': settings}))
        script = run(*command).stdout
        self.assertIn(b'touch pwned', script)
        before = hostile.snapshot(self.folder, without=self.output)
        done = subprocess.run(['sh', '-e'], input=script, cwd=self.output, check=False,
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b'', b''))
        self.check_files('script', before)
        for name in hostile.json_names():
            if re.fullmatch(rb'"[A-Za-z_][A-Za-z_0-9]*"', name):
                continue  # a good name for a variable
            (sweep / 'sweep.json').write_bytes(hostile.json_bytes(
                {**plan, 'command': ['true'],
                 'settings': [{'name': 'x', 'variables': {name: '1'}}]}))
            self.check(name, command, returned=(1,))

    def test_names_in_schedules(self):
        """The notes of a schedule: nodes, communicators, kinds of parallelism, labels of tags."""
        schedule = self.input / 'job.goal'
        schedule.write_text('num_ranks 2\nrank 0 {\nl1: calc 5\nl2: send 8b to 1 tag 7\n'
                            'l2 requires l1\n}\nrank 1 {\nl1: recv 8b from 0 tag 7\n}\n')
        names = hostile.json_names()
        notes = {
            'generator': names[0], 'source': names[1], 'nccl_version': names[2],
            'tags': {'name': 'bits', 'id_width': 2, 'label_width': 4, 'label_fields': names},
            'ranks': [{'node': 'x', 'process_id': i, 'device': 0, 'clock': 0} for i in range(2)],
            'operation_columns': ['function', 'algorithm', 'protocol', 'parallelism',
                                  'communicator', 'sequence', 'bytes', 'num_ranks',
                                  'num_channels', 'label'],
            'span_columns': ['operation', 'first_op', 'num_ops', 'measured_start_ns',
                             'measured_end_ns'],
            'spans_by_rank': [[[0, 1, 1, 0, 10]], [[0, 0, 1, 0, 10]]]}
        for name in names:
            notes['operations'] = [['SendRecv', 'NONE', 'SIMPLE', name, name, 0, 8, 2, 1, 1]]
            notes['ranks'][0]['node'] = name
            (self.input / 'job.notes.json').write_bytes(hostile.json_bytes(notes))
            self.check(name, ('simulate', schedule, '--operations', self.output / 'x.csv',
                                  '--timeline', self.output / 'x.json', '--per-rank'),
                       ('goal', 'check', schedule), returned=(0, 1, 3))
        self.check('formats', *(('simulate', schedule, '--critical-path', '9', '--format', name)
                                for name in FORMATS),
                   *(('goal', 'check', schedule, '--format', name) for name in FORMATS),
                   returned=(0, 1, 3))
        self.check_on_terminal(('simulate', schedule), ('goal', 'check', schedule))

    def generate(self, what, *more):
        self.check(what, ('goal', 'generate', '-i', self.input, '-o', self.output, *more))

    def test_hosts_in_recordings(self):
        """The header of a recording holds two texts of 64 bytes: the host's name and the node's."""
        recordings = sorted((SAMPLES / 'goal-4gpu').glob('*.rec'))
        names = [name for name in hostile.BYTES + hostile.WORDS[::2] if 0 < len(name) < 64]
        window = ('--from', '3.965', '--to', '3.999', '--format')
        for i in range(0, len(names), len(recordings)):
            four = names[i:i + len(recordings)]
            for name, recording in zip(four, recordings):
                data = bytearray(recording.read_bytes())
                data[40:168] = 2 * name.ljust(64, b'\0')
                (self.input / recording.name).write_bytes(data)
            self.generate(four, *window, FORMATS[i // 4 % 3])
        self.assert_there('output.notes.json', *(name.decode() for name in four[:2]))

    def test_groups_in_traces(self):
        """Communicators have the names of their process groups."""
        traces = {}
        for file in (SAMPLES / 'traces-2gpu' / 'ctas_16').rglob('*.gz'):
            events = json.loads(gzip.decompress(file.read_bytes()))
            events['traceEvents'] = [event for event in events['traceEvents']
                                     if 'nccl' in event['name'] or 'comms' in event['name']]
            place = self.input / file.parent.name
            place.mkdir()
            traces[place / 'trace.json'] = json.dumps(events).encode()
        names = hostile.json_names()
        for part, summary in ((names[:75], 'table'), (names[75:], 'csv'), (names[40:115], 'json')):
            for file, text in traces.items():
                group = b'"Process Group Name": '
                calls = text.split(group + b'"0"')
                file.write_bytes(calls[0] + b''.join(
                    group + part[i % len(part)] + call for i, call in enumerate(calls[1:])))
            self.generate(summary, '--format', summary)
        self.assert_there('output.notes.json', '</script>', 'touch pwned')

    def test_words_that_the_program_does_not_know(self):
        """Names of files, folders, options and commands in the words of errors."""
        for name in hostile.BYTES + hostile.WORDS[:24]:
            self.check(name, ('trace', 'report', b'x' + name), (b'x' + name,),
                       ('store', 'list', b'--x' + name), returned=(0, 1, 2))


if __name__ == '__main__':
    sys.exit(unittest.main())
