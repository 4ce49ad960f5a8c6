"""Text form of workloads and strategies: ``name:key=value,key=value``."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

from pebble.errors import SpecError, unknown

__all__ = ["Registry", "Spec", "parse", "write"]


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Split a text form into its name and its parameters.

    Examples
    --------
    >>> parse("attention-forward:n=64,d=16")
    ('attention-forward', {'n': '64', 'd': '16'})
    >>> parse("flash")
    ('flash', {})
    """
    name, colon, rest = text.strip().partition(":")
    parameters: dict[str, str] = {}
    if not name or (colon and not rest):
        raise SpecError(f"{text!r} is no spec: expected NAME or NAME:key=value,key=value")
    for piece in rest.split(",") if rest else ():
        key, equals, value = piece.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not key or not value:
            raise SpecError(f"{text!r}: expected key=value, got {piece!r}")
        if key in parameters:
            raise SpecError(f"{text!r}: {key} is given twice")
        parameters[key] = value
    return name.strip(), parameters


def write(name: str, parameters: dict[str, object]) -> str:
    """Write a text form that `parse` reads back.

    Examples
    --------
    >>> write("flash", {"rows": 8})
    'flash:rows=8'
    """
    body = ",".join(f"{key}={value}" for key, value in parameters.items())
    return f"{name}:{body}" if body else name


def _convert(text: str, kind: Any, where: str) -> Any:
    """Read one parameter: a positive integer, or text; ``X | None`` reads as X."""
    kinds = [k for k in typing.get_args(kind) if k is not type(None)] or [kind]
    if int in kinds:
        digits = text.isascii() and text.isdigit()
        if digits and len(text) > 19 and str not in kinds:
            raise SpecError(f"{where} must have at most 19 digits, got {len(text)}")
        if digits and len(text) < 20 and int(text) > 0:
            return int(text)
        if str not in kinds:
            raise SpecError(f"{where} must be a positive integer, got {text!r}")
    if float in kinds:
        try:
            return float(text)
        except ValueError:
            raise SpecError(f"{where} must be a number, got {text!r}") from None
    return text


@dataclass(frozen=True)
class Spec:
    """A frozen dataclass of parameters that is written ``name:key=value,...`` and read back.

    Subclasses set ``name``; a field at its default is left out of the text. Integer fields must be
    positive; a field annotated ``Literal[...]`` takes only the listed words.
    """

    name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> Self:
        """Build an instance from the parameters of a text form.

        Raises
        ------
        SpecError
            If a parameter is unknown, missing or malformed.
        """
        fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
        hints = typing.get_type_hints(cls)
        values = {}
        for key, text in parameters.items():
            if key not in fields:
                raise SpecError(f"{cls.name}: {unknown('option', key, fields)}")
            values[key] = _convert(text, hints[key], f"{cls.name}: {key}")
        missing = [
            key
            for key, field in fields.items()
            if key not in values
            and field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        ]
        if missing:
            raise SpecError(
                f"{cls.name} needs {' and '.join(f'{key}=' for key in missing)}: "
                f"write {cls.usage()}"
            )
        return cls(**values)

    @classmethod
    def usage(cls) -> str:
        """Pattern of the text form: required parameters empty, the others at their defaults."""
        pieces = []
        for field in dataclasses.fields(cls):
            if not field.init:
                continue
            default = "" if field.default is dataclasses.MISSING else field.default
            if default is not None:
                pieces.append(f"{field.name}={default}")
        return f"{cls.name}:{','.join(pieces)}" if pieces else cls.name

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), hints[field.name]
            where = f"{self.name}: {field.name}"
            words = _literals(kind)
            if words and value is not None and value not in words:
                raise SpecError(f"{where} must be one of {', '.join(words)}; got {value!r}")
            if isinstance(value, bool):
                raise SpecError(f"{where} must be a positive integer, got {value!r}")
            if kind is int and (not isinstance(value, int) or value < 1):
                raise SpecError(f"{where} must be a positive integer, got {value!r}")
            optional = kind == int | None and value is not None
            if optional and (not isinstance(value, int) or value < 1):
                raise SpecError(f"{where} must be a positive integer, got {value!r}")

    def __str__(self) -> str:
        shown: dict[str, object] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.init and (field.default is dataclasses.MISSING or value != field.default):
                shown[field.name] = value
        return write(self.name, shown)


def _literals(kind: Any) -> list[str]:
    if typing.get_origin(kind) is typing.Literal:
        return [str(word) for word in typing.get_args(kind)]
    return [word for part in typing.get_args(kind) for word in _literals(part)]


T = TypeVar("T", bound=Spec)


class Registry(Generic[T]):
    """Classes of specs by name and alias; filled by a decorator, never by hand.

    Parameters
    ----------
    kind : str
        What is registered, for messages: ``workload`` or ``strategy``.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._classes: dict[str, type[T]] = {}

    def register(self, cls: type[T]) -> type[T]:
        """Class decorator: enter ``cls`` under its name and its aliases."""
        for name in (cls.name, *cls.aliases):
            key = name.lower()
            if not key or self._classes.get(key, cls) is not cls:
                raise SpecError(f"{self.kind} name {name!r} is empty or already taken")
            self._classes[key] = cls
        return cls

    def classes(self) -> list[type[T]]:
        """Return the registered classes, sorted by name."""
        return sorted(set(self._classes.values()), key=lambda cls: cls.name)

    def known(self, name: str) -> bool:
        """Whether a class is registered under this name or alias."""
        return name.strip().lower() in self._classes

    def find(self, name: str) -> type[T]:
        """Return the class of that name or alias, or raise `UnknownNameError`."""
        try:
            return self._classes[name.strip().lower()]
        except KeyError:
            raise unknown(self.kind, name, self._classes) from None

    def read(self, text: str) -> T:
        """Read a text form."""
        name, parameters = parse(text)
        return self.find(name).from_parameters(parameters)
