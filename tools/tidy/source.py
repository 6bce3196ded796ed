"""A C++ file split into what the checks look at: code, comments and string literals."""
import re

NUMBER_BEFORE_QUOTE = re.compile(r"(?<![\w'])\d[\w']*$")
RAW_STRING_START = re.compile(r'R"([^()\\\s]{0,16})\(')


class Source:
    """One file.

    lines      the text as it stands
    code       the same lines with comments, strings and character literals blanked out
    comments   {line number: text of the comment on that line, without its // or /* */}
    strings    [(line number, contents)]
    """

    def __init__(self, path, text):
        self.path = path
        self.lines = text.splitlines()
        self.comments = {}
        self.strings = []
        self.code = self.lines
        if not path.endswith(".S"):  # assembly has quotes in comments that C++ does not know
            self.code = self._split(text).splitlines()
        # An empty last line is lost by splitlines in one of the two, never in the middle.
        self.code += [""] * (len(self.lines) - len(self.code))

    def _split(self, text):
        out = []
        at = 0
        line = 1
        while at < len(text):
            kind, end = self._token(text, at)
            piece = text[at:end]
            if kind == "code":
                out.append(piece)
            else:
                self._record(kind, piece, line)
                out.append(re.sub(r"[^\n]", " ", piece))
            line += piece.count("\n")
            at = end
        return "".join(out)

    @staticmethod
    def _token(text, at):
        """The kind of what starts at `at`, and where it ends."""
        two = text[at:at + 2]
        if two == "//":
            end = text.find("\n", at)
            return "comment", len(text) if end < 0 else end
        if two == "/*":
            end = text.find("*/", at + 2)
            return "comment", len(text) if end < 0 else end + 2
        raw = RAW_STRING_START.match(text, at)
        if raw:
            end = text.find(")" + raw[1] + '"', raw.end())
            return "string", len(text) if end < 0 else end + len(raw[1]) + 2
        char = text[at]
        in_number = char == "'" and NUMBER_BEFORE_QUOTE.search(text[max(0, at - 40):at])
        if char in "\"'" and not in_number:
            end = at + 1
            while end < len(text) and text[end] not in (char, "\n"):
                end += 2 if text[end] == "\\" else 1
            return "string" if char == '"' else "char", min(end + 1, len(text))
        return "code", at + 1

    def _record(self, kind, piece, line):
        if kind == "string":
            self.strings.append((line, piece[piece.index('"') + 1:-1]))
        elif kind == "comment":
            body = piece[2:-2] if piece.startswith("/*") else piece[2:]
            for offset, text in enumerate(body.split("\n")):
                self.comments[line + offset] = self.comments.get(line + offset, "") + text

    def includes(self):
        """(line number, '<' or '"', the name) of each #include."""
        for number, text in enumerate(self.lines, 1):
            found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', text)
            if found and (self.path.endswith(".S") or "#" in self.code[number - 1]):
                yield number, found[1], found[2]


class _Block:
    def __init__(self, kind, line, name=""):
        self.kind = kind  # "scope" (namespace, class), "function" or "other"
        self.line = line
        self.name = name


def functions(source):
    """(line of the opening brace, number of lines, name) of each outermost function body.

    Braces are counted, nothing is parsed: a brace outside of functions opens one if what stands
    before it since the last statement has a parameter list and is no class, namespace or value.
    """
    stack = []
    head = ""
    parens = 0
    for number, text in enumerate(source.code, 1):
        if text.lstrip().startswith("#"):
            continue
        for char in text + "\n":
            inside = any(block.kind != "scope" for block in stack)
            if char == "{":
                nested = inside or parens > 0
                block = _Block("other", number) if nested else _classify(head, number)
                stack.append(block)
                if not inside and block.kind != "other":
                    head = ""
            elif char == "}":
                block = stack.pop() if stack else _Block("scope", number)
                if block.kind == "function":
                    yield block.line, number - block.line + 1, block.name
                if block.kind != "other":
                    head = ""
                elif not any(outer.kind != "scope" for outer in stack):
                    head += "}"
            elif inside:
                pass
            elif char == ";" and parens == 0:
                head = ""
            else:
                parens += {"(": 1, ")": -1}.get(char, 0)
                head += char


def _classify(head, line):
    head = " ".join(head.split())
    plain = re.sub(r"\boperator\s*[=!<>]=?", "operator", head)
    params = plain.find("(")
    if re.search(r"\b(namespace|extern)\b", plain) and params < 0:
        return _Block("scope", line)
    if re.search(r"\benum\b", plain):
        return _Block("other", line)
    # `class SLEY_API x {`, `struct alignas(64) x {`: a parameter list comes after the last name
    if re.search(r"(?<![<,] )(?<!<)\b(class|struct|union)\b[^=;]*$", plain) and not re.search(
            r"\b(class|struct|union)\b[^()]*\w\s*\(.*\)[^()]*$",
            re.sub(r"\b(alignas|__attribute__|SLEY_\w+)\s*\([^()]*(\([^()]*\)[^()]*)*\)", "",
                   re.sub(r"template\s*<[^{}]*?>\s", "", plain))):
        return _Block("scope", line)
    if params < 0 or re.search(r"=\s*[^()]*$", plain):
        return _Block("other", line)
    # A brace after `) : member_` initialises a member; the body comes later.
    if re.search(r"\)[^:]*(?<!:):(?!:)(.*[\w>])?$", plain) and plain[-1] not in ")}":
        if not re.search(r"\)\s*$|\bconst$|\bnoexcept$|\boverride$|\bfinal$", plain):
            return _Block("other", line)
    name = re.search(r"([\w:~]+)\s*\($", plain[:params + 1])
    return _Block("function", line, name[1] if name else "function")
