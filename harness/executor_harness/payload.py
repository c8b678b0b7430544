"""Events as JSON, and texts of bounded length."""

import contextlib
import json
import math
import os
import re
import sys

from .interrupts import unless_thrown
from .tool_result import ToolResult

MAX_RECORD_BYTES = 8 << 20
MAX_NESTING = 200
MAX_TEXT_CHARS = 64 << 10  # of a traceback, a message, a repr


NOT_JSON = (
    "an object of type %s has no JSON form; give a dict, a list or a text, "
    "for instance vars(value) or str(value)"
)
# By module and name, because none of these modules should be loaded for their sake.
AS_TEXT = frozenset(("decimal.Decimal", "fractions.Fraction", "uuid.UUID"))
MISSING = frozenset(("NAType", "NaTType"))  # of pandas


def jsonable(value):
    """What json cannot encode by itself, one level deep. Looks at types, because a class is not one
    of its instances."""
    kind = type(value)
    if isinstance(value, ToolResult):
        return value.as_dict()
    if hasattr(kind, "__dataclass_fields__"):
        fields = sys.modules["dataclasses"].fields(value)
        return {field.name: getattr(value, field.name) for field in fields}
    if hasattr(kind, "model_dump"):  # of pydantic
        return value.model_dump()
    if hasattr(kind, "to_dict") and hasattr(kind, "columns"):
        return records_of(value)
    if hasattr(kind, "to_dicts"):  # of polars
        return value.to_dicts()
    if kind.__name__ in MISSING:
        return None
    if hasattr(kind, "tolist"):
        return plain_numpy(value)
    if hasattr(kind, "isoformat"):
        return value.isoformat()
    if hasattr(kind, "total_seconds"):
        return value.total_seconds()
    if isinstance(value, (set, frozenset)):
        return list(value)
    if hasattr(kind, "__fspath__") and isinstance(os.fspath(value), str):
        return os.fspath(value)
    if any("%s.%s" % (base.__module__, base.__name__) in AS_TEXT for base in kind.__mro__):
        return str(value)
    if hasattr(kind, "__members__"):
        return value.value
    raise TypeError(NOT_JSON % kind.__name__)


def records_of(frame):
    """A row of a DataFrame is a dict. An index that has a name is a column of its own."""
    if any(name is not None for name in frame.index.names):
        with contextlib.suppress(ValueError):  # there is such a column
            frame = frame.reset_index()
    return frame.to_dict("records")


def plain_numpy(value):
    # Dates as numbers of nanoseconds would be of no use.
    is_date = type(value).__module__ == "numpy" and getattr(value.dtype, "kind", "") == "M"
    return value.astype(str).tolist() if is_date else value.tolist()


def plain_key(key):
    """A key of a dict that json refuses."""
    if isinstance(key, float) and not math.isfinite(key):
        return str(key)
    if key is None or isinstance(key, (str, int, float)):
        return key
    with contextlib.suppress(TypeError):
        plain = jsonable(key)
        if isinstance(plain, (str, int, float)):
            return plain
    raise TypeError(
        "a key of type %s has no JSON form; make it a text, for instance str(key)"
        % type(key).__name__
    )


ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=jsonable
)


def encode(where, event, lost=None):
    """The event as UTF-8 JSON. If that is impossible, raises an error that starts with `where`, the
    name of the function that the script called. The list `lost` receives the numbers that have no
    JSON form and became null."""
    try:
        text = ENCODER.encode(event)
    except (TypeError, ValueError, RecursionError) as error:
        unless_thrown(error)
        text = _encode_awkward(where, event, error, [] if lost is None else lost)
    payload = to_utf8(text)
    if len(payload) > MAX_RECORD_BYTES:
        limits = (where, len(payload), MAX_RECORD_BYTES)
        raise ValueError("%s: the payload has %d bytes, the limit is %d" % limits)
    if text.count("[") + text.count("{") > MAX_NESTING and nesting_of(text) > MAX_NESTING + 1:
        raise ValueError("%s: data nests deeper than %d levels" % (where, MAX_NESTING))
    return payload


def _encode_awkward(where, event, error, lost):
    """Slow path for what the encoder refuses: NaN, infinities, very long integers, keys that are
    neither text nor numbers."""
    if "ircular" in str(error):
        raise ValueError("%s: %s" % (where, error)) from None
    try:
        plain = without_nan(event, lost)
    except RecursionError:
        raise ValueError("%s: data nests deeper than %d levels" % (where, MAX_NESTING)) from None
    except TypeError as refusal:
        raise TypeError("%s: %s" % (where, refusal)) from None
    with all_digits():
        return ENCODER.encode(plain)


@contextlib.contextmanager
def all_digits():
    """Lifts the limit on the digits of an integer, where this version of Python has one."""
    if not hasattr(sys, "set_int_max_str_digits"):
        yield
        return
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


def without_nan(value, lost):
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        lost.append(value)
        return None
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, dict):
        return {plain_key(key): without_nan(item, lost) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item, lost) for item in value]
    return without_nan(jsonable(value), lost)


def to_utf8(text):
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # lone surrogates; two that form a pair become their character
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.encode("utf-8")


def nesting_of(text):
    """How deep valid JSON nests: removes the innermost level at the speed of str.replace, again and
    again."""
    without_strings = "".join(re.split(r'"(?:[^"\\]|\\.)*"', text))
    brackets = re.sub(r"[^\[\]{}]+", "", without_strings).replace("{", "[").replace("}", "]")
    depth = 0
    while brackets and depth <= MAX_NESTING + 1:
        brackets = brackets.replace("[]", "")
        depth += 1
    return depth


def clip(text, most_chars=MAX_TEXT_CHARS):
    """Head and tail of a long text."""
    if len(text) <= most_chars:
        return text
    half = most_chars // 2
    left_out = len(text) - 2 * half
    return "%s\n... %d characters left out ...\n%s" % (text[:half], left_out, text[-half:])
