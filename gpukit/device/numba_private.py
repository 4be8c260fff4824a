"""All code for the CPU that uses private parts of Numba.

With it the first ``gim run`` takes 9 s of CPU time instead of 23 s, because Numba compiles less. A later command takes
0.1 to 0.3 s less, because it loads compiled code without the compiler. :mod:`gpukit.device.compiled` uses this file
with the versions of :data:`TESTED`. With any other version, if something here fails, or if ``GPUKIT_PLAIN_NUMBA`` is
set, it uses Numba's public interface. Answers are the same.

**Compiling.** Numba also compiles each callee as if Python called it: with a wrapper for Python, to machine code, and
once more for each number literal in an argument. But a caller's machine code contains a copy of all its callees, so
nobody runs that other code. Here, a callee is compiled to intermediate code only. Its callers link this code and
optimise it with their own. A function that Python also calls is compiled as usual for that purpose.

**Loading.** Numba initialises its compiler for all of NumPy and Python before it checks whether there is anything to
compile. Compiled code needs only the allocator (and more if it hashes strings, which no code here does). The first
function that has to be compiled initialises the rest.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import sigutils, typing
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher, _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import Environment
from numba.core.errors import NumbaError
from numba.core.runtime import rtsys
from numba.core.types import unliteral  # type: ignore[attr-defined]
from numba.core.untyped_passes import InlineInlinables

from gpukit.device.file_lock import FileLock

TESTED = ("0.60", "0.61", "0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68")
"""The minor versions of Numba with which the tests passed."""

if ".".join(numba.__version__.split(".")[:2]) not in TESTED:
    raise ImportError(f"gpukit was tested with {TESTED[0]} to {TESTED[-1]}")


class _Part(CPUCodeLibrary):
    """Intermediate code that is never turned into machine code."""

    def _optimize_final_module(self) -> None:
        """Leave it to the callers: it took a fifth of a first run, and did not make their code faster."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Whole(Compiler):
    """Numba's compiler, which links functions declared for inlining like any other callee."""

    def define_pipelines(self) -> list[Any]:
        """Return all of Numba's passes except one."""
        (passes,) = super().define_pipelines()
        passes.passes = [one for one in passes.passes if one[0] is not InlineInlinables]
        return [passes]


class _Compiler(_Whole):
    """The same compiler, with its result in a :class:`_Part`."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        library = _Part(target_context.codegen(), "part")
        super().__init__(typing_context, target_context, library, *rest)


class _Parts(_FunctionCompiler):
    """Compiles a function for its callers, once per tuple of argument types.

    Numba has a type for each number literal. It would compile a function for ``used = 0`` first, and once more when it
    sees that ``used`` changes.
    """

    def __init__(self, compiled: Any) -> None:
        super().__init__(compiled.py_func, compiled.targetdescr, compiled.targetoptions, {}, _Compiler)
        self.compiled: dict[tuple[Any, ...], tuple[Any, object]] = {}

    def _customize_flags(self, flags: Any) -> Any:
        flags.forceinline = self.targetoptions.get("inline") == "always"
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the template of a call of the function, as ``Dispatcher.get_call_template`` does."""
        try:
            return self._template(tuple(unliteral(one) for one in args), {name: unliteral(kws[name]) for name in kws})
        except NumbaError:
            return self._template(args, kws)  # some functions need the literal itself

    def _template(self, args: Any, kws: Any) -> Any:
        signature, args = self.fold_argument_types(args, kws)
        kinds = tuple(args)
        if kinds not in self.compiled:
            result = self.compile(kinds, None)
            key = object()
            self.targetdescr.target_context.insert_user_function(key, result.fndesc, [result.library])
            self.compiled[kinds] = result.signature, key
        name = self.py_func.__name__
        known = [signature for signature, _ in self.compiled.values()]
        return typing.make_concrete_template(name, key=name, signatures=known), signature, args, {}

    def get_overload(self, signature: Any) -> object:
        """Return the key under which a caller finds the code."""
        kinds, _ = sigutils.normalize_signature(signature)
        return self.compiled[tuple(kinds)][1]


def _nest(compiled: Any) -> None:
    """Make callers link a compiled function, and the functions of the package that it calls, as parts of themselves."""
    if not isinstance(compiled, Dispatcher) or not compiled.py_func.__module__.startswith("gpukit."):
        return
    if "get_call_template" in vars(compiled):
        return
    parts = _Parts(compiled)
    vars(compiled).update(get_call_template=parts.get_call_template, get_overload=parts.get_overload)
    for name in compiled.py_func.__code__.co_names:
        _nest(compiled.py_func.__globals__.get(name))


class _Result(CompileResultCacheImpl):
    """The form in which a compiled function is written to a file."""

    def reduce(self, cres: Any) -> tuple[Any, ...]:
        """Return the parts of the result; reading them makes Numba import no modules of its compiler.

        Each function of Numba in the code brings a table of Python objects along, with the name of its module, and
        Numba imports that module. One of these modules imports SciPy's linear algebra, which takes 0.2 s. Only code
        that Numba leaves to the interpreter reads variables of the module, and there is no such code here. So the
        tables name another module.
        """
        *parts, tables = super().reduce(cres)
        for number, table in enumerate(tables := list(tables)):
            tables[number] = Environment({"__name__": "numba"})
            tables[number].consts[:], tables[number].env_name = table.consts, table.env_name
        return *parts, tuple(tables)


class _Cache(FunctionCache):
    """Numba's cache of a function, which loads compiled code without the compiler.

    If several processes need the same code, one compiles it, and the rest wait. Otherwise each would compile it, and
    overwrite entries of the rest in the index of the function's files.
    """

    _impl_class = _Result

    def __init__(self, function: Callable, stamp: str, failed: Callable[[Exception], None]) -> None:
        super().__init__(function)
        self.failed = failed
        if self._cache_file._source_stamp and stamp:  # an error if Numba renames it
            self._cache_file._source_stamp = stamp
        self.file_lock = FileLock(Path(self._cache_file._index_path).with_suffix(".lock"))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code compiled for a signature, or None: then this process has the lock and must compile it."""
        found = self._found(sig, target_context)
        if found is None:
            self.file_lock.take()
            found = self._found(sig, target_context)
        if found is not None:
            self.file_lock.pass_on()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Cache the compiled code."""
        super().save_overload(sig, data)
        self.file_lock.pass_on()

    def _found(self, sig: Any, target_context: Any) -> Any:
        # Numba's own way is used if anything is not as expected.
        try:
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except Exception as error:
            if self._is_outdated():
                self.flush()
                return None
            self.failed(error)
            return super().load_overload(sig, target_context)

    def _is_outdated(self) -> bool:
        """Return whether the index names a type that no longer exists, such as one of an older package version."""
        try:
            self._cache_file._load_index()
        except (AttributeError, ImportError):
            return True
        return False


def njit(
    function: Callable, stamp: str, failed: Callable[[Exception], None], options: dict[str, Any]
) -> tuple[Any, bool]:
    """Compile a function as :func:`gpukit.device.compiled.njit` does.

    Parameters
    ----------
    function : callable
        The decorated function.
    stamp : str
        Cached code is current while this is unchanged; an empty stamp leaves the check to Numba.
    failed : callable
        Called with the error if cached code could not be loaded the quick way.
    options : dict
        Options of ``numba.njit``.

    Returns
    -------
    tuple
        The compiled function, and whether its code is cached on disk.
    """
    compiled = numba.njit(no_cfunc_wrapper=True, pipeline_class=_Whole, **options)(function)
    _nest(compiled)
    try:
        compiled._cache = _Cache(function, stamp, failed)
    except RuntimeError:
        return compiled, False  # Numba finds no folder
    return compiled, True
