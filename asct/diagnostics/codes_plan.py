"""Texts of the codes E101 to E130: reading a plan and the values in it."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E101": CodeText(
        "file cannot be read",
        "A plan, an included file or an inventory is missing, is not a regular file, or may not be read. Paths inside "
        "a plan are relative to the file they stand in.",
    ),
    "E102": CodeText(
        "not a text file",
        "A plan is UTF-8 text without control characters (tab and line breaks aside). The place is that of the first "
        "byte or character that does not fit. Save the file as UTF-8; a byte order mark is accepted.",
    ),
    "E103": CodeText(
        "not valid YAML",
        "The text breaks the grammar of YAML, so nothing behind this place could be read. Usual causes: a template in "
        '`{...}` or `[...]` without quotes (write "${vars.name}"), a host range without quotes, a tab used to indent, '
        "a bracket or quote that is not closed, `: ` inside a text without quotes.",
    ),
    "E104": CodeText(
        "unknown key",
        "A key that the plan language does not have at this place. Nothing is ignored: a misspelt key would measure "
        "something else than what was meant. The hint names the nearest key; `asct schema plan` has all of them.",
    ),
    "E105": CodeText(
        "duplicate key",
        "The same key stands twice in one map. YAML forbids it, and which of the two was meant cannot be known. Both "
        "places are shown; keep one.",
    ),
    "E106": CodeText(
        "wrong type",
        "A value of another type than the key takes: a list where a map is needed, a text where a number is needed, "
        "nothing at all. YAML 1.2 rules hold: `yes`, `no`, `on` and `off` are texts, and a text that looks like a "
        "number (a serial number, a version) needs quotes.",
    ),
    "E107": CodeText(
        "something is missing",
        "A key that must be there is not. A plan needs `plan: 1`, `name` and `benchmarks`; an entry with an `id` needs "
        "`uses` or `extends`; an expectation needs `metric` and a bound; consent needs `host` and `device`.",
    ),
    "E108": CodeText(
        "a part of YAML that plans do not use",
        "Aliases (`*name`), tags (`!name`), merge keys (`<<`) and further documents (`---`) are refused: an alias can "
        "blow a small file up without bound, and a merge hides where a value comes from. Use `extends` to take over "
        "another benchmark, and `vars` for values used in several places. Quote a text that begins with `*` or `!`.",
    ),
    "E109": CodeText(
        "too large or too deep",
        "A file of more than 8 MiB, of more than 300,000 values, nested deeper than 100 levels, or more than 100 "
        "included files. Long lists of values are better written as ranges: `{from: 1, to: 1024, times: 2}`. The code "
        "also stands where more findings were met than are shown.",
    ),
    "E110": CodeText(
        "version of the plan language",
        "Every plan begins with `plan: 1`, the version of its language. A newer one is refused by name: it may say "
        "things that this asct would not understand.",
    ),
    "E111": CodeText(
        "name that cannot be used",
        "Names of plans, hosts, groups and benchmark entries become folders of the results: letters, digits and "
        ". _ @ + - only, beginning with a letter or digit, without `..`. Names that templates read (`vars`, aliases of "
        "`needs`) have letters, digits and `_` only. `all`, `defaults` and `from` are taken.",
    ),
    "E112": CodeText(
        "value that is not understood",
        "Sizes: `4K` and `4KiB` are 4096 bytes, `4kB` is 4000; a bare lower-case `4k` has two readings and is refused. "
        "Durations need a unit: `30s`, `15m`, `1h30m`, `250ms`. Counts and rates are decimal: `550k` is 550,000. Other "
        "keys take one of a few words, which the hint lists, or a number in a range.",
    ),
    "E113": CodeText(
        "given twice",
        "Two benchmark entries with one id, two hosts, groups, variables or profiles with one name, or two groups that "
        "disagree about a variable of a host. The second use of a benchmark needs an id of its own: "
        "`{id: matrix-2, uses: storage-fio}`.",
    ),
    "E114": CodeText(
        "no such name in the plan",
        "A host, group, pattern, profile, variable or benchmark entry that the plan does not have. Includes count; "
        "a pattern must match at least one host.",
    ),
    "E115": CodeText(
        "circle",
        "Files that include one another, benchmarks that extend one another, groups that contain one another, or "
        "variables that read one another. The message names the way round; cut it at one place.",
    ),
    "E116": CodeText(
        "path outside of the plan's folder",
        "`include` and `hosts: {from: FILE}` read files below the folder of the plan only, links followed, so that a "
        "plan from elsewhere cannot read other files of this machine.",
    ),
    "E117": CodeText(
        "inventory that cannot be read",
        "`hosts: {from: FILE}` takes the JSON of `ansible-inventory --list`: a map of groups with `hosts` and "
        "`children`, and `_meta.hostvars`. The place is in the inventory, or a variable is named that cannot be taken: "
        "give the key beside `from` then. A warning says which hosts or variables are not used.",
    ),
    "E118": CodeText(
        "host range",
        "`node[01:16]` makes node01 to node16 and keeps leading zeros; `node[0:16:2]` has a step; several ranges in "
        "one name combine. At most 10,000 hosts.",
    ),
    "E119": CodeText(
        "--set that changes nothing",
        "`--set PATH=VALUE` takes `vars.NAME`, `defaults.KEY`, `limits.KEY`, `report.KEY`, `baseline.run`, "
        "`hosts.NAME.KEY`, `strict`, `name`, `description`, and `ID.KEY` or `ID.SETTING` of a benchmark entry. A path "
        "that names nothing is an error. `safety` cannot be set: consent stands in the plan.",
    ),
    "E120": CodeText(
        "template or condition that cannot be read",
        "`${...}` and `where` know paths (`vars.x`, `host.vars.x`, `needs.alias.result`, `plan.name`), numbers, sizes, "
        "durations, quoted texts, + - * // %, comparisons, `min`, `max`, `floor`, `ceil`, `and`, `or`, `not`. There is "
        "no `/` (write `//`), no list and no other function. `$$` is a dollar sign.",
    ),
    "E121": CodeText(
        "name that is not defined",
        "A template or condition reads a name that is not there, or not there at this place: `host` has no meaning "
        "outside of hosts and benchmarks, results of `needs` are known only in `config`, and `${env.NAME}` reads only "
        "what `inputs: [NAME]` lists. In `where`, a text needs quotes: `rw == 'randread'`.",
    ),
    "E122": CodeText(
        "expression that cannot be computed",
        "Division by zero, a text where a number is needed, a duration added to a plain number, or a result beyond 64 "
        "bits. Sizes and durations count as numbers (`64K`, `30s`).",
    ),
    "E123": CodeText(
        "`where` that is no condition",
        "`where` is one text without `${...}` that is true or false for each point, as in "
        "`iodepth * numjobs <= vars.max_qd`.",
    ),
    "E124": CodeText(
        "axis of a sweep",
        "An axis is a list of values, `{from, to, step}` or `{from, to, times}`. `step` adds and `times` multiplies; "
        "both must lead towards `to`. At most 100,000 values.",
    ),
    "E125": CodeText(
        "template where only literal values count",
        "Consent to destroy a device counts only as it stands in the plan, for everyone to read: no templates, and no "
        "values from the environment, from a profile or from `--set`. Paths of included files are literal as well.",
    ),
    "E130": CodeText(
        "number with a leading zero",
        "YAML 1.2 reads `017` as 17, YAML 1.1 read it as 15 (octal). Write `17`, or `0o17` for octal, or quote it when "
        "a text is meant, such as a serial number.",
    ),
}
