"""Texts of the codes E420 to E449: what a host lacks for a job, found before the job runs."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E420": CodeText(
        "program missing on a host",
        "A benchmark runs a program (fio, mpstat) that the host does not have on its PATH. Its jobs on this host are "
        "skipped. Install the package named in the hint on that host; asct never installs anything itself.",
    ),
    "E421": CodeText(
        "program too old on a host",
        "The program is there but older than the benchmark can use: its options or its output differ. Install a newer "
        "version on that host, in front of the old one on the PATH.",
    ),
    "E422": CodeText(
        "not enough memory on a host",
        "A point needs more memory than the host has available (MemAvailable of /proc/meminfo), so it would swap or be "
        "killed. Lower the size (`data_size`, the largest size of a sweep) or free memory.",
    ),
    "E423": CodeText(
        "not enough scratch space on a host",
        "The temporary file of a job, plus a reserve, does not fit into the file system of the work folder. Lower "
        "`filesize`, or give the host another `workdir` in the plan.",
    ),
    "E424": CodeText(
        "named file missing on a host",
        "A point reads a file or device that the plan names and the host does not have. Correct `file_names`, or leave "
        "it out: asct then makes a temporary file of its own. asct never makes a file below /dev, so a device that is "
        "to be written has to be there as well; `asct doctor` lists those of a host.",
    ),
    "E425": CodeText(
        "folder of a named file missing",
        "A point would make a file that the plan names, in a folder that the host does not have. asct makes no folders "
        "outside its work folder: make it, or correct `file_names`.",
    ),
    "E426": CodeText(
        "facts of a host cannot be read",
        "The host answered but did not give what asct must know of it (CPUs, memory). Nothing is measured on it. "
        "The raw answers are in `facts/<host>/` of the run.",
    ),
    "E427": CodeText(
        "too few CPUs on a host",
        "The measurement needs several CPUs at once (one thread loads the memory while another measures, two threads "
        "pass a line) and fewer are online and within the affinity mask or cpuset of the account. Widen the mask, or "
        "leave the benchmark out on this host.",
    ),
    "E428": CodeText(
        "sudo is not granted on a host",
        "The plan says `sudo: true` for the host, a job wants a kernel to run as root, and `sudo -n` does not run it "
        "for the account: no entry in sudoers, one that wants a password or a terminal, or no sudo at all. asct never "
        "asks for a password. A job that writes a device does not run; one that would only get huge pages is measured "
        "without. The message has the line of sudoers that grants this one file, by its SHA-256; a kernel built anew "
        "needs a new line. Whoever may run `guard` as root may run anything: give that to an account for "
        "measurements only.",
    ),
    "E430": CodeText(
        "existing file would be overwritten",
        "A point writes to a file that exists and was not made by this run. asct writes to it only if `overwrite: true`"
        " stands beside it in the benchmark's `config`. Without a named file, asct makes and removes its own.",
    ),
    "E431": CodeText(
        "target is not what may be written",
        "A point would write to something that is not a regular file (a folder, a pipe), or to a block device that the "
        "plan does not give up: `safety.destroys` names host, /dev/disk/by-id device and serial, and `file_names` the "
        "device by the very same path. A link that leads to a device is no consent. Reading a device is allowed.",
    ),
    "E432": CodeText(
        "something disturbs measurement on a host",
        "When the run began, something on the host was such that results are worse, or spread wider, than the machine "
        "can do: other work on the CPUs, a governor that holds the clock down, a limit, a setting of the kernel. Only "
        "what touches the benchmarks of the plan is named, and only what is more than possible. Nothing is refused. "
        "`asct doctor PLAN` says what each does to which results and how sure that is, with the commands that change "
        "it and change it back; `--fix-script` makes a script of them. What was found stands in "
        "`disturbances/<host>.json` of the run, and in its report beside the results.",
    ),
    "E440": CodeText(
        "not the device that the plan names",
        "The host was asked right before writing, and what the path means is not what `safety.destroys` gives up. "
        "Checks: `identity` (the path leads to one device that keeps its name: /dev/disk/by-id, or /dev/loopN), "
        "`kind` (a block device), `serial` (literally the one of the plan; of a loop device the path of its backing "
        "file), `size` (it is not empty). Nothing was written. Exit code 4. `asct doctor` lists the devices of a "
        "host.",
    ),
    "E441": CodeText(
        "device that cannot be a target",
        "Checks: `read-only` (its write protection is off), `removable` (a drive that is built in), `namespaces` "
        "(before a purge: it has no other namespaces, which the purge would wipe too). Nothing was written. Exit "
        "code 4.",
    ),
    "E442": CodeText(
        "device in use",
        "Checks: `mounted` (neither it, its partitions, nor what is built on them carries a mounted file system), "
        "`system` (it carries neither /, /boot, /usr, asct nor the work folder), `swap`, `holders` (LVM, dm, md, a "
        "loop device over a file on it), `raid`, `open-elsewhere` (no other program has it open), `exclusive` (it "
        "and each partition opens O_EXCL; the handles are held until the program ends), `multipath` (its content has "
        "no second name: another path, another loop device over its file, a block device below a loop device), "
        "`reserved`. "
        "Nothing was written. Exit code 4. `overwrite: true` does not help against these: release the device, or take "
        "another.",
    ),
    "E443": CodeText(
        "device that holds something",
        "Checks: `signature` (no file system, partition table, RAID or LVM member, LUKS or other known content, also "
        "of what is not in use now), `data` (both of its ends and places between them are zero, unless this run "
        "wrote there). If it may go, say so: `overwrite: true` beside the device in `safety.destroys`. Nothing was "
        "written. Exit code 4.",
    ),
    "E444": CodeText(
        "check that could not read",
        "A check of a device to be written could not see what it must see, mostly for lack of rights. What is not "
        "known counts as unsafe. Run as root on that host, or give the account the rights. Exit code 4.",
    ),
    "E445": CodeText(
        "devices could not be checked",
        "The program that checks devices on the host failed, or did not say all that it must. No check, no writing. "
        "Exit code 4. What it wrote is kept beside `audit.json` of the job.",
    ),
    "E446": CodeText(
        "limit of written bytes reached",
        "The drives of a target took as many bytes in this run as `safety.max_written` allows, by their own counters "
        "(which count what others write as well; the targets of one program count together). The program was stopped, "
        "and nothing more is written to the target, also when the run is resumed. Exit code 4. Write less, or raise "
        "the limit and apply the plan anew.",
    ),
}
