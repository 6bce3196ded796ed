"""The fenced blocks of a Markdown page."""
import re

FENCE = re.compile(r"^```(\w*)\s*$")
INCLUDE = re.compile(r"^#include\b.*$", re.M)


def fences(page):
    """(line, language, text) of each block of the page; the line is that of its first one."""
    start, language, lines = 0, None, []
    with open(page, encoding="utf-8") as document:
        for number, line in enumerate(document, 1):
            fence = FENCE.match(line)
            if language is None and fence:
                start, language, lines = number + 1, fence[1], []
            elif fence:
                yield start, language, "".join(lines)
                language = None
            elif language is not None:
                lines.append(line)
