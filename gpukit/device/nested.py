"""Functions that compiled functions call: compiled as parts of their callers, and not for themselves.

Numba compiles what a function calls as if Python called it, too: with a wrapper for Python, to machine code, and once
more for each number that stands in a source. Callers have a copy of all that they call in their own machine code, so
that nobody runs what was made; half of the time of a first run went there. Here a callee ends as intermediate code,
which its callers link, and optimise with their own. A function that Python calls as well is compiled for that as ever.
"""

from typing import Any

from numba.core import sigutils, typing
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher, _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.errors import NumbaError
from numba.core.types import unliteral  # type: ignore[attr-defined]
from numba.core.untyped_passes import InlineInlinables


class _Part(CPUCodeLibrary):
    """Intermediate code that is never made machine code of."""

    def _optimize_final_module(self) -> None:
        """Leave it to the callers: it took a fifth of a first run, and their code was no faster for it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class Whole(Compiler):
    """Numba's compiler, which links what shall be inlined as it links any callee."""

    def define_pipelines(self) -> list[Any]:
        """Return Numba's passes but one."""
        (passes,) = super().define_pipelines()
        passes.passes = [one for one in passes.passes if one[0] is not InlineInlinables]
        return [passes]


class _Compiler(Whole):
    """The same, which leaves what it made in a :class:`_Part`."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        library = _Part(target_context.codegen(), "part")
        super().__init__(typing_context, target_context, library, *rest)


class _Parts(_FunctionCompiler):
    """What compiled a function for those that call it, once for each kind of arguments.

    Numba has a type for each number that stands in a source, and would compile a function for ``used = 0`` first, and
    once more when it sees that ``used`` changes.
    """

    def __init__(self, compiled: Any) -> None:
        super().__init__(compiled.py_func, compiled.targetdescr, compiled.targetoptions, {}, _Compiler)
        self.compiled: dict[tuple[Any, ...], tuple[Any, object]] = {}

    def _customize_flags(self, flags: Any) -> Any:
        flags.forceinline = self.targetoptions.get("inline") == "always"
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how a caller shall call the function, as ``Dispatcher.get_call_template`` does."""
        try:
            return self._template(tuple(unliteral(one) for one in args), {name: unliteral(kws[name]) for name in kws})
        except NumbaError:
            return self._template(args, kws)  # some functions need the number itself

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
        """Return the key by which a caller finds the code."""
        kinds, _ = sigutils.normalize_signature(signature)
        return self.compiled[tuple(kinds)][1]


def nest(compiled: Any) -> None:
    """Let callers of a compiled function, and of those of the package that it calls, have it as a part of them."""
    if not isinstance(compiled, Dispatcher) or not compiled.py_func.__module__.startswith("gpukit."):
        return
    if "get_call_template" in vars(compiled):
        return
    parts = _Parts(compiled)
    vars(compiled).update(get_call_template=parts.get_call_template, get_overload=parts.get_overload)
    for name in compiled.py_func.__code__.co_names:
        nest(compiled.py_func.__globals__.get(name))
