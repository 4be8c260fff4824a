"""Errors that a user can cause or encounter, each with the exit code of the command line.

Every message is one line: what was found, what is allowed, what to do. Errors about a value are also a Python
``ValueError``. So an ``except ValueError`` around code that raises one of these must let it through first.

A message names options by :func:`gpukit.wording.spelled`, in the form of the command line or of Python.
"""

from gpukit.wording import spelled


class GpukitError(Exception):
    """Base of all errors that end a command with one line instead of a traceback."""

    exit_code = 3


class ComparisonFailed(GpukitError):
    """Two things that should be equal differ (``diff``, ``verify``, ``bench --compare``)."""

    exit_code = 1


class UsageError(GpukitError, ValueError):
    """An option, a parameter or a combination of them is not allowed."""

    exit_code = 2


class BadValue(UsageError):
    """A value that a parameter does not accept; each face prints its own name of the parameter.

    Parameters
    ----------
    field : str
        The parameter.
    value : object
        What was given.
    allowed : str
        What is allowed, and what to do.
    """

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(field, value, allowed)
        self.field, self.value, self.allowed = field, value, allowed

    def __str__(self) -> str:
        return f"{spelled(self.field)} is {self.value}; {self.allowed}"


class WrongType(UsageError, TypeError):
    """An argument of a function has a type that is not accepted."""


class InputError(GpukitError, ValueError):
    """A file, or a value in it, is missing, unreadable or out of range."""

    exit_code = 3


class DeviceError(GpukitError):
    """The device does not exist, is in use, or has too little memory for the work."""

    exit_code = 4


NO_GPU_MEMORY = ("CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation")
"""Signs of missing GPU memory in messages of the driver and the runtime; any call may fail if other processes hold
it all."""


def lacks_gpu_memory(error: BaseException | None) -> bool:
    """Return whether an error reports too little memory on a GPU.

    CuPy's error is recognised by its name, because CuPy is not loaded on the CPU.
    """
    return type(error).__name__ == "OutOfMemoryError" or any(sign in str(error) for sign in NO_GPU_MEMORY)


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is an interrupt, or was caused by one, directly or through other errors.

    CPython raises a SystemError from an interrupt that arrives while compiled code runs. If Numba is loading code at
    that time, another SystemError is raised from it.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None
