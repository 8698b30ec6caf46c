"""What the tests in this folder share: the commands that write, and a folder for each test."""
import os
import pathlib
import tempfile
import unittest

ASSAY = os.environ['ASSAY']
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'samples'
TRACES = SAMPLES / 'traces-2gpu'


class InOwnFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='assay-harm-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.place = self.folder / 'place'  # what a command may change
        self.place.mkdir()

    def nothing_left(self, name):
        self.assertEqual([path.name for path in self.folder.rglob('.assay-*')], [], name)


def file_commands(text, binary):
    """Each command without the value of its last option, which names its one output. The inputs are
    one schedule in both forms."""
    return {
        'to-bin': ('goal', 'to-bin', text, '-o'),
        'to-text': ('goal', 'to-text', binary, '-o'),
        'merge': ('goal', 'merge', binary, binary, '-o'),
        'timeline': ('simulate', binary, '--quiet', '--timeline'),
        'system': ('store', 'system', '--store', 'h200_sxm', '--name', 'x', '-q', '-o'),
    }


def folder_commands():
    """Each command without the value of its last option, which names the folder of its outputs."""
    goal = ('goal', 'generate', '-i', SAMPLES / 'goal-4gpu', '--from', '3.965', '--to', '3.999')
    tables = ('--data_dir', SAMPLES / 'allreduce-h200')
    write = ('--write', 'xlsx,csv,json', '-q', '-o')
    return {
        'generate': (*goal, '--write', 'bin', '-o'),
        'generate -p': (*goal, '--write', 'text', '-p', '-o'),
        'export': ('store', 'export', '--store', 'h200_sxm', '--table', 'gemm_perf', '-o'),
        'codegen': ('allreduce', 'codegen', *tables, '-o'),
        'plot': ('allreduce', 'plot', *tables, '--write', 'svg', '-o'),
        'report': ('trace', 'report', TRACES / 'ctas_16', *write),
        'analyze': ('trace', 'analyze', TRACES / 'ctas_16', *write),
        'compare': ('trace', 'compare', '--baseline', TRACES / 'ctas_default', '--test',
                    TRACES / 'ctas_16', *write),
        'help': ('help', '--format', 'man', '-o'),
    }
