"""Texts of the codes E501 to E519: the results tree."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E501": CodeText(
        "results folder cannot be made",
        "The folder for the results could not be made, so nothing was measured. Usual causes: no permission, a read-"
        "only file system, or a file that stands where a folder is needed. Choose another place with `--results DIR`.",
    ),
    "E502": CodeText(
        "results cannot be written",
        "Writing into the results tree failed for another reason than space (permission, a read-only or lost file "
        "system). What was written before stays readable; `asct resume RUN` measures what is missing.",
    ),
    "E503": CodeText(
        "disk full",
        "The file system (or quota, or file size limit) of the results tree has no room left. The run ends there and "
        "what was measured before stays readable. Free some space, then `asct resume RUN` measures what is missing.",
    ),
    "E504": CodeText(
        "run folder is locked",
        "Another asct process writes into this run's folder. Wait for it, or end it. The lock goes with its process: "
        "it never has to be removed by hand.",
    ),
    "E505": CodeText(
        "no such run",
        "No run answers to this name. A run is named by the path of its folder, `latest`, `<plan>/latest`, its id, the "
        "start of its id, or its label. `asct results list` shows them all.",
    ),
    "E506": CodeText(
        "ambiguous run",
        "Several runs answer to this name. Give the path or the whole id; the message lists the candidates.",
    ),
    "E507": CodeText(
        "not a document of asct",
        "The file is not what its place in a results tree says: it has no `schema`, or that of something else. It was "
        "not written by asct, or was replaced. asct does not guess at it.",
    ),
    "E508": CodeText(
        "damaged document",
        "The file is cut off, is not JSON, or does not hold what its schema asks for. asct does not guess at it. "
        "`asct results verify RUN` lists every damaged file of a run.",
    ),
    "E509": CodeText(
        "written by a newer asct",
        "The file has a newer schema version than this asct knows. Read it with the asct that wrote it.",
    ),
    "E510": CodeText(
        "path leaves the results tree",
        "A path read from a results tree is absolute, or leads out of the run's folder through `..` or a link. It is "
        "not followed: a results tree may come from anybody.",
    ),
    "E511": CodeText(
        "last line cut off",
        "The last line of journal.jsonl or records.jsonl is not whole: the writer was stopped while writing it (power, "
        "kill, full disk). The line is left out; `asct resume RUN` measures again what it belonged to.",
    ),
    "E512": CodeText(
        "raw file missing",
        "A record points to raw files that are not in the run's folder, so the value can no longer be traced back.",
    ),
    "E513": CodeText(
        "counts disagree",
        "run.json, the journal, the status files or the records of a run tell different numbers of measurements. Files "
        "were removed or added after the run, or the run was cut off. `asct resume RUN` completes a run cut off.",
    ),
    "E514": CodeText(
        "no `latest` link",
        "The file system of the results folder does not take symbolic links, so there is no `latest` beside the runs. "
        "`latest` still works as the name of a run: asct then looks for the newest one.",
    ),
    "E515": CodeText(
        "results file cannot be read",
        "The operating system refused to read a file of a results tree; the message says why.",
    ),
    "E516": CodeText(
        "run folder is not empty",
        "The folder given for the results of this run holds other files. Give a new or empty folder, or `--force`.",
    ),
}
