"""E35x: jobs of Slurm."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E350": CodeText(
        "Slurm's commands are not here",
        "`transport: slurm` submits jobs with `sbatch` and looks at them with `squeue`, on the machine that asct runs\n"
        "on. Run it on a login node of the cluster, or install the client (Debian: slurm-client, with the cluster's\n"
        "slurm.conf and munge key).",
    ),
    "E351": CodeText(
        "Slurm does not take the job",
        "sbatch refused it; its own words stand in the message. Look at `partition`, `account`, `constraint`,\n"
        "`nodelist` and `options` of the host: `sinfo` shows partitions and nodes, `sacctmgr show assoc` accounts.",
    ),
    "E352": CodeText(
        "a job that would never start",
        "Slurm took the job, but says that what it asks for cannot be had, for example more time than the partition\n"
        "allows (PartitionTimeLimit). The job was cancelled. A time limit is made from the estimate of the\n"
        "benchmark; `options: [--time=MINUTES]` sets another one for all jobs of the host.",
    ),
    "E353": CodeText(
        "a job of Slurm ended",
        "The job that held the node is over: its time limit passed (TIMEOUT), the node failed (NODE_FAIL), or it was\n"
        "cancelled, by somebody (CANCELLED) or because the run ends. What was measured before is kept, and what the\n"
        "node still has is fetched when it is reached again: `asct resume` submits jobs for the rest.",
    ),
    "E354": CodeText(
        "Slurm does not answer",
        "squeue, sbatch or scancel could not reach slurmctld, for five minutes in the case of squeue. Jobs go on\n"
        "meanwhile; a job that asct does not come back to ends by itself. `scontrol ping` shows whether it is up.",
    ),
    "E355": CodeText(
        "a job waits in the queue",
        "The reason is Slurm's (Resources, Priority, ...). asct waits as long as it takes; Ctrl-C or `--timeout`\n"
        "gives the run up and cancels its jobs.",
    ),
}
