#!/usr/bin/env python3
"""Names that come from inputs must never lead out of the folder of the outputs.

usage: ASSAY=PROGRAM names_test.py     exit status: 0 good, else failed
"""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ASSAY = os.environ['ASSAY']
HOSTILE = [
    '..', '.', '', '/', '//', '../x', '../../x', 'a/../../x', './x', 'a/b', 'a//b', '/tmp/assay-x',
    '/etc/passwd', '~/x', '$HOME/x', '.hidden', '..x/../y', 'x/', '/x/', 'x/..', 'x/.', '\\x/..',
    '..\\..\\x', 'x\ny', 'x\ty', 'x\x1b[31my', 'x\x7fy', '\x01', 'x\ry', 'a' * 300, '../' * 40 + 'x',
    'x; touch y', '`touch y`', '$(touch y)', "x' 'y", 'x"y', '-o', '--help', '%n%s', '../\u0645\u0631',
]


def run(*arguments):
    return subprocess.run([ASSAY, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=60)


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='assay-names-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / 'a' / 'b' / 'output'

    def check(self, name, *commands):
        """Runs the commands and looks at everything that they might have written outside."""
        before = self.outside()
        for command in commands:
            done = run(*command)
            self.assertIn(done.returncode, (0, 1), (name, done.stderr))
            self.assertNotIn('terminate', done.stderr, name)
            for code in ('\x1b', '\x01', '\x7f'):
                self.assertNotIn(code, done.stderr, name)
            if done.returncode == 1:
                self.assertEqual(done.stderr.count('assay:'), 1, done.stderr)
        self.assertEqual(self.outside(), before, name)
        for escaped in ('/tmp/assay-x', '/tmp/assay-x.txt', '/tmp/assay-x.csv', '/x', '/x.txt'):
            self.assertFalse(os.path.lexists(escaped), escaped)

    def outside(self):
        return sorted(str(path) for path in self.folder.rglob('*')
                      if self.output not in (path, *path.parents) and
                      path not in self.output.parents)

    def test_names_in_a_store(self):
        store = self.folder / 'perf.db'
        table = self.folder / 'gemm_perf.txt'
        table.write_text('framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n'
                         'VLLM,1,NVIDIA H200,gemm,default,bfloat16,1,2,3,0.5\n')
        self.assertEqual(run('store', 'import', table, '--store', store).returncode, 0)
        for table, column in (('layout', 'table_name'), ('source', 'version'),
                              ('source', 'framework')):
            database = sqlite3.connect(store)
            before = database.execute(f'SELECT {column} FROM {table}').fetchone()
            for i, name in enumerate((*HOSTILE, *before)):
                database.execute(f'UPDATE {table} SET {column} = ?', (name,))
                database.commit()
                layout = 'flat' if i % 2 == 0 else 'family'
                self.check((column, name),
                           ('store', 'export', '--store', store, '-o', self.output),
                           ('store', 'place', '--store', store, '--systems', self.output,
                            '--system', 'x', '--force', '--layout', layout))
            database.close()
        # The last name was the true one.
        self.assertTrue((self.output / 'gemm_perf.txt').is_file())

    def test_names_in_the_twin_of_a_report(self):
        for name in HOSTILE:
            for side in ('one', 'two'):
                twin = self.folder / side / 'tracelens_analysis'
                for part in ('individual_reports', 'collective_reports'):
                    (twin / part).mkdir(parents=True, exist_ok=True)
                table = {'name': name, 'title': '', 'notes': [],
                         'columns': [{'name': 'type'}, {'name': 'time ms'}],
                         'rows': [['total_time', 1.0]]}
                timeline = {**table, 'name': 'gpu_timeline'}
                for file in ('individual_reports/perf_rank0.json',
                             'collective_reports/collective_all_ranks.json'):
                    (twin / file).write_text(json.dumps(
                        {'format': 'assay-book', 'version': 1, 'tables': [timeline, table]}))
            self.check(name, ('trace', 'compare', '--baseline', self.folder / 'one', '--test',
                              self.folder / 'two', '--skip-tracelens', '--all', '--write',
                              'csv,json', '-q', '-o', self.output))


if __name__ == '__main__':
    sys.exit(unittest.main())
