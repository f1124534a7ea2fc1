"""The kernel that turns the raw values of one event, as `event_coder.py` lays them down, into codes.

Twin: `tests/twins/rows.py`.
"""

from __future__ import annotations

from typing import Any

from rookery.kernels import short_kernel
from rookery.matching.kernels import NULL_CODE

__all__ = ["AS_IT_IS", "DOUBLE", "WHOLE", "code_event"]

#: What lies in a place: a code, the bits of a double, a whole number between two that are stated.
AS_IT_IS, DOUBLE, WHOLE = 0, 1, 2
#: The bits of infinity; those of NaN are above.
_INFINITY = 0x7FF0000000000000
_SIGN_LESS = 0x7FFFFFFFFFFFFFFF


@short_kernel
def code_event(codes: Any, forms: Any) -> Any:
    """Turn raw values into codes where they lie, by the form and the limits of each; say whether all are in them."""
    fits = True
    for place in range(forms.shape[0]):
        form, word = forms[place, 0], codes[0, place]
        if form == DOUBLE:
            if word & _SIGN_LESS > _INFINITY:
                codes[0, place] = NULL_CODE
            elif word < 0:
                codes[0, place] = NULL_CODE - word
        elif form == WHOLE:
            fits &= (word >= forms[place, 1]) & (word <= forms[place, 2])
            codes[0, place] = max(word, NULL_CODE + 1)
    return fits
