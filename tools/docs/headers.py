#!/usr/bin/env python3
"""Shows Doxygen the comments of a public header, which are plain ones.

usage: headers.py HEADER     what Doxygen reads in the header's place, on standard output

A comment belongs to the declaration below it, and to those that follow it without an empty line and
without a comment of their own: overloads, and pairs such as lock and unlock. Beside a declaration it
belongs to that, and to overloads in the next lines. In a class that is "As std::name", members without
a comment are as std::name's. Left out are private and protected parts, namespaces called detail, and,
without a comment, what needs none: what is deleted or defaulted, copying and moving, comparing,
destructors, value_type and the like, friends and declarations of classes. Lines keep their numbers.
"""
import re
import sys

# Parts of classes that users see by the classes that derive from them.
SHOWN_DETAILS = {"sending", "receiving", "chan_handle", "future_handle", "promise_base"}
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)(?: class)?\b(?: SLEY_API)? ?"
                   r"([\w:]*)(?:<[^{}]*>)?(?: final)?(?: ?:[^:(][^(]*)?$")
ACCESS = re.compile(r"^ *(public|protected|private):$")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?<![\w])\'(?:[^\'\\]|\\.)+\'')
STANDARD = re.compile(r"(?:^ ?|\b[Aa]s |operations are )(std::\w+|net::stream\b|tcp_listener\b)")
DULL = re.compile("|".join([
    r"= (?:delete|default);$", r"^(?:template <.*> ?)?(?:friend )?(?:class|struct) [\w ]+;$",
    r"^friend (?:class|struct)", r"^(?:\w+ )*~", r"^template <> ?(?:struct|class) std::",
    r"^static_assert", r"^using (?:base|value_type|difference_type)\b",
    r"^(\w+)\((?:const )?\1 ?&&?(?: \w+)?\)", r"operator=\((?:const )?(\w+) ?(?:&&?)?(?: \w+)?\)",
    r"operator(?:==|<=>)\("]))
CALLED = re.compile(r"\b(?!requires|decltype)(\w+)\(")


def split_comment(line):
    """The code of a line, and the text of its comment or None."""
    masked = LITERAL.sub(lambda m: "x" * len(m[0]), line)
    at = masked.find("//")
    return (line, None) if at < 0 else (line[:at].rstrip(), line[at + 2:])


def escaped(text):
    """A comment's text, in which Doxygen sees no command."""
    return re.sub(r"([\\@<>#%&$])", r"\\\1", text)


def marked_up(texts):
    """The lines of a comment; those that are indented are code."""
    is_code = [text.startswith("   ") for text in texts]
    lines = []
    for i, text in enumerate(texts):
        before = i > 0 and is_code[i - 1]
        after = i + 1 < len(texts) and is_code[i + 1]
        if is_code[i]:
            lines.append(("" if before else "@code ") + text[3:] + ("" if after else " @endcode"))
        else:
            lines.append(escaped(text).strip())
    return lines


def flattened(line):
    """A class's line with all of its bases in a row: a base's template argument may be a base as well,
    which Doxygen does not see."""
    head, _, bases = line.partition(" : public ")
    names = re.findall(r"detail::(\w+)", bases)
    if not names or not set(names) <= SHOWN_DETAILS:
        return line
    return head + " : " + ", ".join(f"public detail::{name}<T>" for name in names) + " {"


class Converter:
    def __init__(self, lines):
        self.lines = lines
        self.out = []
        self.scopes = []          # (kind, is hidden, the standard's name or None)
        self.access = ["public"]
        self.comment = []         # the lines above, which no declaration has taken yet
        self.run = None           # the comment of the declaration before, if no empty line follows it
        self.text = ""            # of a declaration that has begun
        self.start = 0            # its first line in `out`
        self.depth = 0            # of the braces and parentheses in it
        self.own = None           # its comment
        self.overload = None      # the name and the comment of the function in the line before
        self.beside_at = None     # the column of the last line's comment beside code

    def hidden(self):
        return any(scope[1] for scope in self.scopes) or self.access[-1] != "public"

    def convert(self):
        for line in self.lines:
            code, comment = split_comment(line)
            if self.text or self.depth:
                self.go_on(code, comment)
            elif not code.strip():
                self.between(line, comment)
            elif code.lstrip().startswith("#"):
                self.out.append(code)
            elif ACCESS.match(code):
                self.access[-1] = ACCESS.match(code)[1]
                self.forget()
                self.out.append(code)
            elif re.match(r"^ *\};?$", code) and self.scopes:
                shown = not self.hidden_scope()
                self.scopes.pop()
                self.access.pop()
                self.forget()
                self.out.append(code if shown else "")
            else:
                self.begin(code, comment)
        return self.out

    def hidden_scope(self):
        return any(scope[1] for scope in self.scopes) or self.access[-2:-1] not in ([], ["public"])

    def forget(self):
        self.comment, self.run, self.beside_at, self.overload = [], None, None, None

    def between(self, line, comment):
        """An empty line, or a comment alone."""
        self.out.append("")
        if comment is None:
            self.forget()
        elif self.beside_at is not None and line.index("//") == self.beside_at:
            self.out[-1] = "" if self.hidden() else "///< " + escaped(comment.strip())
        else:
            self.beside_at = None
            self.comment.append(comment)

    def begin(self, code, comment):
        self.start = len(self.out)
        self.own = self.comment or None
        if self.own:
            for i, text in enumerate(marked_up(self.own)):
                self.out[self.start - len(self.own) + i] = "/// " + text
            self.run = self.own
        self.comment = []
        self.go_on(code, comment)

    def go_on(self, code, comment):
        self.text = f"{self.text} {code.strip()}".strip()
        self.out.append(code)
        is_over = False
        for at, char in enumerate(LITERAL.sub('""', code)):
            if char in "({[":
                if char == "{" and self.depth == 0 and code.endswith("{") and self.opens_scope():
                    return
                self.depth += 1
            elif char in ")}]":
                self.depth -= 1
        last = code.rstrip()[-1:]
        in_enum = bool(self.scopes) and self.scopes[-1][0] == "enum"
        is_over = self.depth == 0 and (last in ";}" or in_enum)
        if comment is not None and (is_over or last == ",") and not self.hidden():
            self.out[-1] = code + " ///< " + escaped(comment.strip())
            self.beside_at = len(split_comment(self.lines[len(self.out) - 1])[0])
            self.beside_at = self.lines[len(self.out) - 1].index("//", self.beside_at)
        if is_over:
            self.end(comment)

    def opens_scope(self):
        head = re.sub(r"\s*\{[^{]*$", "", self.text)
        while True:  # ends: each round takes a template's head or a requirement off
            shorter = re.sub(r"^(?:template <[^{}]*?> (?=\w)|requires\([^{}]*\) )", "", head)
            if shorter == head:
                break
            head = shorter
        found = SCOPE.search(head)
        if not found:
            return False
        kind, name = found[1], found[2]
        is_detail = kind == "namespace" and name.split("::")[-1] == "detail"
        in_detail = bool(self.scopes) and self.scopes[-1][0] == "detail"
        is_hidden = (in_detail and name not in SHOWN_DETAILS) or self.hidden()
        if kind == "namespace":  # their descriptions are in namespaces.dox
            self.drop_comment()
        elif "detail::" in head:
            self.out[-1] = flattened(self.out[-1])
        standard = STANDARD.search(" ".join(self.own or []))
        if is_hidden:
            self.blank()
        self.scopes.append(("detail" if is_detail else kind, is_hidden, standard and standard[1]))
        self.access.append("private" if kind == "class" else "public")
        self.text = ""
        self.own = None
        self.forget()
        return True

    def drop_comment(self):
        for i in range(self.start - len(self.own or []), self.start):
            self.out[i] = ""

    def blank(self):
        first = self.start - len(self.own or [])
        self.out[first:] = [""] * (len(self.out) - first)

    def end(self, beside):
        is_beside = beside is not None
        text, standard = self.text, self.scopes and self.scopes[-1][2]
        called = CALLED.search(text)
        same, doc_of_same = self.overload or (None, None)
        if is_beside and called:
            self.overload = (called[1], escaped(beside.strip()))
        in_detail = bool(self.scopes) and self.scopes[-1][0] == "detail"
        self.text = ""
        is_dull = DULL.search(text) and not self.own
        if self.hidden() or in_detail or is_dull and (not is_beside or not self.scopes):
            self.blank()
        elif not self.own and not is_beside:
            if called and called[1] == same:
                self.out[self.start] = f"/** {doc_of_same} */ {self.out[self.start]}"
            elif self.run:
                doc = " ".join(marked_up(self.run)).replace("@code", "").replace("@endcode", "")
                self.out[self.start] = f"/** {doc} */ {self.out[self.start]}"
            elif standard:
                self.out[self.start] = f"/** As in {standard}. */ {self.out[self.start]}"
        self.own = None


def main(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    out = Converter(lines).convert()
    print("\n".join(out))


if __name__ == "__main__":
    main(sys.argv[1])
