"""Numbers of messages: as many digits as their errors leave."""

from decimal import ROUND_HALF_EVEN, Decimal

import pytest

from gpukit.wording import places_of, with_error


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (962.3871, 4.0, "962 ± 4"),
        (962.3871, 1.2, "962.4 ± 1.2"),
        (962.3871, 0.96, "962.4 ± 1.0"),
        (962.3871, 23.1, "962 ± 23"),
        (12345.678, 150, "12,346 ± 150"),
        (0.5, 0.0312, "0.50 ± 0.03"),
        (3.0, 0.0, "3.00 ± 0.00"),
        (3.0, float("nan"), "3 ± nan"),
    ],
)
def test_a_number_is_printed_as_far_as_it_is_known(value, error, said):
    assert with_error(value, error) == said


@pytest.mark.parametrize("digits", ["1", "14", "2", "31", "96", "99"])
@pytest.mark.parametrize("power", range(-4, 4))
def test_the_last_place_is_that_of_the_errors_first_digit_or_of_its_second_behind_a_1(digits, power):
    error = Decimal(f"0.{digits}").scaleb(power)
    place = error.adjusted() - (digits[0] == "1")
    assert places_of(float(error)) == max(0, -place)
    shown = with_error(1234.56789, float(error)).partition(" ")[0].replace(",", "")
    unit = Decimal(1).scaleb(min(0, place))
    assert Decimal(shown) == Decimal("1234.56789").quantize(unit, ROUND_HALF_EVEN)
