"""Ranges of numbers and lists of specs, as the command line writes them.

A range is one number, a list of numbers, or a rule:

==================  ================================================
``64``              one value
``64,128,256``      several
``16:8192:x2``      16, 32, 64, ... up to 8192; any factor above 1
``64:512:+64``      64, 128, 192, ... up to 512
``3:6``             3, 4, 5, 6: without a rule the step is 1
==================  ================================================

Where sizes of a workload are known, any number may be a formula in them: ``0.25*d^2``,
``2*n*d``, ``0.25*d^2:4*d^2:x2``. A formula is rounded to the nearest integer; a plain number must
be one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from pebble import spec
from pebble.errors import SpecError, unknown

__all__ = ["expand", "read_number", "read_range", "split_specs"]

#: More values than this in one range is a slip of the pen.
MOST = 100_000

_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*|\.\d+)|([A-Za-z_]\w*)|([-+*/^()]))")
# A piece of a list that goes on with the numbers of the spec before it: `128`, `64:512:+64`.
_NUMERIC = re.compile(r"[\d.]+(?::[\d.]+(?::[x+][\d./]+)?)?")
_STEP = re.compile(r"([x+])(.+)")


def read_range(text: str, sizes: Mapping[str, int] | None = None, what: str = "M") -> list[int]:
    """Read a range into its values, ascending and distinct.

    Parameters
    ----------
    text : str
        A range as this module describes it.
    sizes : mapping of str to int, optional
        Names that formulas may use, with their values.
    what : str
        What the values are, for messages.

    Raises
    ------
    SpecError
        If the text is no range, or a value in it no positive integer.
    UnknownNameError
        If a formula names a size that the workload does not have.

    Examples
    --------
    >>> read_range("16:300:x2")
    [16, 32, 64, 128, 256]
    >>> read_range("16:60:x1.5"), read_range("3,1:9:+4")
    ([16, 24, 36, 54], [1, 3, 5, 9])
    >>> read_range("3:6")
    [3, 4, 5, 6]
    >>> read_range("0.25*d^2:4*d^2:x4", {"n": 64, "d": 16})
    [64, 256, 1024]
    """
    if not text.strip():
        raise SpecError(f"{what}: expected a range such as 64 or 16:8192:x2, got nothing")
    values: set[int] = set()
    for piece in text.split(","):
        values.update(_values(piece.strip(), text, sizes or {}, what))
        if len(values) > MOST:
            raise SpecError(f"{what}: {text!r} has more than {MOST:,} values")
    return sorted(values)


def read_number(text: str, sizes: Mapping[str, int] | None = None, what: str = "M") -> int:
    """Read one positive integer: a number, or a formula in sizes, rounded.

    Examples
    --------
    >>> read_number("1.5*d^2", {"d": 3})
    14
    >>> read_number("2.5")
    Traceback (most recent call last):
    pebble.errors.SpecError: M must be a positive integer, got '2.5'
    """
    return _integer(text, _evaluate(text, sizes or {}, what), what)


def split_specs(text: str) -> list[str]:
    """Split a list of specs at the commas between them.

    A piece with ``=`` and no name before it belongs to the spec before it, and so does a number.

    Examples
    --------
    >>> split_specs("naive,flash:rows=8,columns=4")
    ['naive', 'flash:rows=8,columns=4']
    >>> split_specs("attention-backward:n=64,128,d=16:64:x2,matmul:m=4,n=4,k=4")
    ['attention-backward:n=64,128,d=16:64:x2', 'matmul:m=4,n=4,k=4']
    """
    specs: list[str] = []
    for piece in text.split(","):
        before_equals = piece.partition("=")[0]
        goes_on = ("=" in piece and ":" not in before_equals) or _NUMERIC.fullmatch(piece.strip())
        if goes_on and specs:
            specs[-1] += f",{piece}"
        elif piece.strip():
            specs.append(piece.strip())
        else:
            raise SpecError(f"{text!r}: there is nothing between two commas")
    return specs


def expand(text: str) -> list[str]:
    """Write out a workload's text form whose integers are ranges; the first varies slowest.

    Examples
    --------
    >>> expand("attention-backward:n=64:256:x2,d=16")
    ['attention-backward:n=64,d=16', 'attention-backward:n=128,d=16',
     'attention-backward:n=256,d=16']
    >>> expand("graph.json")
    ['graph.json']
    """
    name, colon, rest = text.partition(":")
    if not colon or "=" not in rest:
        return [text]
    choices: dict[str, str] = {}
    last = ""
    for piece in rest.split(","):
        key, equals, value = (part.strip() for part in piece.partition("="))
        if not equals and last and _NUMERIC.fullmatch(key):
            choices[last] += f",{key}"
        elif not (equals and key and value):
            raise SpecError(f"{text!r}: expected key=value, got {piece!r}")
        elif key in choices:
            raise SpecError(f"{text!r}: {key} is given twice")
        else:
            choices[key] = value
            last = key
    lists = [_choices(value, f"{name}: {key}") for key, value in choices.items()]
    return [
        spec.write(name, dict(zip(choices, chosen, strict=True)))
        for chosen in itertools.product(*lists)
    ]


def _choices(value: str, what: str) -> list[str]:
    """Write out one parameter; what is no range (a word, one number) is left as it stands."""
    pieces = value.split(",")
    if len(pieces) > 1 or (":" in value and value[0].isdigit()):
        return [str(number) for number in read_range(value, what=what)]
    return [value]


def _values(piece: str, whole: str, sizes: Mapping[str, int], what: str) -> Iterator[int]:
    if not piece:
        raise SpecError(f"{what}: {whole!r} has nothing between two commas")
    parts = [part.strip() for part in piece.split(":")]
    if len(parts) == 1:
        yield read_number(piece, sizes, what)
        return
    step = _STEP.fullmatch((*parts, "+1")[2]) if len(parts) <= 3 else None
    if step is None:
        raise SpecError(
            f"{what}: {piece!r} is no range: expected FIRST:LAST (every integer), "
            "FIRST:LAST:xFACTOR or FIRST:LAST:+STEP, as in 3:6, 16:8192:x2 or 64:512:+64"
        )
    first, last = (_evaluate(part, sizes, what) for part in parts[:2])
    for part, value in zip(parts, (first, last), strict=False):
        _integer(part, value, what)
    by = _evaluate(step[2], sizes, what)
    if last < first:
        raise SpecError(f"{what}: {piece!r} is empty: it starts above its end, write it ascending")
    if step[1] == "x" and by <= 1:
        raise SpecError(f"{what}: {piece!r} never ends: the factor must be above 1, got {step[2]}")
    if step[1] == "+" and by <= 0:
        raise SpecError(f"{what}: {piece!r} never ends: the step must be positive, got {step[2]}")
    value = first
    for _ in range(MOST + 1):
        if value > last:
            return
        yield round(value)
        value = value * by if step[1] == "x" else value + by
        if value.denominator.bit_length() > 512:  # powers of a factor such as 1.001 grow long
            value = Fraction(round(value * (1 << 512)), 1 << 512)
    raise SpecError(f"{what}: {piece!r} has more than {MOST:,} values: take a larger step")


def _integer(text: str, value: Fraction, what: str) -> int:
    plain = re.fullmatch(r"[-+]?[\d.]+", text.strip())
    rounded = round(value)
    if rounded < 1 or (plain and value != rounded):
        came = repr(text) if plain else f"{text!r} = {float(value):g}"
        raise SpecError(f"{what} must be a positive integer, got {came}")
    return rounded


# -- formulas ---------------------------------------------------------------------------------


def _evaluate(text: str, sizes: Mapping[str, int], what: str) -> Fraction:
    return _Formula(text, sizes, what).value()


class _Formula:
    """Recursive descent over ``+ - * / ^`` and brackets, in exact fractions."""

    def __init__(self, text: str, sizes: Mapping[str, int], what: str) -> None:
        self.text, self.sizes, self.what = text, sizes, what
        self.tokens: list[str] = []
        self.place = 0
        position, stripped = 0, text.rstrip()
        while position < len(stripped):
            match = _TOKEN.match(stripped, position)
            if match is None:
                raise self.error()
            self.tokens.append(match[match.lastindex or 0])
            position = match.end()
        if not self.tokens or len(self.tokens) > 100:
            raise self.error()

    def error(self) -> SpecError:
        names = ", ".join(self.sizes)
        formula = f" or a formula in {names}, as in 2*{next(iter(self.sizes))}" if names else ""
        return SpecError(f"{self.what} must be a positive integer{formula}; got {self.text!r}")

    def value(self) -> Fraction:
        try:
            value = self.sum()
        except ZeroDivisionError:
            raise SpecError(f"{self.what}: {self.text!r} divides by zero") from None
        if self.place < len(self.tokens):
            raise self.error()
        return value

    def next(self, wanted: str) -> str:
        """Take the next token if it is one of the characters wanted."""
        if self.place < len(self.tokens) and self.tokens[self.place] in wanted:
            self.place += 1
            return self.tokens[self.place - 1]
        return ""

    def sum(self) -> Fraction:
        value = self.product()
        while sign := self.next("+-"):
            term = self.product()
            value = value + term if sign == "+" else value - term
        return value

    def product(self) -> Fraction:
        value = self.power()
        while sign := self.next("*/"):
            factor = self.power()
            value = value * factor if sign == "*" else value / factor
        return value

    def power(self) -> Fraction:
        if self.next("-"):
            return -self.power()
        base = self.atom()
        if not self.next("^"):
            return base
        exponent = self.power()
        if exponent.denominator != 1 or abs(exponent) > 32:
            raise SpecError(f"{self.what}: {self.text!r}: an exponent is an integer up to 32")
        if max(base.numerator.bit_length(), base.denominator.bit_length()) > 512:
            raise SpecError(f"{self.what}: {self.text!r} is too large")
        return base ** int(exponent)

    def atom(self) -> Fraction:
        if self.next("("):
            value = self.sum()
            if not self.next(")"):
                raise self.error()
            return value
        if self.place >= len(self.tokens):
            raise self.error()
        token = self.tokens[self.place]
        self.place += 1
        if token[0].isdigit() or token[0] == ".":
            return Fraction(token if token[-1] != "." else token[:-1])
        if token in self.sizes:
            return Fraction(self.sizes[token])
        if token[0].isalpha() or token[0] == "_":
            if not self.sizes:
                raise self.error()
            raise unknown(f"size in {self.what} = {self.text!r}:", token, self.sizes)
        raise self.error()
