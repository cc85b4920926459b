from __future__ import annotations

import pytest
from pydantic import ValidationError

from asct.sdk.params import Params, setting
from asct.sdk.setting_errors import setting_errors


class Few(Params):
    depth: int = setting(1, "queue depth", ge=1)
    steps: list[int] = setting([1], "queue depths")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"depth": 0}, {"depth": "`0` is out of range; write at least 1"}),
        ({"steps": [1, "many"]}, {"steps": "item 2: `many` is not a whole number; write a whole number"}),
        ({"dept": 1}, {"dept": "extra inputs are not permitted"}),
    ],
)
def test_an_error_names_its_setting_and_item(values: dict[str, object], expected: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as raised:
        Few.model_validate(values)
    found = setting_errors(raised.value.errors(), [*Few.model_fields, *values])
    assert {one.setting: one.text for one in found} == expected
