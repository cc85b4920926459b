"""Settings that are handed to fio as they are: declared with the name of fio's option, written into the job file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from asct.instruments.fio.jobfile import written
from asct.sdk.params import Params, setting

Form = Literal["plain", "time"]


def passed(
    default: Any,
    help: str,
    option: str,
    *,
    form: Form = "plain",
    engines: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    **bounds: Any,
) -> Any:
    """Declare a setting that becomes fio's `option`, left out while it is None.

    `form` "time" is a Duration, which fio reads with its unit. `engines` are those that have the option; empty: all.
    """
    field = setting(default, help, aliases=aliases, **bounds)
    field.json_schema_extra["fio"] = {"option": option, "form": form, "engines": list(engines)}
    return field


def option_of(params: type[Params], name: str) -> Mapping[str, Any] | None:
    """How the setting `name` is written (keys option, form, engines); None for one that asct works out."""
    extra = params.model_fields[name].json_schema_extra
    found = extra.get("fio") if isinstance(extra, dict) else None
    return found if isinstance(found, dict) else None


def passed_options(params: Params) -> dict[str, str]:
    """Every such setting that was given, by fio's name, in the order of declaration."""
    found: dict[str, str] = {}
    for name in type(params).model_fields:
        how, value = option_of(type(params), name), getattr(params, name)
        if how is not None and value is not None:
            found[str(how["option"])] = _written(value, str(how["form"]))
    return found


def _written(value: Any, form: str) -> str:
    """fio reads sizes as plain counts, and a time without a unit in one that depends on the option."""
    return f"{max(1, round(value * 1e6))}us" if form == "time" else written(value)
