"""Texts of the codes E601 to E629: measurements that failed or were not made."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E601": CodeText(
        "program failed",
        "A program that measures ended with an exit status other than 0. The notes show the last lines it wrote, where "
        "the whole output lies, and the command to run it again by hand. The other points went on.",
    ),
    "E602": CodeText(
        "program killed by a signal",
        "The program was ended by a signal. SIGSEGV, SIGBUS, SIGILL and SIGABRT are crashes: of the program, or of a "
        "CPU that lacks an instruction. SIGKILL is usually the kernel running out of memory; `dmesg` tells.",
    ),
    "E603": CodeText(
        "time limit reached",
        "The point took longer than its `timeout` (default: twice what it may take by its own rules, at least 15m) and "
        "was ended with everything it had started. Raise `timeout` in the plan, shorten the measurement, or look at "
        "what the host was busy with.",
    ),
    "E604": CodeText(
        "kernel refused its arguments",
        "A kernel ended with status 2: it does not know an argument or its value. asct gave it the plan's settings, "
        "so a value is outside of what this kernel can do; its message says which.",
    ),
    "E605": CodeText(
        "kernel lacks something on the host",
        "A kernel ended with status 3: the host cannot give what was asked for (a CPU, a NUMA node, huge pages, memory,"
        " a privilege). Its message says what; change that on the host, or the setting that asks for it.",
    ),
    "E606": CodeText(
        "kernel failed its self-check",
        "A kernel found its own result wrong (status 4, or `ok: false` on its last line): memory read back differed, "
        "pages were not of the kind asked for, or the chain was not walked as laid out. The value is not recorded.",
    ),
    "E607": CodeText(
        "kernel output is cut off",
        "A kernel ended without its last line, so its output may be incomplete and is not used. Usual causes: it was "
        "killed from outside, or the disk of the host is full.",
    ),
    "E608": CodeText(
        "output not understood",
        "The program ended well but its output is not what this benchmark reads: another version, or a program of the "
        "same name. The raw output is kept; the message says what was expected.",
    ),
    "E609": CodeText(
        "program cannot be started",
        "The program is missing or may not be executed (status 126 or 127), for instance since the work folder lies on "
        "a file system mounted `noexec`. Give the host another `workdir`, or install the program.",
    ),
    "E610": CodeText(
        "connection lost",
        "The connection to a host broke while it measured. What it had measured is kept; asct tries to reach the host "
        "again for the points that follow. `retry: {max: 1, on: [host-lost]}` repeats the point itself.",
    ),
    "E611": CodeText(
        "needed job failed",
        "The job reads results of another job on the same host, which was not measured; so this one was skipped. Mend "
        "the other one first, or give the settings that it would have found.",
    ),
    "E612": CodeText(
        "needed result was not found",
        "The job reads a result that the other job did not give: for instance the size of a cache level on a machine "
        "whose latency curve shows no clear levels. Give the setting yourself (`data_size`).",
    ),
    "E613": CodeText(
        "preparation failed",
        "What a job does once before its first point (laying out the scratch file) failed, so none of its points was "
        "measured. The notes show the program's last lines and where its output lies.",
    ),
    "E614": CodeText(
        "settings do not hold on this host",
        "With what is known of the host, or after results of other jobs were filled in, the settings contradict one "
        "another, are out of range for this benchmark, or leave nothing to measure. The message says which.",
    ),
    "E615": CodeText(
        "benchmark broke its own contract",
        "A benchmark gave a metric it does not declare, or a value that is not a finite number. This is a bug of the "
        "benchmark: please report it with the folder of the point.",
    ),
    "E616": CodeText(
        "no value measured",
        "The programs ended well but gave no value. The raw output is kept.",
    ),
    "E617": CodeText(
        "noisy under strict",
        "The plan says `strict: true`, so a point whose values are flagged noisy or invalid counts as not measured. "
        "A value that is only a detail of others (a size on a latency curve whose levels were found) does not count. "
        "Quieten the host, raise `repeats`, or take `strict` out.",
    ),
    "E618": CodeText(
        "time limit of the run reached",
        "`--timeout` ended the run. What was measured is kept, `asct resume RUN` measures the rest.",
    ),
    "E619": CodeText(
        "stopped at the first failure",
        "`--fail-fast` was given and a measurement failed, so the rest was not measured. `asct resume RUN` goes on.",
    ),
    "E620": CodeText(
        "kernel cannot be had on a host",
        "A kernel that a job needs could be neither built on the host nor built here and pushed. The findings of the "
        "tool chain say why; the build log lies in build/<host>/ of the run.",
    ),
    "E622": CodeText(
        "goes on no longer",
        "A test of hours that was cut off goes on behind its last finished step, as long as its steps are those of "
        "before. Here they are not: another version of the program on the host, or of asct, or the notes of another "
        "measurement. What was measured is set aside (.try1 beside the repeat's folder), and the test begins again.",
    ),
    "E623": CodeText(
        "measured before under other conditions",
        "With `--reuse`: an earlier run measured the point in time, but something it depends on has changed since. The "
        "message names the facts of the host that differ; where they are the same, it is another build of a kernel, "
        "another version of a program, another drive below a target, or another result of a job that it needs. The "
        "point is measured.",
    ),
    "E624": CodeText(
        "earlier run is damaged",
        "With `--reuse`: an earlier run has the point, but not whole: its records, its journal and its status files "
        "disagree, or raw files are gone. Nothing is taken from there; `asct results verify` says what is wrong.",
    ),
    "E625": CodeText(
        "a host still has the session of before",
        "asct was ended, or lost the host, while the host had work: it went on with what it was given. What was\n"
        "finished there is taken, nothing of it is measured twice; what runs there is waited for first.",
    ),
}
