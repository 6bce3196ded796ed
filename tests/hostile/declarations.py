"""What the public headers declare, as far as hostile arguments are concerned.

declarations(include) yields the Declaration of each public function that takes a text, a size, a
count, a duration, a point in time, a descriptor, an enumerator or a struct of such. It reads the
headers as text, and relies on their one style: clang-format wrote their braces and access labels.
"""
import os
import re
import sys
from collections import namedtuple

Declaration = namedtuple("Declaration", "header signature")

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|::|->|==|<=>|<=|\[\[|\]\]|\s+|.', re.S)
CLASS = re.compile(r"\b(?:class|struct)\s+(?:SLEY_\w+\s+)?(\w[\w:]*)(?:<.*>)?(?:\s+final)?\s*(?::.*)?$", re.S)
# Types whose values may be hostile. A template's own parameters are the caller's types.
HOSTILE = re.compile(
    r"\b(string_view|string|char|span|iovec|io_buffers|sockaddr|endpoint|url|command|"
    r"size_t|ptrdiff_t|uintptr_t|u?int\d*_t|int|unsigned|double|"
    r"nanoseconds|seconds|duration|time_span|time_point|instant|"
    r"errc|tls_errc|profile_kind|\w*options|run_limits|client_request)\b")
# They tell what is wrong with a template argument, or have nothing that could be hostile.
# Classes of detail, in public headers, that public ones are made from.
MIXED_IN = ("sending", "receiving", "future_handle")
NO_FUNCTION = re.compile(r"^(using|friend|static_assert|extern|typedef|enum|namespace)\b|\b(operator|requires)\b")


def without_comments(text):
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", "", text, flags=re.M)


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def statements(text):
    """Yields (scopes, declaration): what stands before a `;`, a body or an initialiser."""
    scopes, part, skip, angle_or_paren = [], "", 0, 0
    for token in TOKEN.findall(text):
        if skip:  # inside a function's body or an initialiser
            skip += (token == "{") - (token == "}")
            if skip == 0:
                part = "" if ends_statement else part + "{}"
        elif token == "{" and angle_or_paren == 0:
            head = squeezed(part)
            namespace = re.match(r"(?:inline )?namespace ([\w:]*)$", head)
            of_class = CLASS.search(re.sub(r"^template <.*?> (?=class|struct)", "", head)) \
                if "(" not in head or head.startswith("template") else None
            if namespace:
                scopes.append([namespace[1], "public"])
                part = ""
            elif of_class and not head.startswith("enum"):
                scopes.append([of_class[1], "private" if re.search(r"\bclass\b", head) else "public"])
                part = ""
            else:
                # `int x{1};` and `: member_{1} {}` go on behind the brace; a body ends it.
                tail = head.rpartition(")")[2]
                ends_statement = "(" in head and bool(
                    re.fullmatch(r"( ?(const|noexcept|override|final|try|requires .*|-> .*))*", tail))
                if ends_statement:
                    yield scopes, head
                skip = 1
        elif token == "}" and angle_or_paren == 0:
            scopes.pop()
            part = ""
        elif token == ";" and angle_or_paren == 0:
            if part.strip():
                yield scopes, squeezed(part)
            part = ""
        elif token == ":" and part.strip() in ("public", "private", "protected"):
            scopes[-1][1] = part.strip()
            part = ""
        else:
            angle_or_paren += (token == "(") - (token == ")")
            part += token


def parameters(declaration):
    """The text between the parentheses of a function's declaration, and what stands before them."""
    head = re.sub(r"^template <(?:[^<>]|<[^<>]*>)*>\s*(requires\b.*?(?=\b(?:auto|void|bool|explicit|static)\b))?", "",
                  declaration)
    head = re.sub(r"\b(SLEY_API|SLEY_ALWAYS_INLINE|inline|static|explicit|virtual|constexpr|friend)\s+|"
                  r"\[\[.*?\]\]\s*", "", head)
    match = re.match(r"(?P<before>(?:(?!\().)*?(?P<name>~?\w+))\s*\(", head)
    if not match or NO_FUNCTION.search(match["before"]):
        return None, None
    depth, at = 1, match.end()
    while depth and at < len(head):
        depth += (head[at] == "(") - (head[at] == ")")
        at += 1
    return match["name"], squeezed(head[match.end():at - 1])


def without_defaults(text):
    """A list of parameters without what follows an `=` outside of brackets."""
    parts, depth, part, skips = [], 0, "", False
    for token in TOKEN.findall(text):
        depth += (token in "(<{[") - (token in ")>}]")
        if depth == 0 and token == ",":
            parts.append(part)
            part, skips = "", False
        elif depth == 0 and token == "=":
            skips = True
        elif not skips:
            part += token
    return ", ".join(squeezed(p) for p in parts + [part] if p.strip())


def declarations(include):
    seen = set()
    for directory, subdirs, names in os.walk(os.path.join(include, "sley")):
        subdirs.sort()
        for name in sorted(names):
            path = os.path.join(directory, name)
            header = os.path.relpath(path, include)
            if "/detail/" in header:
                continue
            with open(path, encoding="utf-8") as file:
                text = without_comments(file.read())
            for scopes, declaration in statements(text):
                scope = [s for s, _ in scopes]
                if any(access != "public" for _, access in scopes):
                    continue
                if (any("detail" in s for s in scope) and not set(scope) & set(MIXED_IN)):
                    continue
                function, found = parameters(declaration)
                if function is None or found is None or "= delete" in declaration:
                    continue
                found = without_defaults(found)
                if not HOSTILE.search(re.sub(r"\w+(?=,|$)", "", found)) and not HOSTILE.search(found):
                    continue
                where = re.sub(r"^sley(::detail)?(::|$)", "", "::".join(scope))
                signature = f"{where}::{function}({found})" if where else f"{function}({found})"
                if signature not in seen:
                    seen.add(signature)
                    yield Declaration(header, signature)


def normal(signature):
    """A signature without what a caller need not write: std::, const, &, kinds of durations."""
    text = re.sub(r"\b(std|sley)::|\bchrono::|\bconst\b|&", "", signature)
    text = re.sub(r"\b(?:(steady_clock::)?time_point(<[^<>]*>)?|instant(?= ))", "time_point", text)
    text = re.sub(r"\b(duration<[^<>]*>|nanoseconds|seconds|time_span)(?= )", "duration", text)
    return re.sub(r"\s*([(,<>)])\s*", r"\1", squeezed(text))


if __name__ == "__main__":
    for d in declarations(sys.argv[1]):
        print(f"{d.header}: {normal(d.signature)}")
