"""Convert the arguments of `asct run` (names, aliases, keywords, settings) to a plan as text, which is then processed
like a plan file. Errors point to the arguments (see `places`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asct.cli.places import OPTION, WrittenSettings, option_node
from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.model import REJECTED
from asct.store.files import reason_of
from asct.values.cpulist import parse_integers
from asct.values.error import clip
from asct.values.suggest import ALIKE, did_you_mean, nearest

if TYPE_CHECKING:
    from asct.plan.model import Node
    from asct.registry import Registry
    from asct.sdk.benchmark import Benchmark

_FORM = "write BENCHMARK.SETTING=VALUE, e.g. `sids.duration=2s`"
_MAP = 'write a map of benchmarks to their settings, e.g. {"storage-io-depth-sweep": {"duration": "2s"}}'
_YES, _NO = ("1", "true", "yes"), ("0", "false", "no")


def user_settings(
    items: Sequence[str], catalog: Registry, findings: Findings, selected: Collection[str] = ()
) -> dict[str, dict[str, Node]]:
    """Parse strings such as `bench.setting=value`, and return the settings, keyed by benchmark. A setting without `=`
    gets the value `true`.

    Report strings that contain no dot or name an unknown benchmark; the planner reports unknown settings. If a string
    names a setting without its benchmark, the hint suggests a benchmark in `selected` if one has that setting.
    """
    found: dict[str, dict[str, Node]] = {}
    for number, item in enumerate(items):
        path, has_value, text = item.partition("=")
        owner, _, name = path.partition(".")
        span = Span(OPTION, number + 1, 1, max(1, len(owner)))
        if not name and (meant := _having(owner, catalog, selected)):
            hint = f"write `{meant}.{clip(item)}`"
            findings.error("E910", f"`{clip(owner)}` is a setting; the name of its benchmark is missing", span, hint)
            continue
        benchmark = _owner(owner, span, catalog, findings, _FORM)
        if benchmark is not None and name:
            value = convert(benchmark, name, text) if has_value else True
            found.setdefault(benchmark.name, {})[name] = option_node(item, number, value)
        elif benchmark is not None:
            findings.error("E910", f"`{owner}` does not name a setting", span, _FORM)
    return found


def _having(setting: str, catalog: Registry, selected: Collection[str]) -> str | None:
    """Return a benchmark that has this setting, preferably a selected one, or None if no benchmark has it."""
    infos = sorted(catalog.infos, key=lambda info: info.name not in selected)
    return next((info.name for info in infos if info.setting(setting) and not catalog.get(setting)), None)


def _owner(name: str, span: Span, catalog: Registry, findings: Findings, form: str) -> Benchmark[Any] | None:
    """Return the benchmark with this name or alias. If there is none, report an error, whose hint is a similar name or
    `form`, and return the benchmark that was probably meant, or None."""
    if found := catalog.get(name):
        return found
    known = [name for one in catalog.infos for name in (one.name, *one.aliases)]
    findings.error("E910", f"`{name}` is not a benchmark", span, did_you_mean(name, known, form))
    return catalog.get(nearest(name, known, ALIKE) or "")


def convert(benchmark: Benchmark[Any], name: str, text: str) -> Any:
    """Convert a command-line value to a value in the plan language, based on the type of the setting.

    Lists are comma-separated, and integers may be ranges (`1,2,5-9:2`). As in ASCT, a bare number is accepted as a
    duration in seconds, and 1/0/yes/no as true/false.
    """
    schema = _schema(benchmark, name)
    if schema.get("type") == "array":
        return _items(schema.get("items", {}), text)
    return _scalar(schema, text)


def _schema(benchmark: Benchmark[Any], name: str) -> dict[str, Any]:
    """Return the JSON schema of a setting. If the name is misspelled, this is the setting for which the planner checks
    the value, so that a correct value causes no second error."""
    whole = benchmark.params_model.model_json_schema()
    spellings = benchmark.params_model.aliases()
    likely = name if name in spellings else nearest(name, spellings, ALIKE)
    schema: dict[str, Any] = whole.get("properties", {}).get(spellings.get(likely or ""), {})
    options = [item for item in schema.get("anyOf", []) if item.get("type") != "null"]
    merged = {**options[0], **{k: v for k, v in schema.items() if k == "unit"}} if options else schema
    reference = merged.get("$ref", "")
    return whole.get("$defs", {}).get(reference.rpartition("/")[2], merged) if reference else merged


def _items(schema: dict[str, Any], text: str) -> list[Any]:
    if schema.get("type") == "integer" and schema.get("unit") is None and "-" in text.strip("-"):
        with suppress(ValueError):  # invalid text is kept, because the planner reports it with its location
            return parse_integers(text)
    inner = text.strip().removeprefix("[").removesuffix("]")
    return [_scalar(schema, part.strip()) for part in inner.split(",") if part.strip()]


def _scalar(schema: dict[str, Any], text: str) -> Any:
    kind, unit = schema.get("type"), schema.get("unit")
    if kind == "boolean" and text.lower() in (*_YES, *_NO):
        return text.lower() in _YES
    number = _number(text)
    if number is None:
        return text
    if unit == "s":
        return f"{text}s"
    return text if kind == "string" else number


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return None


Settings = dict[str, dict[str, Any]]
"""The settings of each benchmark, in plan notation."""


def plain(settings: WrittenSettings) -> Settings:
    """Return the settings without their locations."""
    return {name: {key: node.plain() for key, node in values.items()} for name, values in settings.items()}


def require_selected(chosen: Collection[str], settings: WrittenSettings, source: str, findings: Findings) -> None:
    """Report each benchmark that has settings but is not selected (E910). The settings would have no effect, because
    such a benchmark does not run or, if another benchmark needs it, runs with its defaults. `source` is the option or
    the file that contains the settings."""
    for name, values in settings.items():
        if name not in chosen and values and not findings.hides("benchmarks"):
            names = ", ".join(f"`{setting}`" for setting in values)
            message = f"{source} sets {names} for {name}, which is not selected"
            hint = f"add `{name}` to the selection, or remove the setting"
            findings.error("E910", message, next(iter(values.values())).location, hint)


def changed(settings: WrittenSettings, catalog: Registry) -> WrittenSettings:
    """Return the settings whose values differ from the defaults. The filter is needed because `asct config save` also
    writes the defaults."""
    return {name: _changed(catalog.get(name), values) for name, values in settings.items()}


def _changed(benchmark: Benchmark[Any] | None, values: Mapping[str, Node]) -> dict[str, Node]:
    return {
        key: node for key, node in values.items() if benchmark is None or not _is_default(benchmark, key, node.plain())
    }


def _is_default(benchmark: Benchmark[Any], key: str, value: Any) -> bool:
    from pydantic import ValidationError

    model = benchmark.params_model
    name = model.aliases().get(key, key)
    try:
        return bool(getattr(model.model_validate({name: value}), name) == getattr(model(), name))
    except (ValidationError, AttributeError):
        return False


def consents(
    texts: Iterable[str], settings: Settings, hosts: Mapping[str, str], findings: Findings
) -> list[dict[str, str]]:
    """Return the `safety: destroys:` entries for strings such as `local:/dev/disk/by-id/nvme-X:S6XZ`.

    `hosts` maps alternative host names, such as the address given to `--host`, to the names in the plan.

    Device names and serial numbers may contain colons. Therefore, if a string contains a device from the settings, that
    device is used (the longest one if several match); otherwise, the device ends at the last colon. A loop device
    (`/dev/loop0`) ends at the first colon, because its serial is a file path. Report strings with missing parts (E910).
    """
    devices = sorted({path for values in settings.values() for path in _texts(values)}, key=len, reverse=True)
    found = []
    for text in texts:
        host, slash, rest = text.partition(":/")
        path = slash[1:] + rest
        known = next((device for device in devices if path.startswith(f"{device}:")), None)
        cut = len(known) if known else path.find(":") if path.startswith("/dev/loop") else path.rfind(":")
        device, serial = path[: max(cut, 0)], path[cut + 1 :]
        if host and device and serial:
            found.append({"host": hosts.get(host, host), "device": device, "serial": serial})
        else:
            hint = "write HOST:DEVICE:SERIAL, e.g. `local:/dev/disk/by-id/nvme-ACME_X1:S6XZNX0R123456`"
            message = f"`--destroys {text}` does not have the form HOST:DEVICE:SERIAL"
            findings.error("E910", message, None, hint)
            findings.gaps.add(("safety", "destroys"))
    return found


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield each text value in the settings, followed by its comma-separated parts."""
    for value in values.values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                yield from (item, *item.split(","))


def plan_text(
    chosen: Iterable[str],
    config: Mapping[str, Mapping[str, Any]],
    host: Mapping[str, Any] | None,
    destroys: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the plan as YAML. `host` is the `hosts:` section, or None for this machine; `destroys` contains the
    consents."""
    import yaml

    entries: list[Any] = [
        {"id": name, "uses": name, "config": dict(config[name])} if config.get(name) else name for name in chosen
    ]
    plan: dict[str, Any] = {"plan": 1, "name": "run"}
    if host:
        plan["hosts"] = dict(host)
    plan["benchmarks"] = entries
    if destroys:
        plan["safety"] = {"destroys": [dict(item) for item in destroys]}
    text: str = yaml.safe_dump(plan, sort_keys=False, allow_unicode=True, width=100)
    return text


def file_settings(
    name: str, catalog: Registry, texts: dict[str, str], findings: Findings
) -> dict[str, dict[str, Node]]:
    """Read settings from a JSON file in the format of ASCT's `config save`: {benchmark: {setting: value}}.

    Add the text of the file to `texts`. Report an error if the file cannot be read or contains unknown benchmarks.
    """
    from asct.plan.nodes import MAX_BYTES, decode, parse_yaml

    try:
        with Path(name).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        check = "check the path; `asct config save` writes a settings file"
        findings.error("E910", f"cannot read {name}: {reason_of(problem)}", None, check)
        return {}
    before = findings.errors
    text = decode(data, name, findings)
    root = parse_yaml(text, name, findings) if text is not None else None
    texts[name] = text or ""
    if root is None or not isinstance(root.value, dict):
        if findings.errors == before:
            findings.error("E910", f"{name} does not map benchmarks to settings", Span(name, 1, 1), _MAP)
        return {}
    values: dict[str, dict[str, Node]] = {}
    for owner, settings in root.value.items():
        benchmark = _owner(owner, settings.location, catalog, findings, _MAP)
        if settings.value is REJECTED:
            continue
        if not isinstance(settings.value, dict):
            findings.error("E910", f"the settings for `{owner}` must be a map", settings.span, _MAP)
        elif benchmark is not None:
            sound = {key: node for key, node in settings.value.items() if node.sound}
            values[benchmark.name] = {key: _from_json(benchmark, key, node) for key, node in sound.items()}
    return values


def _from_json(benchmark: Benchmark[Any], name: str, node: Node) -> Node:
    """Convert a value from a settings file. Durations without a unit are in seconds, as in ASCT's files."""
    number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
    return node._replace(value=f"{node.value}s") if number and _schema(benchmark, name).get("unit") == "s" else node
