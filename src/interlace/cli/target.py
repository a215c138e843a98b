"""Reads which mechanism is meant: MODULE:EXPRESSION, or FILE.py:EXPRESSION.

The module is imported, so its code runs; the expression is read and not evaluated: names of the
module, calls of them, and literals.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

from interlace.core.errors import ParameterError


def read_target(text: str) -> Any:
    """The value that ``text`` names.

    Raises ParameterError for a module or a name that is not there, for a module that ends the
    program, for arguments that a call does not take, and for an expression that does more than
    call names with literals. What the module's own code raises is its author's, and goes through.

    >>> read_target("interlace.mechanisms:Laplace(epsilon=1/2, answers=3)")
    Laplace(scale=2, answers=3, sensitivity=1)
    """
    # A path may hold a colon on some systems; an expression holds none.
    place, _, expression = text.rpartition(":")
    if not place or not expression:
        raise _unreadable(text)
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise _unreadable(text) from None
    try:
        return _value(tree, _module(place), text)
    except SystemExit as end:
        # Its status would be taken for a verdict.
        raise ParameterError("mechanism", f"{place!r} ends with status {end.code}") from None


def _module(place: str) -> Any:
    if place.endswith(".py"):
        return _file(Path(place))
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    parts = place.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError as error:
            # One that the module itself needs and lacks is its author's to know.
            if error.name is None or not place.startswith(error.name):
                raise
            continue
        for name in parts[count:]:
            found = _attribute(found, name, place)
        return found
    raise ParameterError("mechanism", f"there is no module {place!r}")


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ParameterError("mechanism", f"there is no file {str(path)!r}")
    # Its neighbours can be imported, as when Python runs it; last, so that they hide nothing.
    if (beside := str(path.resolve().parent)) not in sys.path:
        sys.path.append(beside)
    # A name that no module has: a file named like one must not take its place.
    spec = importlib.util.spec_from_file_location(f"{path.stem}.py", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for their module by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _value(node: ast.expr, module: Any, text: str) -> Any:
    if isinstance(node, ast.Name):
        return _attribute(module, node.id, text)
    if isinstance(node, ast.Attribute):
        return _attribute(_value(node.value, module, text), node.attr, text)
    if isinstance(node, ast.Call):
        arguments = [_value(argument, module, text) for argument in node.args]
        if any(keyword.arg is None for keyword in node.keywords):
            raise _unreadable(text)
        named = {str(k.arg): _value(k.value, module, text) for k in node.keywords}
        return _called(_value(node.func, module, text), arguments, named, text)
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_value(item, module, text) for item in node.elts)
    return _number(node, text)


def _called(made: Any, arguments: list[Any], named: dict[str, Any], text: str) -> Any:
    if not callable(made):
        raise ParameterError("mechanism", f"{text!r} calls what cannot be called")
    try:
        inspect.signature(made).bind(*arguments, **named)
    except TypeError as error:
        raise ParameterError("mechanism", f"{text!r}: {error}") from None
    except ValueError:
        pass  # It tells no signature.
    return made(*arguments, **named)


def _number(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        over, under = _number(node.left, text), _number(node.right, text)
        if type(over) is int and type(under) is int and under:
            return Fraction(over, under)
        raise _unreadable(text)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        raise _unreadable(text) from None


def _attribute(owner: Any, name: str, text: str) -> Any:
    if name.startswith("_") or not hasattr(owner, name):
        raise ParameterError("mechanism", f"{text!r}: there is no {name!r}")
    return getattr(owner, name)


def _unreadable(text: str) -> ParameterError:
    return ParameterError(
        "mechanism",
        f"cannot read {text!r}: it is MODULE:NAME or MODULE:NAME(argument=number, ...), where "
        "MODULE may be a path to a .py file",
    )
