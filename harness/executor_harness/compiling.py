"""Compiles a script in two parts: statements, and a trailing expression whose value is shown."""

import ast

# `await` outside of functions. The code is then that of a coroutine.
FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
NOT_PLAIN = frozenset("\"'#\\;")


def compile_script(source, filename):
    """The code of a script without its trailing expression, and that of the expression if there is
    one.

    Going through a syntax tree would double the cost of compiling. So the last line is tried alone:
    if it is an expression and what precedes it compiles too, these are the two parts.
    """
    try:
        return _compile_parts(source, filename)
    except SyntaxError as error:
        _show_line(error, source)
        raise


def _show_line(error, source):
    """Python reads the line of some errors from the script's file, and there is none."""
    lines = source.split("\n")
    if error.text is None and error.lineno is not None and 0 < error.lineno <= len(lines):
        error.text = lines[error.lineno - 1] + "\n"


def _compile_parts(source, filename):
    text = source.rstrip()
    start = text.rfind("\n") + 1
    head, last_line = text[:start], text[start:]
    if _is_plainly_valueless(head, last_line):
        return (compile(source, filename, "exec", FLAGS, dont_inherit=True),)
    if not head:
        return _compile_tree(source, filename)
    if not last_line[0].isspace():
        try:
            padded = "\n" * head.count("\n") + last_line
            value = compile(padded, filename, "eval", FLAGS, dont_inherit=True)
            return compile(head, filename, "exec", FLAGS, dont_inherit=True), value
        except (SyntaxError, ValueError):
            pass
    if not head.endswith("\\\n") and _is_valueless(last_line):
        return (compile(source, filename, "exec", FLAGS, dont_inherit=True),)
    return _compile_tree(source, filename)


def _is_plainly_valueless(head, last_line):
    """The common case, without a parser: an assignment, or the end of a block, on its own line.
    Without a quote or comment and with its brackets closed, the line cannot be the end of something
    longer."""
    target, _, value = last_line.partition("=")
    return (
        (last_line[:1].isspace() or (target.rstrip().isidentifier() and value[:1] not in ("", "=")))
        and NOT_PLAIN.isdisjoint(last_line)
        and not head.endswith("\\\n")
        and last_line.count("(") == last_line.count(")")
        and last_line.count("[") == last_line.count("]")
        and last_line.count("{") == last_line.count("}")
    )


def _is_valueless(last_line):
    """Whether a line that is complete in itself can only end a statement without a value. An
    indented line, for instance, ends a block. With a backslash or comment it could be the end of
    something else, like a string."""
    if "\\" in last_line or "#" in last_line:
        return False
    try:
        tree = _parse(last_line.strip(), "<last line>")
    except (SyntaxError, ValueError):
        return False
    return bool(tree.body) and (last_line[0].isspace() or type(tree.body[-1]) is not ast.Expr)


def _parse(source, filename):
    return compile(source, filename, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)


def _compile_tree(source, filename):
    tree = _parse(source, filename)
    values = ()
    if tree.body and type(tree.body[-1]) is ast.Expr and not _is_silenced(source, tree.body[-1]):
        expression = ast.Expression(tree.body.pop().value)
        values = (compile(expression, filename, "eval", FLAGS, dont_inherit=True),)
    return (compile(tree, filename, "exec", FLAGS, dont_inherit=True), *values)


def _is_silenced(source, expression):
    """Whether a `;` follows, which in notebooks means: do not show."""
    if ";" not in source:
        return False
    lines = source.encode("utf-8").splitlines()[expression.end_lineno - 1 :]
    lines[0] = lines[0][expression.end_col_offset :]
    return b" ".join(line.partition(b"#")[0] for line in lines).rstrip().endswith(b";")
