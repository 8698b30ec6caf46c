"""The scripts of a deployment run: the server's command gets its words, and what an engine's client
writes comes back through `plan validate`. The engines are small programs that stand in for them."""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ASSAY = os.environ['ASSAY']

# Writes its arguments; as a client also the result, as the real one does.
STANDS_IN = '''#!/usr/bin/env python3.real
import json, os, pathlib, sys
arguments = sys.argv[1:]
with open(os.environ['CALLS'], 'a') as calls:
    calls.write(json.dumps([os.path.basename(sys.argv[0]), *arguments]) + '\\n')
def value(name):
    return arguments[arguments.index(name) + 1] if name in arguments else None
result = value('--result-filename') or value('--output-file')
if result:
    concurrency, requests = int(value('--max-concurrency')), int(value('--num-prompts'))
    run = {'request_rate': float('inf') if value('--output-file') else 'inf',
           'max_concurrency': concurrency, 'completed': requests,
           'total_input_tokens': requests * int(value('--random-input-len')),
           'total_output_tokens': requests * int(value('--random-output-len')),
           'mean_ttft_ms': 100.0 + concurrency, 'mean_tpot_ms': 10.0}
    with open(result, 'a') as file:
        file.write(json.dumps(run) + '\\n')
'''


class Deployment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='assay-deployment-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        programs = self.folder / 'programs'
        programs.mkdir()
        (programs / 'python3.real').symlink_to(shutil.which('python3'))
        for name in ('vllm', 'trtllm-serve', 'python3'):
            (programs / name).write_text(STANDS_IN)
            (programs / name).chmod(0o755)
        self.calls = self.folder / 'calls'
        self.environment = {**os.environ, 'PATH': f'{programs}:{os.environ["PATH"]}',
                            'CALLS': str(self.calls)}

    def run_in(self, *command):
        self.calls.write_text('')
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True,
                              check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in self.calls.read_text().splitlines()]

    def write(self, backend, *options):
        output = self.folder / f'{backend} files'
        subprocess.run([ASSAY, 'plan', 'files', '--model', 'Qwen/Qwen3-32B', '--backend', backend,
                        '--tp', '4', '--batch', '8', '--isl', '1000', '--osl', '100', *options,
                        '-o', output], check=True, capture_output=True)
        return output

    def test_servers_get_their_words(self):
        expected = {'trtllm': ['trtllm-serve', 'Qwen/Qwen3-32B'],
                    'vllm': ['vllm', 'serve', 'Qwen/Qwen3-32B'],
                    'sglang': ['python3', '-m', 'sglang.launch_server']}
        for backend, words in expected.items():
            calls = self.run_in(self.write(backend) / 'serve.sh')
            self.assertEqual(len(calls), 1)
            self.assertEqual(calls[0][:len(words)], words)

    def test_words_with_spaces_and_quotes_stay_whole(self):
        path = "/models/it's $HOME/`here`"
        calls = self.run_in(self.write('vllm', '--model-path', path) / 'serve.sh')
        self.assertEqual(calls[0][2], path)

    def test_results_are_validated(self):
        for backend in ('trtllm', 'vllm', 'sglang'):
            output = self.write(backend)
            for _ in range(2):  # a second run replaces the results of the first
                calls = self.run_in(output / 'measure.sh')
            sent = [(call[call.index('--max-concurrency') + 1], call[call.index('--num-prompts') + 1])
                    for call in calls]
            self.assertEqual(sent, [('1', '10'), ('2', '20'), ('4', '40'), ('8', '80')])
            done = subprocess.run([ASSAY, 'plan', 'validate', '--rows', '--format', 'csv', output],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = list(csv.DictReader(done.stdout.splitlines()))
            self.assertEqual([(row['engine'], row['concurrency'], row['measured ttft (ms)'],
                               row['measured tpot (ms)']) for row in rows],
                             [(backend, str(n), f'{100.0 + n}', '10.0') for n in (1, 2, 4, 8)])
            self.assertTrue(all(float(row['tpot (ms)']) > 0 for row in rows))

    def test_the_url_and_the_model_can_be_said(self):
        self.environment.update(URL='http://there:1', MODEL='/other model')
        for backend in ('trtllm', 'vllm', 'sglang'):
            call = self.run_in(self.write(backend) / 'measure.sh')[0]
            self.assertEqual(call[call.index('--base-url') + 1], 'http://there:1')
            self.assertEqual(call[call.index('--model') + 1], '/other model')

    @unittest.skipUnless(shutil.which('shellcheck'), 'no shellcheck here')
    def test_scripts_pass_shellcheck(self):
        for backend in ('trtllm', 'vllm', 'sglang'):
            output = self.write(backend, '--model-path', "/models/it's mine")
            for script in ('serve.sh', 'measure.sh'):
                done = subprocess.run(['shellcheck', output / script], capture_output=True,
                                      text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_what_exists_stays(self):
        output = self.write('vllm')
        before = (output / 'serve.sh').read_text()
        again = [ASSAY, 'plan', 'files', '--model', 'Qwen/Qwen3-32B', '--backend', 'vllm', '--tp',
                 '2', '-o', output]
        self.assertEqual(subprocess.run(again, capture_output=True, check=False).returncode, 1)
        self.assertEqual((output / 'serve.sh').read_text(), before)
        subprocess.run([*again, '--overwrite'], capture_output=True, check=True)
        self.assertNotEqual((output / 'serve.sh').read_text(), before)


if __name__ == '__main__':
    unittest.main()
