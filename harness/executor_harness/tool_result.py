"""The value that a tool returns to a script."""


class ToolResult:
    __module__ = "__main__"  # where a script finds it, and so where pickle looks
    __hash__ = None

    def __init__(self, success, data=None, message=""):
        self.success = success
        self.data = data
        self.message = message

    def as_dict(self):
        return {"success": self.success, "data": self.data, "message": self.message}

    def __eq__(self, other):
        if not isinstance(other, ToolResult):
            return NotImplemented
        return self.as_dict() == other.as_dict()

    def __repr__(self):
        values = (self.success, self.data, self.message)
        return "ToolResult(success=%r, data=%r, message=%r)" % values
