"""The settings of one benchmark: names, defaults, and validation with the benchmark's model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from asct.plan.ranges import Kind
from asct.sdk.benchmark import Benchmark
from asct.sdk.params import Params
from asct.sdk.setting_errors import SettingError, setting_errors
from asct.values.duration import parse_duration, require_unit
from asct.values.error import BadValueError
from asct.values.quantity import parse_count
from asct.values.size import parse_size

_READERS: dict[Any, Kind] = {parse_duration: "duration", parse_size: "size", parse_count: "count"}
_PLAIN = (int, str, float, bool, type(None))


class InvalidSettings(Exception):
    """Raised if the benchmark's model rejects the value of a setting."""

    def __init__(self, found: list[SettingError]) -> None:
        super().__init__("; ".join(problem.message for problem in found))
        self.problems = found


class Settings:
    """Validates a benchmark's settings and returns canonical values: bytes, seconds and plain JSON."""

    def __init__(self, benchmark: Benchmark[Any]) -> None:
        self.benchmark = benchmark
        self.model: type[Params] = benchmark.params_model
        self.spellings = self.model.aliases()
        self.steps: dict[str, str] = dict(self.model.step_settings)
        """Maps each setting that is a list of steps to the setting whose values are in the list."""
        self._fields = self.model.model_fields
        self.kinds = {name: kind for name, info in self._fields.items() if (kind := _kind(info))}
        """Maps each setting to the kind of its values, which determines how ranges are parsed. Settings whose kind is
        unknown are omitted."""
        decorators = self.model.__pydantic_decorators__
        self.separate = not (decorators.model_validators or decorators.field_validators)
        """Whether the model validates each setting separately, so that the validity of one setting does not depend on
        another."""
        self._adapters: dict[str, TypeAdapter[Any]] = {}

    @property
    def names(self) -> list[str]:
        """The main names, in model order."""
        return list(self._fields)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The default of each setting that has one, as a canonical value."""
        found: dict[str, Any] = {}
        for name, info in self._fields.items():
            if not info.is_required():
                found[name] = self.read(name, info.get_default(call_default_factory=True, validated_data={}))
        return found

    def read(self, name: str, raw: Any, *, from_plan: bool = False) -> Any:
        """Return the canonical value of one setting. Raises InvalidSettings if the model rejects it.

        `from_plan` marks a value from a plan, in which durations require a unit.
        """
        if from_plan:
            self._check_units(name, raw)
        try:
            value = getattr(self.model.model_validate({name: raw}), name)
        except ValidationError as error:
            mine = [item for item in error.errors() if item["loc"][:1] == (name,)]
            if mine:
                raise InvalidSettings(setting_errors(mine, self.names)) from None
            value = self._read_alone(name, raw)
        if from_plan and _truth_for_number(raw, value):
            raise InvalidSettings([SettingError(name, (), f"`{str(raw).lower()}` is not a number", "write a number")])
        return plain(value)

    def whole(self, values: Mapping[str, Any]) -> Params:
        """Return all canonical values as the benchmark's settings object. Raises InvalidSettings if the model rejects
        them."""
        try:
            return self.model.model_validate(values)
        except ValidationError as error:
            raise InvalidSettings(setting_errors(error.errors(), self.names)) from None

    def _read_alone(self, name: str, raw: Any) -> Any:
        """Validate a value against the type of its field. This is necessary if the model cannot be created from a
        single setting."""
        if name not in self._adapters:
            info = self._fields[name]
            annotated: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
            self._adapters[name] = TypeAdapter(annotated)
        try:
            return self._adapters[name].validate_python(raw)
        except ValidationError as error:
            located = [{**item, "loc": (name, *item["loc"])} for item in error.errors()]
            raise InvalidSettings(setting_errors(located, self.names)) from None

    def _check_units(self, name: str, raw: Any) -> None:
        if self.kinds.get(name) != "duration":
            return
        items = list(enumerate(raw)) if isinstance(raw, list) else [(None, raw)]
        for index, item in items:
            try:
                require_unit(item)
            except BadValueError as error:
                path = () if index is None else (index,)
                raise InvalidSettings([SettingError(name, path, error.message, error.hint)]) from None


class _HiddenSetting(Exception):
    """Raised if `check` reads a setting whose value is unknown because of an error."""


def contradictions(benchmark: Benchmark[Any], params: Params, hidden: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the contradictions between settings that `check` reports, until `check` reads one of the `hidden`
    settings."""
    if not hidden:
        yield from benchmark.check(params)
        return
    with suppress(_HiddenSetting):
        yield from benchmark.check(_guarded(params, hidden))


def _guarded(params: Params, hidden: Collection[str]) -> Params:
    """Return a copy of the settings that raises _HiddenSetting when a setting in `hidden` is read, or when all settings
    are read at once."""
    guarded = params.model_copy()
    guarded.__class__ = _guard(type(params), frozenset(hidden))
    return guarded


@lru_cache(maxsize=64)
def _guard(model: type[Params], hidden: frozenset[str]) -> type[Params]:
    unreadable = hidden | {"__dict__", "model_dump", "model_copy"}

    def read(self: Params, name: str) -> Any:
        if name in unreadable:
            raise _HiddenSetting
        return object.__getattribute__(self, name)

    return type(model.__name__, (model,), {"__getattribute__": read, "__module__": __name__})


def plain(value: Any) -> Any:
    """Return a value from a model as plain JSON."""
    return value if type(value) in _PLAIN else to_jsonable_python(value)


def copied(params: Params, varying: Mapping[str, Any]) -> Params | None:
    """Return a copy of `params` that contains the values in `varying`, which must be valid. Return None if the model
    would convert one of these values to another type."""
    if all(type(getattr(params, name)) in _PLAIN for name in varying):
        return params.model_copy(update=varying)
    return None


def plain_settings(params: Params) -> dict[str, Any]:
    """Return all settings in a model as plain JSON, in field order."""
    values = dict(params.__dict__)
    for name, value in values.items():
        if type(value) not in _PLAIN:
            values[name] = to_jsonable_python(value)
    return values


def _truth_for_number(raw: Any, value: Any) -> bool:
    """Return whether pydantic converted a bool to a number, which is never intended."""
    if isinstance(raw, list) and isinstance(value, list | tuple):
        return any(_truth_for_number(one, other) for one, other in zip(raw, value, strict=False))
    return isinstance(raw, bool) and isinstance(value, int | float) and not isinstance(value, bool)


def _kind(info: FieldInfo) -> Kind | None:
    """Return the kind of a field as determined by a validator at any depth in its annotation, or None if the kind is
    unknown."""
    found = [*info.metadata, *_annotations(info.annotation)]
    readers = {item.func for item in found if isinstance(item, BeforeValidator)}
    return next((kind for reader, kind in _READERS.items() if reader in readers), None)


def _annotations(annotation: Any) -> Iterator[Any]:
    """Yield all parts of an annotation, at any depth (`list[Duration] | None`)."""
    for part in get_args(annotation):
        yield part
        yield from _annotations(part)
