"""How far a measurement may be from what a claim predicts: fixed before anything was measured."""

from __future__ import annotations

__all__ = ["EXPONENT", "LEAST", "LIMIT_ERROR", "SPREAD", "WITHIN"]

#: A fitted exponent is the predicted one if it is no further from it than this. The exponents that
#: theorems tell apart, such as 1/2 and 1, differ by five times as much.
EXPONENT = 0.1

#: Two quantities are of the same order on a grid if their quotient stays below this at every point.
#: On the grids a wrong exponent, by a half, changes it by 8 and more from one end to the other.
WITHIN = 10.0

#: A certified bound supports an Ω if it is at least the expression itself, with the constant one.
LEAST = 1.0

#: A limit is found if its standard error is at most this share of it.
LIMIT_ERROR = 0.1

#: The count of one schedule is of an order if its quotient by it, whatever constant that has, is at
#: its greatest no more than so many times what it is at its least.
SPREAD = 2.0
