"""Registers of the controller for debug and trace (por_dt_*), which the counters of the crosspoints overflow into.

Sources: CMN-600 TRM (100180) and CMN-700 TRM (102308), por_dt_*; Linux, drivers/perf/arm-cmn.c (CMN_DT_*,
CMN_S3_PMU_OFFSET).
"""

from __future__ import annotations

from asct.facts.cmn.layouts.base import RegisterLayout, bit, bits, read_only, read_write
from asct.facts.cmn.layouts.products import Product

_PAIRS = ("AB", "CD", "EF", "GH")


def controller(product: Product) -> tuple[RegisterLayout, ...]:
    """DTC; its counters are where the trace registers of devices begin."""
    base = product.trace_base(False, None) or 0
    return (*_TRACE, *_counters(base))


_TRACE = (
    read_write(
        "por_dt_dtc_ctl",
        0xA00,
        "debug and trace as a whole",
        bit("dt_en", 0, "enabled"),
        bit("dbgtrigger_en", 1, "a match raises DBGWATCHTRIG"),
        bit("atbtrigger_en", 2, "a match triggers on the trace bus"),
        bit("dt_wait_for_trigger", 3, "tracing waits for a cross trigger"),
        bits("cross_trigger_count", 9, 4, "how many it waits for"),
        bit("cg_disable", 10, "its clock is not gated"),
        reset=0,
    ),
    read_only(
        "por_dt_trigger_status",
        0xA10,
        "the last trigger",
        bit("trigger_status", 0, "there was one"),
        bits("trigger_nodeid", 18, 8, "node that caused it"),
        bits("trigger_wp", 23, 20, "watchpoint that caused it"),
        reset=0,
    ),
    read_write(
        "por_dt_trace_control",
        0xA30,
        "packets in the trace",
        bits("async_period", 4, 0, "from one alignment to the next, a power of two"),
        bits("timestamp_period", 7, 5, "from one time stamp to the next"),
        bit("cc_enable", 8, "cycles are counted"),
        reset=0,
    ),
    read_write("por_dt_traceid", 0xA48, "its trace", bits("traceid", 6, 0, "number on the trace bus"), reset=0),
)


def _counters(base: int) -> tuple[RegisterLayout, ...]:
    return (
        *(
            read_write(
                f"por_dt_pmevcnt{pair}",
                base + 0x10 * number,
                "counters of events",
                bits(f"pmevcnt{pair[0]}", 31, 0),
                bits(f"pmevcnt{pair[1]}", 63, 32),
                reset=0,
            )
            for number, pair in enumerate(_PAIRS)
        ),
        read_write("por_dt_pmccntr", base + 0x40, "counter of cycles", bits("pmccntr", 39, 0), reset=0),
        read_write(
            "por_dt_pmcr",
            base + 0x100,
            "the counters as a whole",
            bit("pmu_en", 0, "they count"),
            bits("cntcfg", 4, 1, "pairs that are one counter of 64 bits, one bit each"),
            bit("cntr_rst", 5, "a snapshot clears them"),
            bit("ovfl_intr_en", 6, "an overflow interrupts"),
            reset=0,
        ),
        read_only(
            "por_dt_pmovsr",
            base + 0x118,
            "counters that overflowed",
            bits("pmovsr", 8, 0, "one bit each, the last for the cycles"),
            reset=0,
        ),
        read_only(
            "por_dt_pmssr",
            base + 0x128,
            "snapshot",
            bits("ss_status", 8, 0, "counters that are done, one bit each"),
            bit("ss_cfg_active", 15, "under way, by a register"),
            bit("ss_pin_active", 16, "under way, by a signal"),
            reset=0,
        ),
    )
