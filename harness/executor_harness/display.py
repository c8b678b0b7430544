"""Shows values and figures as a notebook does."""

import binascii
import contextlib
import io
import sys

from .channel import channel
from .emit import encode_for_script
from .interrupts import unless_thrown
from .payload import MAX_TEXT_CHARS, all_digits, clip
from .step_threads import origin


def _base64(image):
    if not isinstance(image, bytes):
        return image
    return binascii.b2a_base64(image, newline=False).decode()


def _json_part(value):
    return value[0] if isinstance(value, tuple) else value  # notebooks allow (data, metadata)


RICH_FORMS = (
    ("text/html", "_repr_html_", str),
    ("image/png", "_repr_png_", _base64),
    ("application/json", "_repr_json_", _json_part),
)


def display_value(value):
    """The value of a script's last expression."""
    forms = {"text/plain": clip(repr_of(value))}
    for mime, method, convert in RICH_FORMS:
        render = getattr(type(value), method, None)
        try:
            rendered = render(value) if render is not None else None
            if rendered is not None:
                forms[mime] = convert(rendered)
        except Exception as error:
            unless_thrown(error)  # the text remains, as in notebooks
    _display(forms, value=True)


def repr_of(value):
    """Works for values that are too large for repr(): the script could create the value, so showing
    it must not fail."""
    if type(value) in (bytes, bytearray, str) and len(value) > MAX_TEXT_CHARS:
        half = MAX_TEXT_CHARS // 8  # each character may take up to ten
        left_out = len(value) - 2 * half
        return "%r\n... %d characters left out ...\n%r" % (value[:half], left_out, value[-half:])
    if type(value) is int and value.bit_length() > 3 * MAX_TEXT_CHARS:
        return hex(value)  # the time for decimal digits grows faster than their number
    with all_digits() if type(value) is int else contextlib.nullcontext():
        return repr(value)


def _display(forms, **members):
    try:
        event = {"type": "display", "data": forms, **members}
        payload = encode_for_script("display", event)
    except (TypeError, ValueError) as error:
        unless_thrown(error)
        text = {"text/plain": forms.get("text/plain", "")}
        payload = encode_for_script("display", {"type": "display", "data": text, **members})
    channel.send(payload)


def show_figures(*_, **__):
    """Displays and closes the open matplotlib figures. Scripts know it as plt.show()."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or channel.records is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        image = io.BytesIO()
        figure.savefig(image, format="png", bbox_inches="tight")
        text = origin() + clip(repr(figure))
        _display({"text/plain": text, "image/png": _base64(image.getvalue())})
        pyplot.close(figure)
