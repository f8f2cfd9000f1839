"""Leaf types of the contract model: each knows its pydantic check, its JSON Schema and its table shape.

A *shape* is the plain tuple by which the fast checker knows a type: `("whole", 0, 16)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Discriminator, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from dsec.units import Bytes, Duration, UnitProblem
from dsec_cli.contract import quantities
from dsec_cli.contract.forms import FORMS

T = TypeVar("T")
Many = Annotated[tuple[T, ...], Strict(False)]
"""A YAML sequence; kept as a tuple."""

NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"


def pattern(kind: str) -> str:
    """Regular expression of a quantity kind, from its unit table.

    It accepts all that `dsec.units.parse` accepts; amounts too fine or too large for it are the
    one thing a pattern cannot see.
    """
    table = Bytes if kind == quantities.GPU_MEMORY else quantities.BY_NAME[kind]
    units = "|".join(re.escape(unit) for unit in sorted(table.units, key=_long_first))
    body = rf"{NUMBER}\s*({units})"
    if table is Duration:
        body += rf"([0-9]+(\.[0-9]*)?\s*({units}))*"
    if kind == quantities.GPU_MEMORY:
        body = rf"({body}|[0-9]{{1,5}}GB{quantities.CLASS})"
    return rf"^\s*{body}\s*$"


def _long_first(unit: str) -> tuple[int, str]:
    return -len(unit), unit


@dataclass(frozen=True)
class Measure:
    """Text that spells a quantity of one kind."""

    kind: str

    @property
    def shape(self) -> tuple[object, ...]:
        """Shape in the fast checker's table."""
        return ("quantity", self.kind)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "type": "string",
            "pattern": pattern(self.kind),
            "examples": [quantities.example(self.kind)],
            "x-unit": self.kind,
        }

    def _check(self, text: str) -> str:
        try:
            quantities.read(self.kind, text)
        except UnitProblem as problem:
            raise PydanticCustomError("quantity", "{reason}", {"reason": problem.reason}) from None
        return text


@dataclass(frozen=True)
class Shaped:
    """Text of a named form (`contract.forms`)."""

    form: str

    @property
    def shape(self) -> tuple[object, ...]:
        """Shape in the fast checker's table."""
        return ("form", self.form)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        form = FORMS[self.form]
        return {"type": "string", "pattern": form.pattern, "examples": [form.example]}

    def _check(self, text: str) -> str:
        form = FORMS[self.form]
        if re.fullmatch(form.pattern.removesuffix("$"), text) is None:
            raise PydanticCustomError("form", "must be {says}", {"says": form.says})
        return text


@dataclass(frozen=True)
class Filled:
    """Text that is not empty; `shell` text also remembers how it was written."""

    kind: str = "text"

    @property
    def shape(self) -> tuple[object, ...]:
        """Shape in the fast checker's table."""
        return (self.kind,)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.str_schema(strict=True, min_length=1)


@dataclass(frozen=True)
class NotEmpty:
    """A list with an item; what is given counts, not what is left after wrong items are dropped."""

    least: int = 1

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_not_empty, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "minItems": self.least}


@dataclass(frozen=True)
class Whole:
    """A whole number within bounds; `8.0` is the whole number 8, as JSON Schema has it."""

    least: int
    most: int

    @property
    def shape(self) -> tuple[object, ...]:
        """Shape in the fast checker's table."""
        return ("whole", self.least, self.most)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        number = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        return core_schema.no_info_before_validator_function(_integral, number)


@dataclass(frozen=True)
class Decimal:
    """A finite number within bounds, whole or not."""

    least: float
    most: float

    @property
    def shape(self) -> tuple[object, ...]:
        """Shape in the fast checker's table."""
        return ("number", self.least, self.most)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.float_schema(strict=True, ge=self.least, le=self.most, allow_inf_nan=False)


@dataclass(frozen=True)
class AnyScalar:
    """Any scalar but null, taken as it is written: `1.2`, `true`, `abc`."""

    @property
    def shape(self) -> tuple[object, ...]:
        """Shape in the fast checker's table."""
        return ("written",)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_scalar)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": ["string", "number", "boolean"]}


def _not_empty(value: object) -> object:
    if isinstance(value, list | tuple) and not value:
        raise PydanticCustomError("too_short", "must have an item")
    return value


def _integral(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _scalar(value: object) -> object:
    if isinstance(value, str | int | float):
        return value
    raise PydanticCustomError("scalar", "must be a single value")


def node_tag(value: object) -> str:
    """Which kind of YAML node a value came from; the tag of a union's members."""
    if isinstance(value, dict):
        return "<mapping>"
    return "<sequence>" if isinstance(value, list | tuple) else "<scalar>"


BY_NODE = Discriminator(node_tag)
"""Unions in the contract are told apart by the kind of node, so an error names one member only."""

Text = Annotated[str, Filled()]
Command = Annotated[str, Filled("command")]
Written = Annotated[str | int | float | bool, AnyScalar()]
StepId = Annotated[str, Shaped("step id")]
TokenName = Annotated[str, Shaped("token name")]
VariableName = Annotated[str, Shaped("variable name")]
HostName = Annotated[str, Shaped("host name")]
PackageName = Annotated[str, Shaped("package name")]
CallTarget = Annotated[str, Shaped("call")]
Reduction = Annotated[str, Shaped("reduction")]
ContentHash = Annotated[str, Shaped("content hash")]
Size = Annotated[str, Measure("size")]
GpuMemoryText = Annotated[str, Measure(quantities.GPU_MEMORY)]
Bandwidth = Annotated[str, Measure("bandwidth")]
ByteRate = Annotated[str, Measure("byte rate")]
FlopRate = Annotated[str, Measure("FLOP rate")]
Span = Annotated[str, Measure("duration")]
RequestRate = Annotated[str, Measure("request rate")]
Count = Annotated[int, Whole(0, 1_000_000)]
Port = Annotated[int, Whole(1, 65535)]
Cores = Annotated[float, Decimal(0, 1_000_000)]
Hours = Annotated[float, Decimal(0, 1_000_000_000)]
