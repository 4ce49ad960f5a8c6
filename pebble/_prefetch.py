"""Asking the processor for memory that a compiled loop will need soon."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["prefetch"]


def _prefetch(typing: Any, array: Any, index: Any) -> Any:  # noqa: ARG001 (numba's signature)
    """Fetch the cache line of ``array[index]``; any index will do, also one out of range."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, number = signature.args
        data = context.make_array(kind)(context, builder, arguments[0]).data
        place = builder.gep(data, [context.cast(builder, arguments[1], number, types.intp)])
        flag = ir.IntType(32)
        line = builder.bitcast(place, ir.IntType(8).as_pointer())
        told = ir.FunctionType(ir.VoidType(), [line.type, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [line.type], told)
        builder.call(function, [line, flag(0), flag(3), flag(1)])  # to read, keep it, data
        return context.get_dummy_value()

    return types.void(array, index), generate


#: Called from compiled code with an array and an index; its own types hide the first argument.
prefetch: Any = intrinsic(_prefetch)
