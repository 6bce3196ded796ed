// Profiles in pprof's format:
// https://github.com/google/pprof/blob/main/proto/profile.proto
#pragma once

#include "debug/code_names.hpp"
#include "debug/protobuf.hpp"

#include <sley/debug.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sley::platform {
struct loaded_code;
}

namespace sley::debug {

// What a figure counts, and in what.
struct profile_unit {
  std::string_view type;
  std::string_view unit;
};

struct profile_label {
  std::string_view key;
  std::string_view text;  // no label if it is empty
};

// One profile. Names of code are put into it, because pprof looks up none of C++ by itself. For a
// stack as that of on_large_stack().
class profile_message {
 public:
  // `period`: what a sample stands for, in `period_unit`. Each sample has a value for each of
  // `values`.
  profile_message(std::initializer_list<profile_unit> values, profile_unit period_unit,
                  std::int64_t period,
                  const platform::symbol_source& names = platform::own_symbols());

  // A stack of return addresses, innermost first. Equal stacks are samples of their own.
  void add_sample(std::span<const std::uintptr_t> stack, std::span<const std::uint64_t> values,
                  std::initializer_list<profile_label> labels,
                  std::span<const label> labels_of_goroutine = {});
  void set_duration(std::chrono::nanoseconds duration);

  // The message; the object can't be used any more.
  std::string complete();

 private:
  struct mapping {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::uintptr_t file_offset;
    std::uint64_t file;      // a text
    std::uint64_t build_id;  // a text
    bool is_used = false;
    bool lacks_names = false;
    bool has_lines = false;
  };

  static void keep_mapping(void* self, const platform::loaded_code& code);
  void add_label(protobuf_message& sample, const profile_label& label);
  protobuf_message unit_message(const profile_unit& u);
  std::uint64_t text(std::string_view text);
  std::uint64_t location(std::uintptr_t return_address);
  void add_location(std::uint64_t id, std::uintptr_t return_address);
  std::uint64_t function(const code_line& line);
  std::uint64_t mapping_of(std::uintptr_t address) const;
  void add_mapping(std::uint64_t id, const mapping& m);

  protobuf_message message_;
  code_names names_;
  std::vector<mapping> mappings_;  // their ids are places here, from 1
  std::unordered_map<std::string, std::uint64_t> text_numbers_;
  std::vector<std::string> texts_;
  std::unordered_map<std::uintptr_t, std::uint64_t> locations_;
  std::unordered_map<std::string, std::uint64_t> functions_;  // by name and file
};

}  // namespace sley::debug
