"""The plan language as a JSON Schema (draft 2020-12), for completion and checks in editors.

The schema accepts every plan that asct accepts; `asct check` also checks references, sweeps and units. For each
benchmark, an if/then on `uses` selects its settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from asct.plan.formats import report_formats
from asct.plan.sections import ORDERS, RETRY_ON
from asct.transports import Option, sources, transport

if TYPE_CHECKING:
    from asct.sdk.benchmark import Benchmark

_SCALAR: Final[Schema] = {"type": ["string", "number", "boolean"]}
_TEXT: Final[Schema] = {"type": "string", "minLength": 1}
_CONFIG: Final = "Settings for all benchmarks that have them"
_SWEEP_WORDS: Final = ("zip", "where", "exclude", "include")


def plan_schema(benchmarks: Sequence[Benchmark[Any]]) -> Schema:
    """Return the schema of plans, with the names and settings of `benchmarks`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "asct.plan.schema/1",
        "title": "asct plan",
        "description": "A plan: hosts, benchmarks, settings, sweeps and expectations",
        "type": "object",
        "required": ["plan"],
        "anyOf": [
            {"required": ["name", "benchmarks"]},
            {"required": ["name", "select"]},
            {"required": ["name", "include"]},
            {"required": ["extends"]},
        ],
        "additionalProperties": False,
        "properties": _sections(),
        "$defs": _definitions(benchmarks),
    }


def _object(properties: Schema, description: str, required: Sequence[str] = ()) -> Schema:
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return schema | {"description": description} | ({"required": list(required)} if required else {})


def _map_of(values: Schema, description: str) -> Schema:
    return {"type": "object", "additionalProperties": values, "description": description}


def _list_of(items: Schema, description: str) -> Schema:
    return {"type": "array", "items": items, "description": description}


def _texts(description: str, items: Schema = _TEXT) -> Schema:
    return {"anyOf": [items, {"type": "array", "items": items}], "description": description}


def _ref(name: str, description: str = "") -> Schema:
    return {"$ref": f"#/$defs/{name}"} | ({"description": description} if description else {})


def _or_template(schema: Schema, description: str) -> Schema:
    return {"anyOf": [schema, TEMPLATE], "description": description}


def _whole(low: int, description: str) -> Schema:
    return _or_template({"type": "integer", "minimum": low}, description)


def _choice(words: Sequence[str], description: str) -> Schema:
    return {"enum": list(words), "description": description}


def _flag(description: str) -> Schema:
    return _or_template({"type": "boolean"}, description)


def _sections() -> Schema:
    return {
        "plan": {"const": 1, "description": "Version of the plan language"},
        "name": _TEXT | {"description": "Name of the plan and of its results folder"},
        "description": _TEXT | {"description": "Purpose of the plan"},
        "vars": _ref("vars", "Named values for templates (${vars.name}); override one with --set vars.name=value"),
        "hosts": _ref("hosts"),
        "groups": _map_of(_ref("group"), "Groups of hosts: names, patterns, other groups"),
        "defaults": _object(
            _execution() | {"config": _ref("anyConfig", _CONFIG)}, "Defaults for every benchmark in the plan"
        ),
        "benchmarks": _list_of(
            {"anyOf": [_ref("benchmarkName"), _ref("entry")]}, "Benchmarks to run: names, or entries with settings"
        )
        | {"minItems": 1},
        "expect": _list_of(_ref("expectation"), "Bounds on metrics, which determine the exit code"),
        "baseline": _object(_baseline(), "The run to compare with", ["run"]),
        "safety": _ref("safety"),
        "profiles": _map_of(_ref("profile"), "Named sets of changes to the plan, selected with --profile NAME"),
        "limits": _ref("limits"),
        "report": _ref("report"),
        "extends": _TEXT | {"description": "A plan to inherit from: maps are merged, any other value is replaced"},
        "select": _texts("Names, aliases and keywords of benchmarks to run with their defaults; ^NAME excludes"),
        "include": _texts("Files to include: hosts, groups, vars, profiles, benchmarks, expect and safety.max_written"),
        "inputs": _texts("Environment variables that ${env.NAME} may read"),
        "strict": _flag("Treat noisy and invalid values as not measured"),
    }


def _baseline() -> Schema:
    return {
        "run": _TEXT | {"description": "A path, `latest` or a label"},
        "confirm": _flag("Whether values that seem to have regressed are measured again; default: true"),
    }


def _execution() -> Schema:
    return {
        "repeats": _whole(1, "Repeats of each point"),
        "warmup": _whole(0, "Warm-up repeats, whose values are discarded"),
        "timeout": _ref("duration", "Time limit of a repeat"),
        "retry": _object(
            {
                "max": _whole(0, "Maximum number of retries"),
                "on": _texts("Outcomes after which a repeat is retried", _choice(RETRY_ON, "")),
            },
            "Automatic retries",
        ),
        "order": _choice(ORDERS, "Order of the points and repeats"),
        "strict": _flag("Treat noisy and invalid values as not measured"),
    }


def _host() -> Schema:
    options = {key: _option(option) for name in sources() for key, option in transport(name).options.items()}
    properties: Schema = {
        "transport": _choice(tuple(sources()), "Transport to the host; `asct list transports` shows them"),
        "address": _TEXT | {"description": "Host name or address; default: the name of the host"},
        "port": _whole(1, "ssh port; default: 22"),
        "user": _TEXT | {"description": "Account on the host"},
        "identity_file": _TEXT | {"description": "Private key, relative to the plan"},
        "known_hosts": _TEXT | {"description": "File with known host keys, relative to the plan"},
        "jump": _TEXT | {"description": "Jump host"},
        "sudo": _flag("Whether asct may use sudo on the host"),
        "workdir": _TEXT | {"description": "Parent of the private work folders; default: /var/tmp/asct"},
        "labels": _map_of(_SCALAR, "Labels, which templates read as ${host.labels.name}"),
        "vars": _ref("vars", "Variables, which templates read as ${host.vars.name}"),
        "config": _ref("anyConfig", "Settings of benchmarks on this host"),
    }
    return _object(properties | options, "A host") | {"type": ["object", "null"]}


def _option(option: Option) -> Schema:
    """Return the schema of a key that exists only for hosts with a certain transport."""
    if option.kind == "texts":
        return _texts(option.description)
    if option.kind == "duration":
        return _ref("duration", option.description)
    return _SCALAR | {"description": option.description}


def _hosts() -> Schema:
    return {
        "type": "object",
        "description": "Hosts by name; `node[01:16]` defines sixteen hosts. Default: this machine, named `local`",
        "properties": {
            "defaults": _ref("host", "Defaults for every host"),
            "from": _TEXT | {"description": "An Ansible inventory (JSON of ansible-inventory --list)"},
        },
        "additionalProperties": _ref("host"),
    }


def _entry(benchmarks: Sequence[Benchmark[Any]]) -> Schema:
    properties = _execution() | {
        "id": _TEXT | {"description": "Name of the entry; default: the name of the benchmark"},
        "uses": _ref("benchmarkName", "Name or alias of the benchmark"),
        "extends": _TEXT | {"description": "Id of an entry to inherit from: maps are merged, lists are replaced"},
        "hosts": _texts("Hosts, groups and patterns; default: all hosts"),
        "tags": _texts("Tags for --tag"),
        "config": _ref("anyConfig", "Settings"),
        "sweep": _ref("sweep"),
        "needs": _map_of(_TEXT, "Results of other entries, by alias: ${needs.alias.result}"),
    }
    rules = [_rule(benchmark) for benchmark in benchmarks]
    return _object(properties, "A benchmark with its settings") | ({"allOf": rules} if rules else {})


def _rule(benchmark: Benchmark[Any]) -> Schema:
    """Return the rule for one benchmark, with its settings in `config` and as axes."""
    names = sorted(benchmark.params_model.aliases())
    then: Schema = {
        "config": _ref(f"settings.{benchmark.name}"),
        "sweep": {"type": "object", "propertyNames": {"enum": [*names, *_SWEEP_WORDS]}},
    }
    uses = {"properties": {"uses": {"enum": [benchmark.name, *benchmark.aliases]}}, "required": ["uses"]}
    return {"if": uses, "then": {"properties": then}}


def _definitions(benchmarks: Sequence[Benchmark[Any]]) -> Schema:
    names = [name for benchmark in benchmarks for name in (benchmark.name, *benchmark.aliases)]
    known = [{"const": item.name, "description": item.summary} for item in benchmarks]
    group = {
        "hosts": _texts("Members"),
        "config": _ref("anyConfig", "Settings for the hosts in the group"),
        "vars": _ref("vars"),
    }
    bound = {"type": ["string", "number"]}
    rated = bound | {
        "description": "Rated value, which reports show next to the measured value; it does not affect the verdict"
    }
    bounds = {
        "min": bound | {"description": "Smallest value that meets the expectation, such as 550k or 85%"},
        "max": bound | {"description": "Largest value that meets the expectation, such as 130 ns"},
        "no_worse_than": bound | {"description": "Largest accepted change for the worse, such as 5%"},
        "reference": rated,
    }
    return {
        "duration": {"anyOf": [{"type": "string", "pattern": DURATION}, TEMPLATE, {"const": 0}]},
        "size": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": SIZE}, TEMPLATE]},
        "vars": _map_of({}, "Named constants"),
        "anyConfig": {"type": "object"},
        "benchmarkName": {"anyOf": [*known, {"enum": names}]} if names else _TEXT,
        "host": _host(),
        "hosts": _hosts(),
        "group": {"anyOf": [_texts("Members"), _object(group, "Members, settings and variables", ["hosts"])]},
        "entry": _entry(benchmarks),
        "sweep": _sweep(),
        "axis": {"anyOf": [{"type": "array", "minItems": 1}, _ref("range"), TEMPLATE]},
        "range": _range(),
        "expectation": _expectation(bounds),
        "bound": _object(bounds, "Bounds for one host"),
        "safety": _safety(),
        "profile": _profile(bounds),
        "limits": _object(
            {
                "points": _whole(1, "Maximum number of points"),
                "duration": _ref("duration", "Maximum estimated duration of the run"),
            },
            "Limits of a run",
        ),
        "report": _object(
            {
                "title": _TEXT | {"description": "Title of the report"},
                "formats": _texts(
                    "Formats to write; `asct list formats` shows them", _choice(tuple(report_formats()), "")
                ),
            },
            "Title and formats of the report",
        ),
        **{f"settings.{item.name}": settings_schema(item) for item in benchmarks},
    }


def _range() -> Schema:
    properties = {
        "from": _SCALAR | {"description": "First value"},
        "to": _SCALAR | {"description": "Last value, if the steps reach it"},
        "step": _SCALAR | {"description": "Difference between neighboring values"},
        "times": _SCALAR | {"description": "Ratio of neighboring values"},
    }
    return _object(properties, "A range", ["from", "to"])


def _sweep() -> Schema:
    maps = {"anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]}
    return {
        "type": "object",
        "description": "Points of a sweep: the product of the axes and `zip`, filtered by `where`, "
        "without the points in `exclude`, plus those in `include`",
        "properties": {
            "zip": maps | {"description": "Axes of equal length that change together"},
            "where": {
                "type": ["string", "boolean"],
                "description": "Condition that points must meet, for example iodepth * numjobs <= 128",
            },
            "exclude": maps | {"description": "Points to remove"},
            "include": maps | {"description": "Complete points to add"},
        },
        "additionalProperties": _ref("axis"),
    }


def _expectation(bounds: Schema) -> Schema:
    properties = _changeable(bounds) | {
        "id": _TEXT | {"description": "Name by which profiles and --set change the bounds; default: the metric"},
        "metric": _TEXT | {"description": "ID.METRIC, or a pattern"},
        "at": _map_of(_SCALAR, "Swept settings and coordinates of the values to check"),
        "versus": {"const": "baseline", "description": "Compare with the run that `baseline` names"},
    }
    return _object(properties, "A bound on a metric", ["metric"])


def _changeable(bounds: Schema) -> Schema:
    return bounds | {
        "of": _TEXT | {"description": "Reference value if min and max are percentages"},
        "severity": _choice(("fail", "warn", "info"), "Severity if the expectation fails"),
        "if_missing": _choice(("fail", "warn", "pass"), "Verdict if nothing was measured"),
        "by": _map_of(_ref("bound"), "Bounds for individual hosts"),
    }


def _safety() -> Schema:
    consent = {
        "host": _TEXT | {"description": "Name of the host"},
        "device": {"type": "string", "pattern": "^/dev/", "description": "Path of the device on the host"},
        "serial": _TEXT | {"description": "Serial number of the device; `asct doctor` shows it"},
        "overwrite": {"type": "boolean", "description": "Overwrite the device even if it contains data"},
        "reason": _TEXT | {"description": "Why the device may be overwritten; reports show it"},
    }
    item = _object(
        consent, "Consent to overwrite one device on one host; templates are not allowed", ["host", "device"]
    )
    return _object(
        {
            "destroys": _list_of(item, "Devices that the run may overwrite"),
            "max_written": _ref("size", "Maximum number of bytes that the run may write, such as 2TiB"),
        },
        "Consent to overwrite devices, and a limit on the number of bytes written",
    )


def _profile(bounds: Schema) -> Schema:
    properties = {
        "vars": _ref("vars"),
        "defaults": _object(_execution() | {"config": _ref("anyConfig", _CONFIG)}, "Changes to `defaults`"),
        "limits": _ref("limits"),
        "report": _ref("report"),
        "strict": _flag("Changes `strict`"),
        "benchmarks": _map_of({"type": "object"}, "Changes to benchmarks, by id"),
        "expect": _map_of(_object(_changeable(bounds), "Changed bounds"), "Changes to expectations, by id or metric"),
    }
    return _object(properties, "Changes to the plan")


Schema = dict[str, Any]

SIZE: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*(B|kB|kiB|[KMGTP](i?B|i)?)?\s*$"
DURATION: Final = r"^(\s*[0-9]+(\.[0-9]+)?\s*(d|h|m|min|s|ms|us|µs|ns))+\s*$"
COUNT: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*[kKMGT]?\s*$"
TEMPLATE: Final[Schema] = {"type": "string", "pattern": r"\$\{"}


def settings_schema(benchmark: Benchmark[Any]) -> Schema:
    """Return the schema of a benchmark's settings as a plan may contain them, in all their spellings."""
    model = benchmark.params_model
    schema = benchmark.settings_schema()
    own: Schema = schema.get("properties", {})
    free = {name for name, info in model.model_fields.items() if _reads_more(info)}
    written = {name: _setting(own[name], schema.get("$defs", {}), name in free) for name in own}
    properties = {spelling: written[name] for spelling, name in model.aliases().items() if name in written}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "description": benchmark.title,
    }


def _reads_more(info: Any) -> bool:
    """Return whether a field accepts more values than its type does, because it has a custom validator."""
    readers = [item for item in info.metadata if type(item).__name__ == "BeforeValidator"]
    return any(getattr(item.func, "__module__", "").split(".")[:2] != ["asct", "values"] for item in readers)


def _setting(schema: Schema, definitions: Schema, free: bool) -> Schema:
    described: Schema = {key: schema[key] for key in ("description", "default") if key in schema}
    if free:
        return described
    return {"anyOf": [_written(schema, definitions), TEMPLATE], **described}


def _written(schema: Schema, definitions: Schema) -> Schema:
    """Return the schema of a canonical value, extended by the notations that plans allow: units, suffixes and
    templates."""
    if "$ref" in schema:
        return _written(definitions.get(str(schema["$ref"]).rpartition("/")[2], {}), definitions)
    if "anyOf" in schema:
        return {"anyOf": [_written(item, definitions) for item in schema["anyOf"]]}
    unit, kind = schema.get("unit"), schema.get("type")
    if unit in ("B", "s"):
        return {"$ref": f"#/$defs/{'size' if unit == 'B' else 'duration'}"}
    if kind == "array":
        items = _written(schema.get("items", {}), definitions)
        return {"type": "array", "items": {"anyOf": [items, TEMPLATE]}}
    if kind in ("integer", "number"):
        return {"anyOf": [_plain(schema), {"type": "string", "pattern": COUNT}]}
    return _plain(schema)


def _plain(schema: Schema) -> Schema:
    kept = ("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern")
    return {key: schema[key] for key in kept if key in schema}
