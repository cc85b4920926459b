"""Settings of a benchmark: frozen pydantic models whose fields read the units of the plan language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from asct.values.duration import parse_duration
from asct.values.quantity import parse_count
from asct.values.size import parse_size

Size = Annotated[int, BeforeValidator(parse_size), Field(ge=0, json_schema_extra={"unit": "B"})]
"""Bytes; reads `4K` = `4KiB` = 4096, `4kB` = 4000."""
Duration = Annotated[float, BeforeValidator(parse_duration), Field(ge=0, json_schema_extra={"unit": "s"})]
"""Seconds; text needs a unit (`30s`, `15m`, `1h30m`)."""
Rate = Annotated[float, BeforeValidator(parse_count), Field(ge=0, json_schema_extra={"unit": "ops/s"})]
"""Operations per second; decimal suffixes (`550k`)."""
Count = Annotated[int, BeforeValidator(parse_count), Field(ge=0)]
"""A whole number; decimal suffixes (`1M` = 1,000,000)."""


def listed(value: object) -> object:
    """One value, or a text with commas (the command line has no lists), as a list."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


def setting(default: Any, help: str, *, aliases: tuple[str, ...] = (), pitfalls: str = "", **bounds: Any) -> Any:
    """Declare a setting: its default, one line of help and its other spellings. `bounds` go to pydantic (ge, le...)."""
    extra: dict[str, Any] = {"aliases": list(aliases)}
    if pitfalls:
        extra["pitfalls"] = pitfalls
    return Field(default=default, description=help, json_schema_extra=extra, **bounds)


class Params(BaseModel):
    """Base of every benchmark's settings. Plain field names only; other spellings go through `canonical_name`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True, defer_build=True)

    step_settings: ClassVar[dict[str, str]] = {}
    """List settings that expand to points: {"iodepth_sweep_steps": "iodepth"}."""

    @classmethod
    @cache
    def aliases(cls) -> Mapping[str, str]:
        """Every accepted spelling and the setting it means (main names included)."""
        names: dict[str, str] = {}
        for name, info in cls.model_fields.items():
            names[name] = name
            extra = info.json_schema_extra
            others = extra.get("aliases", []) if isinstance(extra, dict) else []
            if isinstance(others, list):
                names.update({str(other): name for other in others})
        return MappingProxyType(names)
