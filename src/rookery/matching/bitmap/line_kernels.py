"""Lines of 512 bits as one value inside a kernel.

Numba has no vector type, and its loops over eight words run 1.4 to 3 times slower than one vector instruction. So a
line is given to LLVM as `<8 x i64>`: one AVX-512 register where there is one, two or four smaller ones elsewhere.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

__all__ = ["line_from_words", "line_is_full", "line_load", "line_or", "line_store", "line_type"]

_WORDS = 8
_VECTOR = ir.VectorType(ir.IntType(64), _WORDS)


class Line(types.Type):  # type: ignore[misc]
    """The Numba type of a line."""

    def __init__(self) -> None:
        super().__init__(name="RookeryLine512")


line_type = Line()


@register_model(Line)
class _LineModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, line: Any) -> None:
        super().__init__(manager, line, _VECTOR)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    pointer = builder.gep(data, [index])
    return builder.bitcast(pointer, _VECTOR.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def line_load(typing_context: Any, words: Any, index: Any) -> Any:
    """Return the line that begins at `words[index]`, of a flat array of uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.load(pointer, align=8)  # a memory-mapped set is aligned to words, not always to lines

    return line_type(words, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def line_store(typing_context: Any, words: Any, index: Any, line: Any) -> Any:
    """Write a line to `words[index:index + 8]`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], arguments[0], arguments[1])
        builder.store(arguments[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64, line_type), generate


@intrinsic  # type: ignore[untyped-decorator]
def line_or(typing_context: Any, one: Any, other: Any) -> Any:
    """Return `one | other`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.or_(arguments[0], arguments[1])

    return line_type(line_type, line_type), generate


@intrinsic  # type: ignore[untyped-decorator]
def line_is_full(typing_context: Any, line: Any) -> Any:
    """Say whether every bit is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(64 * _WORDS)
        return builder.icmp_unsigned("==", builder.bitcast(arguments[0], wide), ir.Constant(wide, -1))

    return types.boolean(line_type), generate


@intrinsic  # type: ignore[untyped-decorator]
def line_from_words(typing_context: Any, word: Any) -> Any:
    """Return the line whose eight words are all `word`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.Constant(_VECTOR, ir.Undefined)
        for position in range(_WORDS):
            vector = builder.insert_element(vector, arguments[0], ir.Constant(ir.IntType(32), position))
        return vector

    return line_type(types.uint64), generate
