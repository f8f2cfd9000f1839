"""What every section of the contract model has in common."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """A mapping with a fixed set of keys; `heading` is its place in a document."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=False)
    heading: ClassVar[str] = ""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_null(cls, value: object) -> object:
        """An absent key is None here; a key that is there must say something."""
        if value is None:
            raise PydanticCustomError("null", "must not be empty")
        return value


def optional(
    description: str, seed: str, *, key: str | None = None, default: str = "", example: object = None
) -> Any:
    """A key that may be left out; `default` is what its absence means, in words."""
    return Field(
        default=None,
        alias=key,
        description=description,
        examples=None if example is None else [example],
        json_schema_extra={"x-seed": seed, "x-default": default} if default else {"x-seed": seed},
    )


def required(description: str, seed: str, *, key: str | None = None, example: object = None) -> Any:
    """A key that must be there."""
    return Field(
        alias=key,
        description=description,
        examples=None if example is None else [example],
        json_schema_extra={"x-seed": seed},
    )
