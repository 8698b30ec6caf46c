#!/usr/bin/env python3
"""A workload for the sweep tests: what it does is what the variable KIND of its setting says.

Usage: workload.py RUN_FOLDER
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

RANKS = 2
LONG_S = 120


def write_traces(folder, text):
    for rank in range(RANKS):
        place = pathlib.Path(folder) / 'torch_profiler' / f'rank{rank}'
        place.mkdir(parents=True)
        (place / 'trace.json').write_text(text(rank))


def trace(rank):
    return json.dumps({
        'distributedInfo': {'backend': 'nccl', 'rank': rank, 'world_size': RANKS},
        'traceEvents': [{'ph': 'X', 'cat': 'kernel', 'name': 'gemm', 'pid': 0, 'tid': 7,
                         'ts': 10, 'dur': 5, 'args': {'device': 0, 'stream': 7}}],
    })


def spawn_workers():
    """As launchers do it: workers in sessions of their own, and one whose parent is gone."""
    for _ in range(2):
        subprocess.Popen(['sleep', str(LONG_S)], start_new_session=True)
    subprocess.run(['sh', '-c', f'setsid sleep {LONG_S} & exit'], check=True)


def leave_stubborn_daemon():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(['sleep', str(LONG_S)], start_new_session=True)


def wait_when_held(folder):
    """The run of a sweep that is started as number HOLD_AT does not end by itself."""
    started = len(list(folder.parent.glob('*/started')))
    if started >= int(os.environ.get('HOLD_AT', started + 1)):
        time.sleep(LONG_S)


def main():
    kind = os.environ['KIND']
    folder = sys.argv[1]
    with open(pathlib.Path(folder) / 'started', 'a', encoding='utf-8') as started:
        started.write(os.environ['ASSAY_RUN_SETTING'] + '\n')
    if kind.startswith('crash'):
        spawn_workers()
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind.startswith('hang'):
        spawn_workers()
        time.sleep(LONG_S)
    if kind.startswith('stubborn'):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(LONG_S)
    if kind.startswith('cut'):
        write_traces(folder, lambda rank: trace(rank)[:-20 if rank else None])
        return
    if kind.startswith('silent'):
        return
    wait_when_held(pathlib.Path(folder))
    write_traces(folder, trace)
    if kind.startswith('daemon'):
        leave_stubborn_daemon()
    if kind.startswith('leaves'):
        spawn_workers()


main()
