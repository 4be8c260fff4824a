"""Errors a user can cause or meet, each with the exit code of the command line.

Every message is one line: what was found, what is allowed, what to do. What is wrong with a value is a ``ValueError``
to Python, too; so an ``except ValueError`` around code that raises one of these must let it through first.

A message names options by :func:`gpukit.wording.spelled`: as the command line does, or as Python.
"""

from gpukit.wording import spelled


class GpukitError(Exception):
    """Base of all errors that end a command with one line instead of a traceback."""

    exit_code = 3


class ComparisonFailed(GpukitError):
    """Two things that should agree do not (``diff``, ``verify``, ``bench --compare``)."""

    exit_code = 1


class UsageError(GpukitError, ValueError):
    """An option, parameter or combination of them is not allowed."""

    exit_code = 2


class BadValue(UsageError):
    """A value that a parameter does not take; whoever prints it names the parameter as its reader does.

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
    """An argument of a function is of a type that it does not take."""


class InputError(GpukitError, ValueError):
    """A file or a value in it is missing, unreadable or out of range."""

    exit_code = 3


class DeviceError(GpukitError):
    """No such device, it is taken, or the work does not fit into its memory."""

    exit_code = 4


NO_GPU_MEMORY = ("CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation")
"""Signs of it in what the driver and the runtime say, of any call where other processes hold all of it."""


def lacks_gpu_memory(error: BaseException | None) -> bool:
    """Return whether an error tells of too little memory on a GPU.

    CuPy's own is known by its name, since CuPy is not loaded to run on the CPU.
    """
    return type(error).__name__ == "OutOfMemoryError" or any(sign in str(error) for sign in NO_GPU_MEMORY)


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is an interrupt, or comes of one, through however many others.

    CPython makes a SystemError of an interrupt that arrives while compiled code runs, and one of that where Numba loads
    code at the time.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None
