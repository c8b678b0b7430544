"""A tool: its functions are there in every script of the sandboxes that hearth.toml names."""


def word_count(text):
    """Counts the words of a text."""
    words = text.split()
    return ToolResult(
        True, data={"words": len(words), "characters": len(text)}, message=f"{len(words)} words"
    )
