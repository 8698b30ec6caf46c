"""What calls raise."""


class AssayError(RuntimeError):
    """A call failed. The text says what is wrong and where. `result` is what a command gave before it
    failed, or None; an error that comes from another process has none."""

    def __init__(self, text, result=None):
        super().__init__(text)
        self.result = result

    def __reduce__(self):
        """Leaves out the result, whose memory another process does not have."""
        return type(self), self.args, {**vars(self), "result": None}


class UsageError(AssayError, ValueError):
    """An argument is wrong: an unknown option, a missing one, a value that is none of its choices."""


class Stopped(AssayError):
    """The call's `progress` returned False, and it stopped."""
