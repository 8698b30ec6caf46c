"""Long calls: progress, and Ctrl-C in a notebook."""
import ctypes
import signal
import threading

from ._library import Call, Progress, STOPPED

_PIECE_S = 0.1


def new_call():
    """The settings of a call that nothing stops."""
    return Call(size=ctypes.sizeof(Call))


def _progress_function(progress, raised):
    """`progress(doing, done, total)` for C. What it raises stops the call and is raised by it."""
    def told(_context, doing, done, total):
        try:
            return 1 if progress(doing.decode(), done, total) is False else 0
        except BaseException as error:  # pylint: disable=broad-except
            raised.append(error)
            return 1
    return Progress(told)


def interruptible(body, progress=None):
    """Runs body(call) on a thread of its own, so that Ctrl-C reaches Python while the library works;
    the call is then stopped, and KeyboardInterrupt raised when it has ended. Returns what body does."""
    raised = []
    stop = ctypes.c_int32(0)
    call = new_call()
    call.stop = ctypes.pointer(stop)
    if progress is not None:
        call.progress = _progress_function(progress, raised)
    if threading.current_thread() is not threading.main_thread():
        ended = body(call)
    else:
        ended = _on_a_thread(lambda: body(call), stop)
    if raised:
        raise raised[0]
    return ended


def _on_a_thread(body, stop):
    """What body() returns, or raises, on a thread of its own. What a signal's handler raises here
    meanwhile stops the call, and is raised when it has ended."""
    outcome = {}

    def work():
        try:
            outcome["value"] = body()
        except BaseException as error:  # pylint: disable=broad-except
            outcome["error"] = error

    thread = threading.Thread(target=work, name="assay")
    with _Interrupts(stop):
        try:
            thread.start()
            _join(thread)
        except BaseException:  # of another signal than Ctrl-C
            stop.value = STOPPED
            _join(thread)
            raise
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def _join(thread):
    """Waits in pieces: _thread.interrupt_main() does not wake a thread that waits without end."""
    while thread.is_alive():
        thread.join(_PIECE_S)


class _Interrupts:
    """Where Ctrl-C would raise between any two instructions, it sets `stop` until the end, and is
    raised there."""

    def __init__(self, stop):
        self._stop = stop
        self._before = signal.getsignal(signal.SIGINT)
        self._raised = None

    def __enter__(self):
        if callable(self._before):
            signal.signal(signal.SIGINT, self._take)

    def _take(self, number, frame):
        try:
            self._before(number, frame)
        except BaseException as error:  # pylint: disable=broad-except
            self._raised = error
            self._stop.value = STOPPED

    def __exit__(self, *_):
        if callable(self._before):
            signal.signal(signal.SIGINT, self._before)
        if self._raised is not None:
            raise self._raised
