"""A tool: its functions are there in every script of the sandboxes that hearth.toml names."""


def word_count(text):
    """Counts the words of a text; the answer has the shape that agents know how to read."""
    words = text.split()
    return {
        "success": True,
        "message": f"{len(words)} words",
        "data": {"words": len(words), "characters": len(text)},
    }
