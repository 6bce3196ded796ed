#!/usr/bin/env python3
"""What Doxygen sees of a header's comments.

usage: headers_test.py
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "docs"))
import headers  # noqa: E402


def shown(text):
    return "\n".join(headers.Converter(text.split("\n")).convert())


class Headers(unittest.TestCase):
    def test_a_comment_belongs_to_the_declaration_below(self):
        self.assertEqual(shown("// Says it.\nvoid f();"), "/// Says it.\nvoid f();")

    def test_a_comment_beside_a_declaration_belongs_to_it(self):
        self.assertEqual(shown("struct s {\n  int a = 0;  // of a\n};"),
                         "struct s {\n  int a = 0; ///< of a\n};")

    def test_an_empty_line_ends_what_a_comment_belongs_to(self):
        self.assertEqual(shown("// Of f.\nvoid f();\n\nvoid g();"), "/// Of f.\nvoid f();\n\nvoid g();")
        self.assertEqual(shown("// Of nothing.\n\nvoid g();"), "\n\nvoid g();")

    def test_declarations_in_a_row_share_a_comment(self):
        self.assertEqual(shown("// Of both.\nvoid f();\nvoid g();"),
                         "/// Of both.\nvoid f();\n/** Of both. */ void g();")

    def test_an_overload_takes_the_comment_beside_the_line_before(self):
        self.assertEqual(shown("// Of f.\nvoid f();\nint g();  // throws\nint g(int&);"),
                         "/// Of f.\nvoid f();\nint g(); ///< throws\n/** throws */ int g(int&);")

    def test_bodies_are_no_declarations(self):
        text = "// Of f.\nvoid f() {\n  int a = 1;  // of no name\n\n  g(a);\n}"
        self.assertEqual(shown(text), text.replace("// Of", "/// Of").replace("  // of no name", ""))

    def test_private_parts_and_details_are_left_out(self):
        self.assertNotIn("x_", shown("// C.\nclass c {\n public:\n  c();\n\n private:\n  int x_;\n};"))
        self.assertNotIn("f()", shown("namespace detail {\nvoid f();\n}"))
        self.assertNotIn("a_", shown("namespace detail {\n// D.\nstruct d {\n  int a_;\n};\n}"))

    def test_what_needs_no_comment_is_left_out(self):
        text = shown("// C.\nstruct c {\n  c(const c&) = delete;\n  ~c();\n  c(c&&) noexcept;\n\n"
                     "  friend bool operator==(const c&, const c&);\n};")
        for name in ("delete", "~c", "c&&", "operator=="):
            self.assertNotIn(name, text)

    def test_members_of_a_standard_class_are_the_standards(self):
        self.assertIn("/** As in std::latch. */   void f();",
                      shown("// As std::latch.\nclass l {\n public:\n  void f();\n};"))

    def test_commands_of_doxygen_are_texts(self):
        self.assertEqual(shown(r'// "@name", <a.hpp>, \n, 5 % of #3.' + "\nvoid f();"),
                         r'/// "\@name", \<a.hpp\>, \\n, 5 \% of \#3.' + "\nvoid f();")

    def test_indented_lines_are_code(self):
        self.assertEqual(shown("// So:\n//   f<int>();\n// and on.\nvoid f();"),
                         "/// So:\n/// @code f<int>(); @endcode\n/// and on.\nvoid f();")

    def test_lines_keep_their_numbers(self):
        for root, _, names in os.walk(os.path.join(os.path.dirname(__file__), "..", "..", "include")):
            for name in names:
                with open(os.path.join(root, name), encoding="utf-8") as file:
                    text = file.read()
                if "detail" not in root:
                    self.assertEqual(shown(text).count("\n"), text.count("\n"), name)


if __name__ == "__main__":
    unittest.main()
