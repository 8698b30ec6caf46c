"""Long calls: progress, and Ctrl-C in a notebook."""
import ctypes
import threading

from ._library import Call, Progress, STOPPED


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
    outcome = {}

    def work():
        try:
            outcome["value"] = body()
        except BaseException as error:  # pylint: disable=broad-except
            outcome["error"] = error

    thread = threading.Thread(target=work, name="assay")
    thread.start()
    interrupt = None
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt as error:
            interrupt = error
            stop.value = STOPPED
    if interrupt is not None:
        raise interrupt
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
