#include "debug/profile_message.hpp"

#include "base/print.hpp"
#include "platform/loaded_code.hpp"

#include <sley/detail/escape.hpp>

#include <unistd.h>

#include <climits>

namespace sley::debug {

namespace {

// The numbers of the fields in profile.proto.
namespace in_profile {
enum : std::uint32_t {
  sample_type = 1,
  sample,
  mapping,
  location,
  function,
  string_table,
  time_nanos = 9,
  duration_nanos,
  period_type,
  period,
};
}  // namespace in_profile
namespace in_value_type {
enum : std::uint32_t { type = 1, unit };
}  // namespace in_value_type
namespace in_sample {
enum : std::uint32_t { location_id = 1, value, label };
}  // namespace in_sample
namespace in_label {
enum : std::uint32_t { key = 1, str };
}  // namespace in_label
namespace in_mapping {
enum : std::uint32_t {
  id = 1,
  memory_start,
  memory_limit,
  file_offset,
  filename,
  build_id,
  has_functions,
  has_filenames,
  has_line_numbers,
  has_inline_frames,
};
}  // namespace in_mapping
namespace in_location {
enum : std::uint32_t { id = 1, mapping_id, address, line };
}  // namespace in_location
namespace in_line {
enum : std::uint32_t { function_id = 1, line };
}  // namespace in_line
namespace in_function {
enum : std::uint32_t { id = 1, name, system_name, filename };
}  // namespace in_function

// The program's own file, which the loader has no name for.
std::string own_file() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

std::uint64_t nanoseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

}  // namespace

profile_message::profile_message(std::initializer_list<profile_unit> values,
                                 profile_unit period_unit, std::int64_t period,
                                 const platform::symbol_source& names)
    : names_(names) {
  text("");  // the first text must be empty
  for (const profile_unit& v : values) {
    message_.add_message(in_profile::sample_type, unit_message(v));
  }
  message_.add_message(in_profile::period_type, unit_message(period_unit));
  message_.add_number(in_profile::period, static_cast<std::uint64_t>(period));
  message_.add_number(in_profile::time_nanos, nanoseconds_now());
  names.for_each_code(&profile_message::keep_mapping, this);
}

void profile_message::set_duration(std::chrono::nanoseconds duration) {
  message_.add_number(in_profile::duration_nanos, static_cast<std::uint64_t>(duration.count()));
}

void profile_message::add_sample(std::span<const std::uintptr_t> stack,
                                 std::span<const std::uint64_t> values,
                                 std::initializer_list<profile_label> labels,
                                 std::span<const label> labels_of_goroutine) {
  protobuf_message sample;
  std::vector<std::uint64_t> ids;
  for (const std::uintptr_t frame : stack) ids.push_back(location(frame));
  sample.add_numbers(in_sample::location_id, ids);
  sample.add_numbers(in_sample::value, values);
  for (const profile_label& l : labels) add_label(sample, l);
  for (const label& l : labels_of_goroutine) add_label(sample, {l.key, l.value});
  message_.add_message(in_profile::sample, sample);
}

void profile_message::add_label(protobuf_message& sample, const profile_label& label) {
  if (label.text.empty()) return;
  protobuf_message part;
  part.add_number(in_label::key, text(label.key));
  part.add_number(in_label::str, text(label.text));
  sample.add_message(in_sample::label, part);
}

protobuf_message profile_message::unit_message(const profile_unit& u) {
  protobuf_message m;
  m.add_number(in_value_type::type, text(u.type));
  m.add_number(in_value_type::unit, text(u.unit));
  return m;
}

// Messages refer to texts by their place in one list. They must be valid UTF-8.
std::uint64_t profile_message::text(std::string_view text) {
  std::string shown;
  sley::detail::escape(text, [&](std::string_view piece) { shown += piece; });
  const auto [at, is_new] = text_numbers_.try_emplace(shown, texts_.size());
  if (is_new) texts_.push_back(shown);
  return at->second;
}

// ---- locations and functions ----

std::uint64_t profile_message::location(std::uintptr_t return_address) {
  const auto [at, is_new] = locations_.try_emplace(return_address, locations_.size() + 1);
  if (is_new) add_location(at->second, return_address);
  return at->second;
}

void profile_message::add_location(std::uint64_t id, std::uintptr_t return_address) {
  const std::uintptr_t call = return_address - 1;  // what pprof calls an address is in the call
  const std::uint64_t in = mapping_of(call);
  const std::vector<code_line>& lines = names_.of(return_address);
  protobuf_message location;
  location.add_number(in_location::id, id);
  location.add_number(in_location::mapping_id, in);
  location.add_number(in_location::address, call);
  bool has_lines = false;
  for (const code_line& l : lines) {
    protobuf_message line;
    line.add_number(in_line::function_id, function(l));
    line.add_number(in_line::line, static_cast<std::uint64_t>(l.line));
    location.add_message(in_location::line, line);
    has_lines |= l.line != 0;
  }
  message_.add_message(in_profile::location, location);
  if (in == 0) return;
  mapping& m = mappings_[in - 1];
  m.is_used = true;
  m.lacks_names |= lines.empty();
  m.has_lines |= has_lines;
}

std::uint64_t profile_message::function(const code_line& line) {
  std::string key = line.linker_name;
  key += '\0';
  key += line.file;
  const auto [at, is_new] = functions_.try_emplace(std::move(key), functions_.size() + 1);
  if (!is_new) return at->second;
  protobuf_message function;
  function.add_number(in_function::id, at->second);
  function.add_number(in_function::name, text(line.function));
  function.add_number(in_function::system_name, text(line.linker_name));
  function.add_number(in_function::filename, text(line.file));
  message_.add_message(in_profile::function, function);
  return at->second;
}

// ---- mappings ----

void profile_message::keep_mapping(void* self, const platform::loaded_code& code) {
  auto* p = static_cast<profile_message*>(self);
  const std::string file = *code.file == '\0' ? own_file() : code.file;
  base::line_writer id;
  id.bytes(code.build_id);
  p->mappings_.push_back(
      {code.begin, code.end, code.file_offset, p->text(file), p->text(id.view())});
}

// Its id; 0 if the address is in code that no file has.
std::uint64_t profile_message::mapping_of(std::uintptr_t address) const {
  for (std::size_t i = 0; i < mappings_.size(); ++i) {
    if (address >= mappings_[i].begin && address < mappings_[i].end) return i + 1;
  }
  return 0;
}

// A mapping that lacks names of some locations says that it has none, which is what pprof looks for
// the file for.
void profile_message::add_mapping(std::uint64_t id, const mapping& m) {
  const bool has_names = m.is_used && !m.lacks_names;
  const bool has_lines = has_names && m.has_lines;
  protobuf_message part;
  part.add_number(in_mapping::id, id);
  part.add_number(in_mapping::memory_start, m.begin);
  part.add_number(in_mapping::memory_limit, m.end);
  part.add_number(in_mapping::file_offset, m.file_offset);
  part.add_number(in_mapping::filename, m.file);
  part.add_number(in_mapping::build_id, m.build_id);
  part.add_number(in_mapping::has_functions, has_names ? 1 : 0);
  part.add_number(in_mapping::has_filenames, has_lines ? 1 : 0);
  part.add_number(in_mapping::has_line_numbers, has_lines ? 1 : 0);
  part.add_number(in_mapping::has_inline_frames, has_lines ? 1 : 0);
  message_.add_message(in_profile::mapping, part);
}

std::string profile_message::complete() {
  for (std::size_t i = 0; i < mappings_.size(); ++i) add_mapping(i + 1, mappings_[i]);
  for (const std::string& t : texts_) message_.add_bytes(in_profile::string_table, t);
  return message_.take_bytes();
}

}  // namespace sley::debug
