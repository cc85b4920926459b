"""Texts of the codes E201 to E262: settings, sweeps, needs, expectations, limits, consent, frozen plans."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

_SETTINGS: dict[str, CodeText] = {
    "E201": CodeText(
        "unknown benchmark",
        "No benchmark has this name or alias. `asct list` shows them all.",
    ),
    "E202": CodeText(
        "unknown setting",
        "The benchmark has no setting of this name, so it would be ignored, and asct ignores nothing. Settings under "
        "`defaults`, a group or a host reach the benchmarks that have them; at least one must. `asct list settings "
        "BENCHMARK` shows names and other spellings.",
    ),
    "E203": CodeText(
        "--set of something that is not in the plan",
        "`--set` changes a setting of a benchmark by its id or name (`--set fine-depth.iodepth=4`) or a "
        "variable (`--set vars.runtime=5s`). What stands before the dot is neither.",
    ),
    "E204": CodeText(
        "one setting under two spellings",
        "Settings have a main name and other spellings (`block_size`, `bs`). In one map only one of them may stand, "
        "or it would be left to chance which value counts.",
    ),
    "E205": CodeText(
        "groups disagree",
        "A host is in two groups that give it different values of one setting, and groups have no order. Give the "
        "setting for the host itself, which stands above groups, or in one group only.",
    ),
    "E206": CodeText(
        "unknown host",
        "`hosts` of a benchmark takes names of hosts, of groups, or patterns such as `node*`. This one means no host "
        "of the plan.",
    ),
    "E207": CodeText(
        "selection matches nothing",
        "What was selected on the command line (`--host`, `--benchmark`, `--tag`) is not in the plan, or no benchmark "
        "meets all of it. Nothing would be measured, so this is an error and not a success.",
    ),
    "E208": CodeText(
        "value of a setting",
        "The value does not fit the setting's type or bounds. Durations need a unit (`30s`), sizes may have one "
        "(`4K` = 4096, `4kB` = 4000). `asct list settings BENCHMARK` shows what each setting takes.",
    ),
    "E209": CodeText(
        "settings that contradict one another",
        "Each value is fine by itself, but the benchmark cannot measure this combination. In a sweep, take the "
        "combination out with `exclude` or `where`.",
    ),
}

_SWEEPS: dict[str, CodeText] = {
    "E210": CodeText(
        "unknown axis",
        "A sweep's axes are settings of the benchmark. Lists of steps (`iodepth_sweep_steps`) are axes already: sweep "
        "the setting they list (`iodepth`), or give the list under `config`.",
    ),
    "E211": CodeText(
        "swept twice",
        "A setting can be one axis only: of the sweep, of one of its zips, or of a list of steps. A single value and a "
        "list of steps for the same setting contradict each other when the same layer gives both.",
    ),
    "E213": CodeText(
        "zip of unequal lists",
        "The lists of a zip move together, value by value, so they have equal length: `zip: [{numjobs: [1, 4], "
        "iodepth_batch: [1, 8]}]` has two pairs.",
    ),
    "E214": CodeText(
        "duplicate point",
        "A point would be measured twice under one name: a value stands twice on an axis (`4K` and `4096` are the "
        "same), or `include` adds a point that the sweep has already. Use `repeats` to measure points more often.",
    ),
    "E215": CodeText(
        "exclude that matches nothing",
        "An item of `exclude` takes out the points whose values equal all of its values, compared in the setting's own "
        "type. This one takes out nothing, which is mostly a slip. Its settings must be swept, its values on an axis.",
    ),
    "E216": CodeText(
        "include that is no single point",
        "An item of `include` is one more point: its own settings, and what it leaves out as it would be without the "
        "sweep. It is never merged with other points. A list of steps stands for several points and cannot be one.",
    ),
    "E217": CodeText(
        "too many points",
        "The sweep, or the plan on all of its hosts, has more points than `limits.points` (5,000 unless given). Sweep "
        "less, or raise the limit: `limits: {points: 20000}`. Points are counted before any is made.",
    ),
    "E218": CodeText(
        "sweep without points",
        "`where` and `exclude` together take out every combination, so there is nothing to measure.",
    ),
    "E219": CodeText(
        "swept value that waits for results",
        "A swept setting decides how many points there are, and that must be known before anything runs. Results of "
        "`needs` can be read under `config`.",
    ),
}

_NEEDS: dict[str, CodeText] = {
    "E220": CodeText(
        "unknown id under needs",
        "`needs: {cache: latency-sweep}` names an id of this plan. A benchmark's own dependencies are added by "
        "themselves; one that is named must be there.",
    ),
    "E221": CodeText(
        "needed job runs elsewhere",
        "Results pass from job to job on one host. The needed benchmark does not run on this host: let it, or keep "
        "this one off the host.",
    ),
    "E222": CodeText(
        "needs the wrong benchmark",
        "The benchmark itself reads results under this alias, and the entry named does not measure them.",
    ),
    "E223": CodeText(
        "needs in a circle",
        "Each of these jobs waits for the next, and the last for the first. Take one `needs` out.",
    ),
    "E224": CodeText(
        "unknown result",
        "A template reads a result that the needed benchmark does not give. `asct explain BENCHMARK` lists them.",
    ),
    "E225": CodeText(
        "result of several points",
        "Results are read from the one point of a job. The needed job sweeps, so it has several. Name an entry without "
        "a sweep.",
    ),
    "E226": CodeText(
        "needed result was not found",
        "A setting is worked out from a result of another job, which could not give it: a latency curve without clear "
        "levels has no level to read. Set the setting to a value of its own (`data_size: 512MiB`); that also takes the "
        "dependency away.",
    ),
}

_EXPECTATIONS: dict[str, CodeText] = {
    "E230": CodeText(
        "expectation about an unknown id",
        "`metric` is `<id>.<metric>` with an id of the plan, or a pattern: `matrix.*`, `*.iops`, `*`.",
    ),
    "E231": CodeText(
        "unknown metric",
        "The benchmark does not report this metric. `asct list metrics BENCHMARK` shows those it does.",
    ),
    "E232": CodeText(
        "metric that cannot be judged",
        "This value is information (a size that was used, say) and not a result to be good or bad.",
    ),
    "E233": CodeText(
        "one bound for several units",
        "The pattern takes in metrics of different units, so one `min` or `max` cannot fit. Write an expectation each.",
    ),
    "E234": CodeText(
        "bound of an expectation",
        "`min` and `max` are quantities in a unit of the metric (`130 ns`, `550k`, `12.5 GB/s`), or percentages with "
        "`of`; `no_worse_than` is a percentage.",
    ),
    "E235": CodeText(
        "unknown place under at",
        "The keys of `at` are swept settings of the benchmark or coordinates of the metric (`level`, `traffic`). A "
        "setting that is the same in every point selects nothing: leave it out.",
    ),
    "E236": CodeText(
        "at that matches nothing",
        "No point has these values, or the coordinate never takes this value, so the expectation could never be "
        "judged. Values compare in the setting's own type: `4K` is 4096.",
    ),
    "E237": CodeText(
        "by of an unknown host",
        "The keys of `by` are hosts, groups or patterns of hosts on which the metric is measured.",
    ),
    "E238": CodeText(
        "of something unknown",
        "A share is taken of `theoretical_bandwidth`, which the facts of a host give, or the setting of that name.",
    ),
    "E239": CodeText(
        "comparison with a baseline",
        "`versus: baseline` and `no_worse_than` go together, and the plan says what the baseline is: `baseline: {run: "
        "PATH}`. A metric without a better direction cannot get worse.",
    ),
}

_COSTS: dict[str, CodeText] = {
    "E240": CodeText(
        "longer than limits.duration",
        "The estimate for a host (points x repeats and warm-ups, without building and preparing) is above "
        "`limits.duration`. Hosts run side by side, so the limit holds for each.",
    ),
    "E241": CodeText(
        "more written than safety.max_written",
        "The bytes that a host would write to one file or device, all repeats together, are above "
        "`safety.max_written`. Flash wears by what is written.",
    ),
    "E242": CodeText(
        "longer than its time limit",
        "What the benchmark says of a point (its estimate, or the most that its own rules allow, such as rounds until "
        "a state is steady) is above the `timeout` that the plan gives: it would be ended and count as not measured. A "
        "plan that gives none gets twice what the point may take, at least 15 minutes. A warning: it is an estimate.",
    ),
    "E250": CodeText(
        "consent that does not hold",
        "An item of `safety.destroys` names a host of the plan, a device by /dev/disk/by-id and its serial, all in "
        "literal values. A loop device has neither: /dev/loopN, and the path of its backing file as serial. Consent "
        "never comes from a template, a group or a pattern. `asct doctor` lists the devices of a host as they are "
        "named here.",
    ),
    "E251": CodeText(
        "no consent to overwrite a device",
        "A job would write to a device that the plan does not name under `safety.destroys` for this host. What is on "
        "it would be lost. Exit code 4. Measure a file instead, or consent by host, device and serial, and name the "
        "device in `file_names` by the very path of the consent. `overwrite: true` in `config` stands for a regular "
        "file; that of a device stands in `safety.destroys`.",
    ),
    "E252": CodeText(
        "refused for safety",
        "The settings ask for something that asct does not do, whatever the plan consents to: the message says what, "
        "and what to do instead. No host was touched. Exit code 4.",
    ),
    "E253": CodeText(
        "consent that nothing needs",
        "`safety.destroys` names a device that no job writes to or purges on that host. It does no harm today, but the "
        "next job that is given this device would be let through. Take it out, or correct its host or device.",
    ),
    "E260": CodeText(
        "not a frozen plan",
        "The file is not one that `asct plan -o FILE` wrote, or it is cut off.",
    ),
    "E261": CodeText(
        "altered frozen plan",
        "The content of the frozen plan does not fit its checksum or its hash: it was changed after it was written. "
        "Change the plan and write it again.",
    ),
    "E262": CodeText(
        "frozen plan of a newer asct",
        "The file has a later version of the format than this asct reads. Use the newer one, or write it again.",
    ),
}

CODES: dict[str, CodeText] = {**_SETTINGS, **_SWEEPS, **_NEEDS, **_EXPECTATIONS, **_COSTS}
