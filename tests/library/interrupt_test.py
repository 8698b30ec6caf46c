#!/usr/bin/env python3
"""Ctrl-C in calls of the Python package: it stops them, wherever in the package it comes, and is raised
when they have ended.

usage: ASSAY_LIBRARY=libassay.so PYTHONPATH=python interrupt_test.py
"""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import assay

SOURCE = pathlib.Path(os.environ.get("ASSAY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
RUNS = SOURCE / "samples/sweep-nccl-ctas"


class _SignalAt:
    """Traces the instructions of a call on this thread, and sends SIGINT before one of them."""
    FILES = ("_call.py", "threading.py", "signal.py")

    def __init__(self, instruction):
        self.left = instruction

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.endswith(self.FILES):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGINT)
        return self


class Interrupting(unittest.TestCase):
    def setUp(self):
        from assay import _call
        self.call = _call
        self.began = 0
        self.patience = []
        piece = _call._PIECE_S
        _call._PIECE_S = 0.001
        self.addCleanup(setattr, _call, "_PIECE_S", piece)

    def waiting(self, call):
        """Work that goes on until it is told to stop."""
        self.began += 1
        end = time.monotonic() + 10
        while not call.stop.contents.value and time.monotonic() < end:
            time.sleep(0.0001)
        if not call.stop.contents.value:
            self.patience.append("is at its end")

    def interrupted_at(self, instruction, body):
        """Whether SIGINT came before the call ended; it must then have been raised, at its end."""
        at = _SignalAt(instruction)
        raised = False
        sys.settrace(at)
        try:
            self.call.interruptible(body)
        except KeyboardInterrupt:
            raised = True
        finally:
            sys.settrace(None)
        self.assertEqual(raised, at.left <= 0, instruction)
        self.assertNotIn("assay", [thread.name for thread in threading.enumerate()], instruction)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler, instruction)
        return raised

    def test_a_signal_before_any_instruction(self):
        instruction = 1
        while self.interrupted_at(instruction, lambda call: None):
            instruction += 1
        self.assertGreater(instruction, 200)
        for before in range(1, instruction):
            self.interrupted_at(before, self.waiting)
        self.assertGreater(self.began, 100)
        self.assertEqual(self.patience, [])

    def test_interrupt_main(self):
        import _thread
        threading.Timer(0.05, _thread.interrupt_main).start()
        with self.assertRaises(KeyboardInterrupt):
            self.call.interruptible(self.waiting)
        self.assertEqual(self.patience, [])

    def test_what_another_signal_raises(self):
        def handler(*_):
            raise TimeoutError("too long")
        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with self.assertRaisesRegex(TimeoutError, "too long"):
            self.call.interruptible(self.waiting)
        self.assertEqual(self.patience, [])

    def test_handlers_of_others_decide(self):
        heard = []
        before = signal.signal(signal.SIGINT, lambda *_: heard.append("SIGINT"))
        self.addCleanup(signal.signal, signal.SIGINT, before)

        def body(_):
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.05)
            return "whole"
        self.assertEqual(self.call.interruptible(body), "whole")
        self.assertEqual(heard, ["SIGINT"])

    def test_real_calls(self):
        """Signals from another thread, at random times of calls that take a second."""
        script = ("import assay, os, random, signal, sys, threading, time\n"
                  "def interrupt():\n"
                  "    time.sleep(random.uniform(0, 0.1))\n"
                  "    os.kill(os.getpid(), signal.SIGINT)\n"
                  "assay.trace.compare  # the library is open\n"
                  "stopped = 0\n"
                  "for _ in range(40):\n"
                  "    try:\n"
                  "        threading.Thread(target=interrupt).start()\n"
                  "        assay.compare(sys.argv[1], sys.argv[2])\n"
                  "    except KeyboardInterrupt:\n"
                  "        stopped += 'assay' not in [t.name for t in threading.enumerate()]\n"
                  "print(stopped)\n")
        done = subprocess.run([sys.executable, "-c", script, RUNS / "default",
                               RUNS / "16cta_256threads"], capture_output=True, text=True,
                              timeout=300, check=False,
                              env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
        self.assertEqual(done.stdout, "40\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
