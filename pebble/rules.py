"""Rules of the game as a value: each convention of the literature is a named field."""

from __future__ import annotations

import dataclasses
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from pebble.errors import BudgetError, SpecError, unknown
from pebble.operations import INPUT

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["FREE_INPUTS", "FREE_INPUTS_ONE_SHOT", "FREE_INPUTS_UNSTORED", "GRAPHIO", "HK"]
__all__ += ["ONE_SHOT", "PRBP", "PRESETS", "SLIDING", "UNSTORED", "Rules"]


@dataclass(frozen=True)
class Rules:
    """Conventions that a play is judged under; every field at its default is Hong and Kung's game.

    Their game (`HK`): inputs start blue. LOAD puts a red pebble on a blue vertex, STORE a blue one
    on a red vertex; each costs one and leaves the other pebble. COMPUTE puts a red pebble on a
    vertex that is no input and whose operands are all red; DELETE takes a red pebble away; both
    are free. A move that changes nothing is illegal. Never more than M red. The play ends when all
    outputs are blue.

    Attributes
    ----------
    one_shot : bool
        Each vertex is computed at most once. Elango, Rastello, Pouchet, Ramanujam, Sadayappan,
        *On characterizing the data access complexity of programs*, POPL 2015 (the red-blue-white
        game). Default: recomputation is allowed, as in Hong, Kung, *I/O complexity: the red-blue
        pebble game*, STOC 1981.
    free_inputs : bool
        Inputs do not start blue; COMPUTE puts a red pebble on them from nothing, like on any other
        vertex. Papp, Wattenhofer, *On the hardness of red-blue pebble games*, SPAA 2020; Jain,
        Zaharia, *Spectral lower bounds on the I/O complexity of computation graphs*, SPAA 2020.
    unstored_outputs : bool
        Outputs need only have been computed at some time, not end blue. Jain, Zaharia 2020.
    complete : bool
        Every vertex must be computed, also those that no output needs. Jain, Zaharia 2020.
    sliding : bool
        A result may take the place of an operand: a COMPUTE may make M + 1 red when the very next
        move deletes one of its operands, so that least memory is the largest in-degree. van Emde
        Boas, van Leeuwen, *Move rules and trade-offs in the pebble game*, 1979.
    moving_loads : bool
        LOAD moves the pebble: the blue one goes when the red one comes. Demaine, Liu, *Red-blue
        pebble game: complexity of computing the trade-off between cache size and memory
        transfers*, SPAA 2018; Papp, Wattenhofer 2020.
    no_deletion : bool
        No value is ever lost: DELETE needs the vertex to be blue as well. Model ``nodel`` of Papp,
        Wattenhofer 2020.
    compute_price : Fraction
        What each COMPUTE adds to the cost. Model ``compcost`` of Papp, Wattenhofer 2020.
    partial : bool
        A vertex absorbs its operands one at a time, move ``P u v``, and needs only the one and
        itself red; `pebble.partial` says more. Not with sliding or a price. Papp, Sobczyk,
        Yzelman, *The impact of partial computations on the red-blue pebble game*, 2025, whose
        game is the preset ``prbp``, short for ``one-shot+partial``.

    Notes
    -----
    Text form: ``hk`` or ``one-shot``, then any other field after a plus sign, as in
    ``one-shot+sliding`` or ``hk+compute-price=1/100``; the names of `PRESETS` read as well.

    Examples
    --------
    >>> print(Rules(one_shot=True, sliding=True))
    one-shot+sliding
    >>> Rules.parse("hk+free-inputs") == FREE_INPUTS
    True
    """

    one_shot: bool = False
    free_inputs: bool = False
    unstored_outputs: bool = False
    complete: bool = False
    sliding: bool = False
    moving_loads: bool = False
    no_deletion: bool = False
    compute_price: Fraction = Fraction(0)
    partial: bool = False

    def __post_init__(self) -> None:
        try:
            price = Fraction(self.compute_price)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            price = Fraction(-1)
        if price < 0:
            raise SpecError(f"compute_price must be a number >= 0, got {self.compute_price!r}")
        object.__setattr__(self, "compute_price", price)
        if self.partial and (self.sliding or price):
            clash = "sliding" if self.sliding else "compute-price"
            raise SpecError(
                f"partial computation does not go with {clash}: an operand is let go as soon as it "
                f"is absorbed, and only a whole compute has a price; leave {clash} out"
            )

    def __str__(self) -> str:
        if self in (GRAPHIO, PRBP):
            return "graphio" if self == GRAPHIO else "prbp"
        words = ["one-shot" if self.one_shot else "hk"]
        words += [name.replace("_", "-") for name in _SWITCHES[1:] if getattr(self, name)]
        if self.compute_price:
            words.append(f"compute-price={self.compute_price}")
        return "+".join(words)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a text form.

        Raises
        ------
        UnknownNameError
            If a word is neither a preset nor a convention.
        SpecError
            If a price does not read as a number.

        Examples
        --------
        >>> str(Rules.parse("HK+one-shot+compute-price=0.5"))
        'one-shot+compute-price=1/2'
        >>> Rules.parse("two-shot")
        Traceback (most recent call last):
        pebble.errors.UnknownNameError: unknown rules 'two-shot'; did you mean 'one-shot'? ...
        """
        values: dict[str, object] = {}
        for word in text.strip().lower().replace("_", "-").split("+"):
            name, equals, price = word.strip().partition("=")
            field = name.replace("-", "_")
            if name in _BASES:
                changed = {
                    f.name: getattr(_BASES[name], f.name)
                    for f in dataclasses.fields(cls)
                    if getattr(_BASES[name], f.name) != f.default
                }
                values.update(changed)
            elif field in _SWITCHES:
                values[field] = True
            elif field == "compute_price" and equals:
                values[field] = _price(price)
                continue
            else:
                words = [s.replace("_", "-") for s in _SWITCHES]
                raise unknown("rules", name, {*_BASES, *words, "compute-price=NUMBER"})
            if equals:
                raise SpecError(f"rules {text!r}: {name} takes no value")
        return cls(**values)  # type: ignore[arg-type]

    def describe(self) -> list[str]:
        r"""Return one sentence per convention.

        Examples
        --------
        >>> print(*HK.describe(), sep="\n")
        a vertex may be computed any number of times
        inputs start blue
        outputs must end blue
        """
        chosen = [
            ("a vertex is computed at most once", "a vertex may be computed any number of times"),
            ("inputs are computed from nothing", "inputs start blue"),
            ("outputs need only be computed", "outputs must end blue"),
            ("every vertex must be computed", ""),
            ("a result may take the place of an operand", ""),
            ("a load takes the blue pebble away", ""),
            ("a red pebble is deleted only where a blue one remains", ""),
            ("operands may be absorbed one at a time", ""),
        ]
        lines = [
            yes if getattr(self, name) else no
            for name, (yes, no) in zip(_SWITCHES, chosen, strict=True)
        ]
        if self.compute_price:
            lines.append(f"a compute costs {self.compute_price}")
        return [line for line in lines if line]

    # -- memory ------------------------------------------------------------------------------

    def widest(self, dag: Dag) -> int:
        """Return a vertex that forces `least_memory`; -1 if nothing has to be computed."""
        vertex = _widest_of_all(dag) if self.complete else dag.widest
        if vertex < 0 and self.free_inputs and (self.complete or dag.outputs.size):
            vertex = 0 if self.complete else int(dag.outputs[0])
        return vertex

    def least_memory(self, dag: Dag) -> int:
        """Return the least M that a DAG can be played with; 0 if nothing has to be computed.

        Examples
        --------
        >>> from pebble import Dag
        >>> dag = Dag.from_predecessors([[], [], [0, 1]])
        >>> HK.least_memory(dag), SLIDING.least_memory(dag)
        (3, 2)
        """
        vertex = self.widest(dag)
        if vertex < 0:
            return 0
        degree = int(dag.operands(vertex).size)
        if self.partial:
            return min(degree, 1) + 1
        return max(degree, 1) if self.sliding else degree + 1

    def check_memory(self, dag: Dag, memory: int) -> int:
        """Return ``memory`` as an int, or raise `BudgetError` naming the least that would do."""
        try:
            M = operator.index(memory)
        except TypeError:
            M = 0
        least = max(self.least_memory(dag), 1)
        if M < 1 or isinstance(memory, bool):
            raise BudgetError(
                f"M must be a positive integer, got {memory!r}; this DAG needs M >= {least}", least
            )
        if least > M:
            vertex = self.widest(dag)
            degree = int(dag.operands(vertex).size)
            has = f"{degree} operand{'' if degree == 1 else 's'}"
            place = " (the result may take the place of one)" if self.sliding else " and the result"
            if self.partial:
                has, place = "operands one by one", ", each with the result"
            raise BudgetError(
                f"M={M} is too small: COMPUTE {dag.name(vertex)} needs its {has}{place} red at "
                f"once, so play with M >= {least} (rules {self})",
                least,
            )
        return M


_SWITCHES = tuple(f.name for f in dataclasses.fields(Rules) if f.type == "bool")

HK = Rules()
ONE_SHOT = Rules(one_shot=True)
SLIDING = Rules(sliding=True)
UNSTORED = Rules(unstored_outputs=True)
FREE_INPUTS = Rules(free_inputs=True)
FREE_INPUTS_ONE_SHOT = Rules(one_shot=True, free_inputs=True)
FREE_INPUTS_UNSTORED = Rules(free_inputs=True, unstored_outputs=True)
#: Jain and Zaharia: inputs computed for free, every vertex exactly once, nothing need be stored.
GRAPHIO = Rules(one_shot=True, free_inputs=True, unstored_outputs=True, complete=True)
#: Papp, Sobczyk and Yzelman: operands absorbed one at a time, each once.
PRBP = Rules(one_shot=True, partial=True)

#: Rule sets of the literature by their text form.
PRESETS: dict[str, Rules] = {
    str(rules): rules
    for rules in (
        HK,
        ONE_SHOT,
        SLIDING,
        UNSTORED,
        FREE_INPUTS_ONE_SHOT,
        FREE_INPUTS,
        GRAPHIO,
        FREE_INPUTS_UNSTORED,
        PRBP,
    )
}

_BASES = {"hk": HK, "hong-kung": HK, "one-shot": ONE_SHOT, "graphio": GRAPHIO, "prbp": PRBP}


def _price(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise SpecError(f"compute-price must be a number such as 1/100, got {text!r}") from None


def _widest_of_all(dag: Dag) -> int:
    """Return the computed vertex with most operands, needed or not; -1 if all are inputs."""
    import numpy as np  # here, because the command line reads rules before it needs arrays

    degrees = np.diff(dag.indptr).astype(np.int64)
    degrees[dag.operations == INPUT] = -1
    vertex = int(degrees.argmax())
    return vertex if degrees[vertex] >= 0 else -1
