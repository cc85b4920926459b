"""The rounds of a sequential stream cover the whole range, one after another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asct.instruments.qualification.rounds import StreamPosition, next_position

MIB = 2**20


def passed(span: int, block: int, per_round: int, rounds: int) -> list[tuple[int, int]]:
    """Return the offset and the volume of each round, on a drive that processes `per_round` bytes per round."""
    done: list[tuple[int, int]] = []
    for _ in range(rounds):
        walk = next_position(span, [volume for _, volume in done], block)
        done.append((walk.offset, min(per_round, walk.size) if walk.once else per_round))
    return done


def test_the_first_round_begins_at_the_first_byte() -> None:
    assert next_position(100 * MIB, [], MIB) == StreamPosition(0, 100 * MIB)


def test_a_round_goes_on_where_the_one_before_ended() -> None:
    assert next_position(100 * MIB, [10 * MIB, 12 * MIB], MIB) == StreamPosition(22 * MIB, 78 * MIB)


def test_a_round_that_comes_to_the_end_stops_there_and_the_next_begins_anew() -> None:
    assert next_position(100 * MIB, [40 * MIB, 40 * MIB], MIB) == StreamPosition(80 * MIB, 20 * MIB, once=True)
    assert next_position(100 * MIB, [40 * MIB, 40 * MIB, 20 * MIB], MIB) == StreamPosition(0, 100 * MIB)


def test_a_rest_that_is_not_worth_a_round_is_skipped() -> None:
    assert next_position(100 * MIB, [46 * MIB, 46 * MIB], MIB) == StreamPosition(0, 100 * MIB)


def test_a_span_that_is_passed_in_every_round_is_taken_whole() -> None:
    assert next_position(100 * MIB, [350 * MIB, 350 * MIB], MIB) == StreamPosition(0, 100 * MIB)


@given(st.integers(16, 300), st.integers(2, 40), st.sampled_from([4096, 65536, MIB]))
def test_the_span_is_passed_over_before_any_part_of_it_comes_again(mib: int, rate: int, block: int) -> None:
    span, per_round = mib * MIB, rate * MIB
    rounds = passed(span, block, per_round, 2 * mib // rate + 3)
    covered = 0
    for offset, volume in rounds:
        assert offset % block == 0
        assert offset + volume <= span or offset == 0
        if offset == 0 and covered:
            assert covered >= span - max(per_round // 4, block) - block
            covered = 0
        assert offset == covered // block * block
        covered = offset + volume
