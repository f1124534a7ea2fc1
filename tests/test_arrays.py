"""What stands in for slow parts of NumPy gives what NumPy gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rookery.arrays import distinct


@given(st.lists(st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1)), st.sampled_from([np.int64, np.float64]))
def test_distinct_values_are_those_of_numpy(values: list[int], kind: type[np.generic]) -> None:
    array = np.array(values, kind)
    found = distinct(array)
    assert found.dtype == array.dtype
    assert found.tolist() == np.unique(array).tolist()
