"""Rare arguments: functions take them by ``**more``, and help shows them as if they were in the signature."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, get_args

from gpukit.api.session import WHERE
from gpukit.parameters.option import Parameters, declared

COLUMNS = "; name columns by source, target and weight"
"""Advice for somebody who gives the command line's ``--columns``."""

Function = TypeVar("Function", bound=Callable[..., Any])


def keywords(params: type[Parameters] | None = None, **usual: Any) -> Callable[[Function], Function]:
    """Return a decorator for a function with ``**more: Unpack[…]`` of a TypedDict, whose names become keywords.

    An argument that is not given gets its default: from ``params``, from ``usual``, or from :class:`Where`. Other names
    raise TypeError as usual.
    """
    usual = {**WHERE, **usual} | {name: one.default for name, one in (declared(params) if params else {}).items()}

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        *written, more = signature.parameters.values()
        (names,) = get_args(more.annotation)
        further = {
            name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual[name], annotation=annotation)
            for name, annotation in names.__annotations__.items()
        }
        defaults = {name: usual[name] for name in further}

        @wraps(function)
        def called(*given: Any, **options: Any) -> Any:
            for name in options.keys() - signature.parameters.keys() - further.keys():
                hint = COLUMNS if name == "columns" and "weight" in signature.parameters else ""
                raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}{hint}")
            return function(*given, **defaults | options)

        called.__signature__ = signature.replace(parameters=[*written, *further.values()])  # type: ignore[attr-defined]
        return called  # type: ignore[return-value]

    return decorate
