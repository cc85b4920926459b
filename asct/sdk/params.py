"""Settings for a benchmark, as frozen pydantic models. Their fields accept values with the units of the plan
language."""

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
"""A number of bytes. Accepts suffixes: `4K` and `4KiB` are 4096, `4kB` is 4000."""
Duration = Annotated[float, BeforeValidator(parse_duration), Field(ge=0, json_schema_extra={"unit": "s"})]
"""A number of seconds. Text requires a unit (`30s`, `15m`, `1h30m`)."""
Rate = Annotated[float, BeforeValidator(parse_count), Field(ge=0, json_schema_extra={"unit": "ops/s"})]
"""A number of operations per second. Accepts decimal suffixes (`550k`)."""
Count = Annotated[int, BeforeValidator(parse_count), Field(ge=0)]
"""A whole number. Accepts decimal suffixes (`1M` is 1,000,000)."""


def listed(value: object) -> object:
    """Convert a list, a single value or comma-separated text to a list. On the command line, a list can only be written
    as text."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


Sizes = Annotated[tuple[Size, ...], BeforeValidator(listed)]
"""A list of sizes; accepts text such as `4K,8K`."""
Counts = Annotated[tuple[Count, ...], BeforeValidator(listed)]
"""A list of integers; accepts text such as `4,5,6`."""


def setting(
    default: Any,
    help: str,
    *,
    aliases: tuple[str, ...] = (),
    pitfalls: str = "",
    resembles: tuple[str, ...] = (),
    **bounds: Any,
) -> Any:
    """Declare a setting with its default, one line of help, and its aliases. pydantic receives `bounds` (`ge`, `le`,
    ...). `resembles` contains the names of similar settings in other tools. asct does not accept these names, but
    suggests this setting instead."""
    extra: dict[str, Any] = {"aliases": list(aliases)}
    if pitfalls:
        extra["pitfalls"] = pitfalls
    if resembles:
        extra["resembles"] = list(resembles)
    return Field(default=default, description=help, json_schema_extra=extra, **bounds)


class Params(BaseModel):
    """The base class of every benchmark's settings. It accepts only field names; `canonical_name` resolves other
    spellings."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True, defer_build=True)

    step_settings: ClassVar[dict[str, str]] = {}
    """The settings that are lists of values and expand to points, each with the setting that it sweeps:
    {"iodepth_sweep_steps": "iodepth"}."""

    @classmethod
    @cache
    def aliases(cls) -> Mapping[str, str]:
        """Return the setting for every accepted spelling, including the main names."""
        names: dict[str, str] = {}
        for name, info in cls.model_fields.items():
            names[name] = name
            extra = info.json_schema_extra
            others = extra.get("aliases", []) if isinstance(extra, dict) else []
            if isinstance(others, list):
                names.update({str(other): name for other in others})
        return MappingProxyType(names)

    @classmethod
    def hint_for_unknown(cls, name: str) -> str:
        """Return a hint for a name that is not a setting of the benchmark but has a meaning in other tools, or an empty
        string. This hint names the settings that declare `name` in `resembles`."""
        similar = []
        for own, info in cls.model_fields.items():
            extra = info.json_schema_extra
            known = extra.get("resembles") if isinstance(extra, dict) else None
            if isinstance(known, list) and name in known:
                similar.append(f"`{own}`: {info.description}")
        return "; ".join(similar)
