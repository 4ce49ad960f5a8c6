"""Operations a vertex can carry, so that a DAG can be evaluated and a pebbling executed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ADD", "APPLY", "COPY", "DIV", "EXP", "INPUT", "KEEP", "MAX", "MUL", "NAMES"]
__all__ += ["OPERATIONS", "SUB", "Operation"]

INPUT, APPLY, MUL, ADD, SUB, DIV, EXP, MAX, COPY, KEEP = range(10)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a vertex computes.

    Attributes
    ----------
    code : int
        The byte stored in `Dag.operations`.
    name : str
        Name in files and listings.
    arity : int or None
        Number of operand slots; None for ``input`` (none) and ``apply`` (any number, opaque: a
        vertex of a user's graph whose function nobody told us). A vertex whose operand slots hold
        one vertex twice, as in x*x, has one predecessor.
    """

    code: int
    name: str
    arity: int | None


OPERATIONS: tuple[Operation, ...] = (
    Operation(INPUT, "input", None),
    Operation(APPLY, "apply", None),
    Operation(MUL, "mul", 2),
    Operation(ADD, "add", 2),
    Operation(SUB, "sub", 2),
    Operation(DIV, "div", 2),
    Operation(EXP, "exp", 1),
    Operation(MAX, "max", 2),
    Operation(COPY, "copy", 1),
    Operation(KEEP, "keep", 1),
)

NAMES: dict[str, int] = {operation.name: operation.code for operation in OPERATIONS}
