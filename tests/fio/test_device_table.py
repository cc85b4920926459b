"""The tables of the drives that a point uses, and of its sections and targets."""

from __future__ import annotations

from asct.instruments.fio.devices import device_table, device_values
from asct.instruments.fio.rows import gather
from asct.instruments.fio.tables import part_table
from asct.instruments.guard_output import GuardOutput, GuardTarget
from asct.sdk.record import Measurement, Record, Scalar
from tests import records

DRIVE: dict[str, Scalar] = {"path": "/dev/nvme0n1", "model": "ACME X1", "serial": "S1", "firmware": "2B"}


def record(metric: str, value: float, repeat: int = 1, **coords: Scalar) -> Record:
    return records.record(value, metric=metric, repeat=repeat, point={"iodepth": 4}, coords=coords)


def test_a_drive_is_named_once_with_its_state_at_both_ends() -> None:
    path = str(DRIVE["path"])
    records = [
        one
        for repeat, heat in ((1, 30.0), (2, 41.5))
        for one in (
            record("device_size", 2**30, repeat, **DRIVE, numa_node=-1),
            record("device_temperature", heat, repeat, path=path, when="before"),
            record("device_temperature", heat + 5.0, repeat, path=path, when="after"),
            record("device_media_errors", 0.0, repeat, path=path, when="before"),
            record("device_media_errors", 0.0, repeat, path=path, when="after"),
        )
    ]
    [table] = device_table(records, "slug")
    [row] = table.rows
    assert {name: row[name] for name in DRIVE} == DRIVE
    assert (row["device_size"], row["numa_node"], row["link"]) == (2**30, None, None)
    assert (row["device_temperature"], row["device_media_errors"]) == ("30 -> 46.5", "0")
    assert row["device_percentage_used"] is None
    assert any("before the first point" in note for note in table.notes)


def test_a_drive_that_changed_between_points_has_two_rows() -> None:
    records = [
        record("device_size", 2**30, repeat, **DRIVE, write_cache=state)
        for repeat, state in enumerate(("write back", "write through", "write through"), start=1)
    ]
    [table] = device_table(records, "slug")
    assert [row["write_cache"] for row in table.rows] == ["write back", "write through"]
    assert len(table.notes) == 1


def test_a_drive_that_was_only_sampled_for_data_is_named() -> None:
    """Only the first point that writes to a drive checks its content."""
    path = str(DRIVE["path"])
    found = [record("device_size", 2**30, **DRIVE), record("device_sampled", 2**22, path=path)]
    guard = GuardOutput(
        (GuardTarget(path, {"bytes": 2**30}),), (), (), (), None, "", 0, 0, sampled={path: 2**22}
    )  # fmt: skip
    assert [one for one in device_values(guard) if one.metric == "device_sampled"] == [
        Measurement("device_sampled", 2.0**22, {"path": path}, detail=True)
    ]
    [table] = device_table([*found, record("device_size", 2**30, repeat=2, **DRIVE)], "slug")
    [note] = [note for note in table.notes if note.startswith(path)]
    assert "read only 4M of it" in note
    assert not any(note.startswith(path) for note in device_table(found[:1], "slug")[0].notes)


def test_no_target_gives_no_table() -> None:
    assert device_table([record("iops", 1.0)], "slug") == ()


def test_sections_and_targets_have_their_own_rows() -> None:
    records = [
        record("section_iops", 100.0, 1, section="a", direction="read"),
        record("section_iops", 300.0, 2, section="a", direction="read"),
        record("section_clat_p99", 2e-3, 1, section="a", direction="read"),
        record("section_bandwidth", 7e6, 1, section="b", direction="write"),
        record("target_bandwidth", 5e6, 1, path="/dev/sdb", direction="read"),
    ]
    [table] = part_table(gather(records), ["iodepth"], "slug")
    found = {(row["part"], row["direction"]): row for row in table.rows}
    assert set(found) == {("a", "read"), ("b", "write"), ("/dev/sdb", "read")}
    assert (found["a", "read"]["iops"], found["a", "read"]["clat_p99"]) == (200.0, 2e-3)
    assert found["b", "write"]["iops"] is None
    assert found["/dev/sdb", "read"]["bandwidth"] == 5e6
    assert {row["point"] for row in table.rows} == {"iodepth 4"}
    assert part_table(gather([record("iops", 1.0)]), ["iodepth"], "slug") == ()
