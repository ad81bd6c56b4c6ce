"""Arithmetic of sliding windows: convolutions and pooling, one axis at a time."""

from collections.abc import Sequence

from trainlaw.formulas.errors import InputError

Size = int | tuple[int, int]
AxisPadding = int | str | tuple[int, int]
Padding = Size | str | tuple[tuple[int, int], tuple[int, int]]


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """Return height and width of a size, pixels; one number means both."""
    first, second = (size, size) if isinstance(size, int) else size
    return int(first), int(second)


def axis_paddings(padding: Padding) -> tuple[AxisPadding, AxisPadding]:
    """Return the padding of height and width; one number or word means both."""
    return (padding, padding) if isinstance(padding, (int, str)) else padding


def window_fields(kernel: Size, stride: Size, dilation: Size) -> dict[str, int]:
    """Return the fields of a layer that describe its window; raises `InputError` for numbers below 1."""
    (kh, kw), (sh, sw), (dh, dw) = pair(kernel), pair(stride), pair(dilation)
    if min(kh, kw, sh, sw, dh, dw) < 1:
        raise InputError(
            f"expected kernel, stride and dilation of at least 1, got {kernel}, {stride}, {dilation}"
        )
    return {
        "kernel_height": kh,
        "kernel_width": kw,
        "stride_height": sh,
        "stride_width": sw,
        "dilation_height": dh,
        "dilation_width": dw,
    }


def window_output(
    side: int, reach: int, stride: int, padding: AxisPadding, ceil: bool = False
) -> tuple[int, int]:
    """Return output side and padding before the first pixel, pixels; the output is 0 if no window fits.

    `reach` is the pixels from the first to the last that a window reads. `padding` is pixels on both sides, a
    pair (before, after), `"half"` (reach // 2), `"same"` (output = ceil(side / stride), the odd pixel at the
    end) or `"valid"` (none). `ceil` keeps a last incomplete window.

    >>> window_output(224, 7, 2, "half"), window_output(224, 3, 2, "same")
    ((112, 3), (112, 0))
    """
    if padding == "same":
        out = -(-side // stride)
        return out, max((out - 1) * stride + reach - side, 0) // 2
    before, after = both_sides(padding, reach)
    room = side + before + after - reach
    if room < 0:
        return 0, before
    out = room // stride + 1
    # A last incomplete window counts only if it starts inside the image or the padding before it (torch).
    if ceil and room % stride and out * stride < side + before:
        out += 1
    return out, before


def both_sides(padding: AxisPadding, reach: int) -> tuple[int, int]:
    """Return the padding before and after an image, pixels, of any but `"same"`."""
    return pair({"half": reach // 2, "valid": 0}[padding] if isinstance(padding, str) else padding)


def transposed_output(
    side: int, reach: int, stride: int, padding: AxisPadding, extra: int = 0
) -> tuple[int, int]:
    """Return the output side of a transposed convolution and the pixels cut off before it; `extra` is added.

    >>> transposed_output(7, 4, 2, 1)
    (14, 1)
    """
    # Keras: "same" gives stride times the input, the surplus cut off on both sides.
    if padding == "same":
        return side * stride, max(reach - stride, 0) // 2
    before, after = both_sides(padding, reach)
    return (side - 1) * stride + reach - before - after + extra, before
