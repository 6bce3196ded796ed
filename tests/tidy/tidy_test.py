#!/usr/bin/env python3
"""Tests of tools/tidy: each check on a small tree that breaks its rule and on one that does not."""
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "tidy"))
import labels  # noqa: E402
import tidy  # noqa: E402
from source import Source, functions  # noqa: E402


def lengths(text):
    return [(name, count) for _, count, name in functions(Source("x.cpp", text))]


class TreeCase(unittest.TestCase):
    def run_check(self, check, files):
        """What a check says of a tree of these files: ["path:line", ...]."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            self.found = sorted(set(check(tidy.Tree(root))))
        return [f"{f.path}:{f.line}" for f in self.found]


class Includes(TreeCase):
    def test_a_folder_may_include_itself_and_the_left(self):
        self.assertEqual([], self.run_check(tidy.check_include_arrows, {
            "src/parts/a.hpp": '#include "parts/b.hpp"\n#include "base/c.hpp"\n'}))

    def test_a_folder_may_not_include_the_right(self):
        self.assertEqual(["src/parts/a.hpp:2"], self.run_check(tidy.check_include_arrows, {
            "src/parts/a.hpp": '#pragma once\n#include "runtime/b.hpp"\n'}))

    def test_a_folder_apart_includes_itself_alone(self):
        self.assertEqual(["src/io/a.cpp:1", "src/tls/a.cpp:2"],
                         self.run_check(tidy.check_include_arrows, {
                             "src/tls/a.cpp": '#include "tls/b.hpp"\n#include "io/b.hpp"\n',
                             "src/io/a.cpp": '#include "tls/b.hpp"\n'}))

    def test_only_full_paths(self):
        self.assertEqual(["src/io/a.cpp:1", "src/io/a.cpp:2"],
                         self.run_check(tidy.check_include_arrows, {
                             "src/io/a.cpp": '#include "a.hpp"\n#include "../io/a.hpp"\n'}))

    def test_an_include_in_a_comment_does_not_count(self):
        self.assertEqual([], self.run_check(tidy.check_include_arrows, {
            "src/base/a.hpp": '// #include "io/b.hpp"\n/*\n#include "io/b.hpp"\n*/\n'}))

    def test_a_folder_outside_the_order(self):
        self.assertEqual(["src/misc/a.hpp:1"], self.run_check(tidy.check_include_arrows, {
            "src/misc/a.hpp": "#pragma once\n"}))

    def test_a_room_may_include_itself_and_those_below(self):
        self.assertEqual([], self.run_check(tidy.check_room_arrows, {
            "src/runtime/run/a.hpp": '#include "runtime/run/b.hpp"\n#include "runtime/state/c.hpp"\n'
                                     '#include "parts/d.hpp"\n',
            "src/sync/a.cpp": '#include "runtime/entry/b.hpp"\n'}))

    def test_a_room_may_not_include_one_above(self):
        self.assertEqual(["src/runtime/queue/a.cpp:2", "src/runtime/watchdog/a.hpp:1"],
                         self.run_check(tidy.check_room_arrows, {
                             "src/runtime/queue/a.cpp":
                                 '#include "runtime/queue/b.hpp"\n#include "runtime/run/c.hpp"\n',
                             "src/runtime/watchdog/a.hpp": '#include "runtime/entry/b.hpp"\n'}))

    def test_each_file_of_the_runtime_is_in_a_room(self):
        self.assertEqual(["src/runtime/a.cpp:1", "src/runtime/misc/a.cpp:1"],
                         self.run_check(tidy.check_room_arrows, {
                             "src/runtime/a.cpp": "\n", "src/runtime/misc/a.cpp": "\n"}))

    def test_public_headers_see_no_system_and_no_src(self):
        self.assertEqual(
            [f"include/sley/a.hpp:{line}" for line in (1, 2, 3, 4)],
            self.run_check(tidy.check_public_headers, {
                "include/sley/a.hpp": "#include <unistd.h>\n#include <sys/epoll.h>\n"
                                      '#include "runtime/a.hpp"\n#include <parts/a.hpp>\n'
                                      "#include <vector>\n#include <sley/b.hpp>\n"
                                      "#include <cxxabi.h>\n"}))

    def test_conformance_tests_see_public_headers_only(self):
        self.assertEqual(["tests/conformance/a_test.cpp:2"],
                         self.run_check(tidy.check_conformance_includes, {
                             "tests/conformance/a_test.cpp":
                                 '#include "support/harness.hpp"\n#include "runtime/park.hpp"\n'}))

    def test_no_line_begins_like_a_directive_of_modules(self):
        self.assertEqual(["src/base/a.cpp:2"], self.run_check(tidy.check_module_words, {
            "src/base/a.cpp": "struct s {\n  module modules_[4];\n  int module = 0;\n};\n// import x\n",
            "tests/module/main.cpp": "import sley;\n"}))

    def test_headers_have_pragma_once(self):
        self.assertEqual(["src/base/a.hpp:1"], self.run_check(tidy.check_pragma_once, {
            "src/base/a.hpp": "// #pragma once\n", "src/base/b.hpp": "// b\n#pragma once\n"}))


class Words(TreeCase):
    def test_conditional_compilation(self):
        text = "#ifdef X\n#endif\n#if 1\n#endif\n"
        self.assertEqual(["src/sync/a.cpp:1", "src/sync/a.cpp:3"],
                         self.run_check(tidy.check_conditional_compilation, {
                             "src/sync/a.cpp": text, "src/platform/a.cpp": text}))

    def test_atomics_only_in_their_header(self):
        text = ("std::atomic<int> a;\n__atomic_load_n(p, 0);\n"
                "// std::atomic\nstd::atomic_signal_fence(o);\n")
        self.assertEqual(["src/parts/a.hpp:1", "src/parts/a.hpp:2"],
                         self.run_check(tidy.check_confined_words, {
                             "src/parts/a.hpp": text, "include/sley/detail/atomic.hpp": text,
                             "tests/unit/parts/a_test.cpp": text}))

    def test_thread_locals_only_in_current(self):
        text = "thread_local int a;\n"
        self.assertEqual(["src/platform/clock.cpp:1"], self.run_check(tidy.check_confined_words, {
            "src/platform/clock.cpp": text, "src/platform/current.cpp": text}))

    def test_fences_only_in_platform(self):
        text = 'std::atomic_thread_fence(order);\nputs("atomic_thread_fence");\n'
        self.assertEqual(["src/runtime/a.cpp:1"], self.run_check(tidy.check_confined_words, {
            "src/runtime/a.cpp": text, "src/platform/barrier.cpp": text}))

    def test_a_cpu_only_in_its_folder(self):
        text = ('#if defined(__aarch64__)\n#endif\nasm volatile("wfe");\n__builtin_ia32_pause();\n'
                'asm volatile("" : : "r"(x));\n// __x86_64__ and asm\n'
                'extern int f() asm("_dl_find");\n#include <immintrin.h>\n#ifdef __riscv_vector\n'
                '#if __riscv_xlen == 64 || __loongarch64\nint __charm;\n')
        self.assertEqual(["src/base/a.S:1"] +
                         [f"src/base/a.cpp:{line}" for line in (1, 3, 4, 8, 9, 10)],
                         self.run_check(tidy.check_cpu_words, {
                             "src/base/a.cpp": text, "src/base/a.S": "wfe\n",
                             "src/platform/m68k/cpu/a.hpp": text, "src/platform/m68k/a.S": "wfe\n",
                             "tests/unit/a_test.cpp": text}))

    def test_every_cpu_has_the_headers_of_the_others(self):
        self.assertEqual(["src/platform/z80/cpu/b.hpp:1"], self.run_check(tidy.check_cpu_folders, {
            "src/platform/m68k/cpu/a.hpp": "", "src/platform/m68k/cpu/b.hpp": "",
            "src/platform/z80/cpu/a.hpp": "", "src/platform/z80/c.cpp": ""}))

    def test_platform_alone_includes_the_cpu(self):
        text = '#include "cpu/a.hpp"\n'
        self.assertEqual(["src/parts/a.cpp:1"], self.run_check(tidy.check_include_arrows, {
            "src/parts/a.cpp": text, "src/platform/a.cpp": text}))

    def test_leftovers(self):
        word = "TO" + "DO"
        self.assertEqual(["tests/unit/a_test.cpp:1"], self.run_check(tidy.check_leftovers, {
            "tests/unit/a_test.cpp": f"// {word} later\nint {word}LIST;\n"}))


class Labels(TreeCase):
    DEFINITION = "// RQ-1  push publishes the slot: release <-> acquire\n"
    SOURCE = DEFINITION + "f(); // RQ-1: a\nf(); // RQ-1: b\n"

    @staticmethod
    def table_of(definition):
        path = "src/parts/a.hpp"
        return labels.table({"RQ-1": [(path, 1)]}, lambda *_: definition.splitlines()[0][2:])

    def test_both_sides_cite_by_comment_or_by_argument(self):
        self.assertEqual([], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": self.DEFINITION + "int tail_;  // [atomic RQ-1]\n"
                               'tail_.store_release(1, "RQ-1");\n'
                               "tail_.load();  // RQ-1: sees the slot\n"}))

    def test_a_mention_is_a_citation_but_a_field_rule_is_not(self):
        self.assertEqual([], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": self.DEFINITION + "f();  // RQ-1\n// True: claim again (RQ-1).\n"}))
        self.assertEqual(["src/parts/a.hpp:1"], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": self.DEFINITION + "f();  // RQ-1\nint a;  // [atomic RQ-1]\n"}))

    def test_an_invariant_without_two_sides_is_cited_once(self):
        invariant = "// RQ-3  the ring is never\n//       over capacity\n"
        self.assertEqual([], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": invariant + "f();  // RQ-3\n"}))
        self.assertEqual(["src/parts/a.hpp:1"], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": invariant}))

    def test_one_line_is_one_place(self):
        self.assertEqual(["src/parts/a.hpp:1"], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": self.DEFINITION + 'a.store(1, "RQ-1");  // RQ-1: published\n'}))

    def test_defined_once(self):
        self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": self.DEFINITION * 2 + "f(); // RQ-1: a\nf(); // RQ-1: b\n"})
        self.assertEqual(["label RQ-1 is already defined at src/parts/a.hpp:1"],
                         [f.message for f in self.found])

    def test_cited_but_not_defined(self):
        self.assertEqual([f"src/parts/a.hpp:{line}" for line in (1, 2, 2, 3)],
                         self.run_check(tidy.check_order_labels, {
                             "src/parts/a.hpp": 'a.load_acquire("RQ-7");\n// RQ-8, RQ-9: both\n'
                                                "int a;  // [atomic RQ-7]\n"}))

    def test_a_quoted_label_in_a_comment_is_neither(self):
        self.assertEqual([], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": '// as in load_acquire("RQ-7"); UTF-8: fine\n'}))

    def test_heading_of_an_undefined_label(self):
        page = labels.replaced(f"{labels.BEGIN}\n\n\n\n{labels.END}\n## RQ-2\n",
                               self.table_of(self.SOURCE))
        self.assertEqual(["docs/memory_orders.md:8"], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": self.SOURCE, labels.PAGE: page}))

    def test_the_table_of_labels_is_current(self):
        page = f"{labels.BEGIN}\n\nold\n\n{labels.END}\n"
        self.assertEqual(["docs/memory_orders.md:1"], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": self.SOURCE, labels.PAGE: page}))
        page = labels.replaced(page, self.table_of(self.SOURCE))
        self.assertIn("| RQ-1 | `src/parts/a.hpp` |", page)
        self.assertEqual([], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": self.SOURCE, labels.PAGE: page}))

    def test_a_page_without_a_table(self):
        self.assertEqual(["docs/memory_orders.md:1"], self.run_check(tidy.check_order_labels, {
            "src/parts/a.hpp": self.SOURCE, labels.PAGE: "## RQ-1: the ring's tail\n"}))


class Tuning(TreeCase):
    CODE = "constexpr std::int64_t longest_ns = 10'000;  // in all\n"
    ROW = "| `longest_ns` | 10'000 | `src/runtime/run/a.cpp` | in all | Go |\n"

    def test_a_constant_has_a_row_with_its_value(self):
        self.assertEqual([], self.run_check(tidy.check_tuning, {
            "src/runtime/run/a.cpp": self.CODE, "docs/tuning.md": self.ROW}))

    def test_a_constant_without_a_row(self):
        self.assertEqual(["src/runtime/run/a.cpp:1"], self.run_check(tidy.check_tuning, {
            "src/runtime/run/a.cpp": self.CODE, "docs/tuning.md": ""}))

    def test_a_row_with_another_value(self):
        self.assertEqual(["docs/tuning.md:1", "src/runtime/run/a.cpp:1"],
                         self.run_check(tidy.check_tuning, {
                             "src/runtime/run/a.cpp": self.CODE,
                             "docs/tuning.md": self.ROW.replace("10'000", "20'000")}))


class InternalsMap(TreeCase):
    PAGE = "docs/go_internals_map.md"
    FILES = {"src/parts/a.hpp": "struct ring { void push(); };\n", "src/parts/b.cpp": "int spill;\n"}

    def test_names_are_in_the_files_of_their_rows(self):
        self.assertEqual([], self.run_check(tidy.check_internals_map, {
            **self.FILES, self.PAGE: "| Go | sley | file |\n|---|---|---|\n"
            "| `runqput` | `ring::push`, `spill` | src/parts/a.hpp, src/parts/b.cpp |\n"}))

    def test_a_name_that_is_elsewhere(self):
        self.assertEqual([f"{self.PAGE}:1"], self.run_check(tidy.check_internals_map, {
            **self.FILES, self.PAGE: "| `runqput` | `ring::push`, `spill` | src/parts/a.hpp |\n"}))


class TestIds(TreeCase):
    ROW = "| A2 | TestChan | a fact | `unit/a_test.cpp` |\n"

    def test_an_id_has_a_row_that_names_the_file(self):
        files = {"tests/unit/a_test.cpp": "// A2, TestChan\n", "tests/README.md": self.ROW}
        self.assertEqual([], self.run_check(tidy.check_test_ids, files))

    def test_an_id_without_a_row(self):
        self.assertEqual(["tests/unit/a_test.cpp:1"], self.run_check(tidy.check_test_ids, {
            "tests/unit/a_test.cpp": "// A2 and A3\n", "tests/README.md": self.ROW}))

    def test_a_file_that_its_row_does_not_name(self):
        self.assertEqual(["tests/README.md:1"], self.run_check(tidy.check_test_ids, {
            "tests/unit/a_test.cpp": "", "tests/unit/b_test.cpp": "// A2\n",
            "tests/README.md": self.ROW}))

    def test_a_file_that_is_gone(self):
        self.assertEqual(["tests/README.md:1"], self.run_check(tidy.check_test_ids, {
            "tests/README.md": self.ROW}))


class Promises(TreeCase):
    TABLE = "| promise | test |\n|---|---|\n| it `does` | `a.b`, `a.c` |\n"

    def test_tests_that_there_are(self):
        self.assertEqual([], self.run_check(tidy.check_promised_tests, {
            "docs/tls.md": self.TABLE,
            "tests/tls/a_test.cpp": "GO_TEST(a, b) {}\n", "tests/tls/b_test.cpp": "TEST(a,\n  c) {}\n"}))

    def test_a_test_that_is_gone(self):
        self.assertEqual(["docs/tls.md:3"], self.run_check(tidy.check_promised_tests, {
            "docs/tls.md": self.TABLE, "tests/tls/a_test.cpp": "GO_TEST(a, b) {}\n// TEST(a, c)\n"}))
        self.assertEqual("there is no test a.c", self.found[0].message)

    def test_a_row_without_a_test(self):
        self.assertEqual(["tests/http/README.md:3"], self.run_check(tidy.check_promised_tests, {
            "tests/http/README.md": "| promise | test |\n|---|---|\n| it `does` | handler |\n"}))


class Cited(TreeCase):
    TESTS = {"tests/unit/a_test.cpp": "TEST(a, close_wakes_every_receiver) {}\n"}

    def test_tests_that_there_are(self):
        self.assertEqual([], self.run_check(tidy.check_cited_tests, {
            **self.TESTS, "docs/a.md": "`unit_a.close_wakes_every_receiver`, `.close_wakes_every_…`,\n"
                                       "`a.hpp`, `options::max_steps`, `run.max_procs`\n"}))

    def test_tests_that_are_gone(self):
        self.assertEqual(["docs/a.md:1", "docs/a.md:2"], self.run_check(tidy.check_cited_tests, {
            **self.TESTS, "docs/a.md": "`unit_a.close_wakes_every_sender`\n`….close_wakes_one_…`\n"}))


class Prose(TreeCase):
    def test_a_comment_that_hides_its_subject(self):
        self.assertEqual([f"src/io/a.cpp:{line}" for line in range(1, 6)],
                         self.run_check(tidy.check_prose, {
                             "src/io/a.cpp": "// Who comes first.\n// those that wait\n"
                                             "// nobody waits\n// for so long\n"
                                             "// It stops, for it is done.\n"}))

    def test_plain_comments_and_code(self):
        self.assertEqual([], self.run_check(tidy.check_prose, {
            "src/io/a.cpp": 'int who = 0;  // the caller waits as long as it can\nf("nobody");\n'
                            "// a lock for the list, for its owner alone\n"}))


class TestNames(TreeCase):
    def test_a_name_that_hides_its_subject(self):
        text = ("TEST(chan, who_waits_is_woken) {}\nGO_TEST(os, closing_ends_those_who_read) {}\n"
                "TEST_F(nobody_polls, a_wait) {}\nTEST_P(queue, what_is_ready_is_found) {}\n"
                "TEST(pool,\n  keeps_only_so_many) {}\nCHILD_MAIN(kills_somebody) {\n"
                "SOAK_LAP(tells_everybody) {}\nstruct who_sees : model::suite<who_sees, 2> {\n"
                "TEST(mutex, one_who_holds_it) {}\nTEST(copy, what_closes_ends) {}\n")
        self.assertEqual([f"tests/unit/a_test.cpp:{line}" for line in [*range(1, 6), *range(7, 12)]],
                         self.run_check(tidy.check_test_names, {"tests/unit/a_test.cpp": text}))
        self.assertIn("'so_many' in keeps_only_so_many: name the subject",
                      [f.message for f in self.found])

    def test_names_that_are_claims(self):
        self.assertEqual([], self.run_check(tidy.check_test_names, {
            "tests/unit/a_test.cpp": "TEST(chan, close_wakes_every_receiver) {}\n"
                                     "TEST(the_heap, whole_and_hers) {}\n// TEST(a, who_waits)\n"
                                     "TEST(run, returns_what_main_returned) {}\nint nobody;\n",
            "src/parts/a.hpp": "TEST(chan, who_waits) {}\n"}))


class Sizes(TreeCase):
    def test_columns_are_characters(self):
        self.assertEqual(["src/base/a.hpp:2"], self.run_check(tidy.check_columns, {
            "src/base/a.hpp": "→" * 100 + "\n" + "x" * 101 + "\n"}))

    def test_pipes_into_readers_that_end_early(self):
        self.assertEqual(["dev:2", "dev:3", "tests/a/b.sh:1"], self.run_check(tidy.check_pipes, {
            "dev": "grep -q a file || grep b | sort\nf | grep -Eq a\nf | head -n 1\n# f | head\n"
                   "g | sed -n 's/q/p/p'\n",
            "tests/a/b.sh": "f | sed 1q\n"}))

    def test_file_lengths(self):
        self.run_check(tidy.check_file_lengths, {
            "src/base/a.hpp": "\n" * 401, "src/base/b.hpp": "\n" * 601,
            "src/base/c.hpp": "\n" * 400, "tests/unit/d_test.cpp": "\n" * 601})
        self.assertEqual([("src/base/a.hpp", True), ("src/base/b.hpp", False),
                          ("tests/unit/d_test.cpp", True)],
                         [(f.path, f.warning) for f in self.found])

    def test_function_lengths(self):
        def function(lines):
            return "void f() {\n" + "  g();\n" * (lines - 2) + "}\n"
        self.run_check(tidy.check_function_lengths, {
            "src/base/a.cpp": function(40), "src/base/b.cpp": function(41),
            "src/base/c.cpp": function(71)})
        self.assertEqual([("src/base/b.cpp", True), ("src/base/c.cpp", False)],
                         [(f.path, f.warning) for f in self.found])


class Functions(unittest.TestCase):
    def test_methods_in_classes_in_namespaces(self):
        self.assertEqual([("f", 2), ("operator", 1), ("g", 1)], lengths(
            "namespace a::b {\nclass SLEY_API x final : public y {\n public:\n"
            "  int f() const noexcept {\n  }\n  x& operator=(const x&) { return *this; }\n"
            "  int v_{3};\n  enum class e { one, two };\n};\n}\nvoid g() {}\n"))

    def test_nested_braces_belong_to_the_outermost(self):
        self.assertEqual([("f", 5)], lengths(
            "void f() {\n  if (a) {\n    run([] { g(); });\n  }\n}\n"))

    def test_member_initialisers(self):
        self.assertEqual([("x::x", 2), ("after", 1)], lengths(
            "x::x(int a)\n    : a_{a}, b_(a), c_{1, 2} {\n}\nvoid after() {}\n"))

    def test_aligned_class_is_no_function(self):
        self.assertEqual([("f", 1)], lengths(
            "struct alignas(64) x {\n  int a;\n  void f() {}\n};\n"))

    def test_templates_and_returned_structs(self):
        self.assertEqual([("f", 1), ("g", 1), ("h", 2)], lengths(
            "template <class T>\nvoid f(T t) { use(t); }\nstruct x g(int a) { return {}; }\n"
            "template <class T, class U>\nstruct y {\n  void h(T t = {}) {\n  }\n};\n"))

    def test_tables_are_no_functions(self):
        self.assertEqual([], lengths("constexpr int table[] = {\n  f(1),\n  2,\n};\n"))

    def test_quotes_and_braces_in_literals_and_comments(self):
        self.assertEqual([("f", 3)], lengths(
            "void f() {  // it's {\n  puts(\"}\"); char c = '}'; int n = 1'000'000;\n"
            "  raw(R\"(\" } )\"); }\n"))

    def test_extern_c_is_a_scope(self):
        self.assertEqual([("f", 2)], lengths('extern "C" {\nvoid f(int) {\n}\n}\n'))


class Documents(TreeCase):
    def test_named_files_exist(self):
        self.assertEqual(["ARCHITECTURE.md:2", "docs/a.md:1"],
                         self.run_check(tidy.check_document_paths, {
                             "src/parts/a.hpp": "", "tests/model/a_model.cpp": "",
                             "ARCHITECTURE.md":
                                 "`src/parts/a.hpp` `parts/a.hpp`\n`src/parts/b.hpp`\n",
                             "docs/a.md":
                                 "model/a_model.cpp, model/b_model.cpp, src/runtime/proc.go, "
                                 "tokio/src/runtime/park.rs, https://x.org/src/a.md\n"}))

    def test_runtime_files_are_named(self):
        files = {"src/runtime/park.cpp": "", "src/runtime/park.hpp": "", "src/runtime/wake.cpp": ""}
        self.assertEqual([], self.run_check(tidy.check_runtime_files_documented, files))
        files["ARCHITECTURE.md"] = "`park.{hpp,cpp}` and unwake.cpp\n"
        self.assertEqual(["src/runtime/wake.cpp:1"],
                         self.run_check(tidy.check_runtime_files_documented, files))


if __name__ == "__main__":
    unittest.main()
