// The symbol tables and the debug information of files, which libbacktrace reads. A build without
// it has none: nothing is known of any address.
//
// Each file is read by itself, when something in it is asked for the first time. libbacktrace would
// read the program and all of its libraries at the first question: with Debian's libc6-dbg that is
// four times the work of a small program's report.
#pragma once

#include "platform/symbols.hpp"

#include <cstdint>

struct backtrace_state;

namespace sley::platform {

// Of the program, or of the library of this process, that has the address in it. Empty: no file has
// it, the file can't be read, or 256 files have been read already. The first call for a file reads
// its tables. If several threads do that at once, each of them reads, and the work of all but one
// is lost. What has been read is never freed: of a library that takes the place of one that was
// unloaded, nothing true is known.
line_tables line_tables_with(std::uintptr_t address) noexcept;

// Of a file that this process need not have loaded; empty if it can't be read. `bias`: the
// addresses that are asked for are larger by this than the file's own.
line_tables line_tables_of(const char* path, std::uintptr_t bias) noexcept;

// What is at `at` by the symbol tables, which name local functions and objects too. Empty if
// nothing is known, or without tables.
frame_name symbol_at(const line_tables& tables, std::uintptr_t at) noexcept;

// As describe. `real` is what symbol_at has found there. False, without a visit: nothing is known
// of it.
bool visit_lines(const line_tables& tables, std::uintptr_t at, const frame_name& real,
                 frame_visitor visit, void* arg) noexcept;

}  // namespace sley::platform
