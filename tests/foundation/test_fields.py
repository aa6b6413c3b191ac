"""What is wrong with a value is said in words: its key and why, without pydantic's own form."""

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from trex.foundation.fields import first_problem


class _Inner(BaseModel):
    size: int

    @field_validator("size")
    @classmethod
    def _even(cls, size: int) -> int:
        if size % 2:
            raise ValueError("Size is odd")
        return size


class _Outer(BaseModel):
    parts: list[_Inner]
    name: str


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"parts": [{"size": 2}, {"size": 3}], "name": "n"}, ("parts.1.size", "size is odd")),
        ({"parts": [{}]}, ("parts.0.size", "field required")),
        ({"parts": []}, ("name", "field required")),
    ],
)
def test_the_first_problem_has_its_dotted_key(value: object, problem: tuple[str, str]) -> None:
    with pytest.raises(ValidationError) as caught:
        _Outer.model_validate(value)
    assert first_problem(caught.value) == problem


def test_a_problem_of_the_whole_has_no_key() -> None:
    with pytest.raises(ValidationError) as caught:
        _Outer.model_validate_json("{")
    key, message = first_problem(caught.value)
    assert key == "" and message.startswith("invalid JSON")
