// What a trace tells, in the order of time, and the formats in which it is written.
#pragma once

#include <sley/debug.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sley::debug::trace {

inline constexpr std::uint32_t no_processor = ~std::uint32_t{0};

// A goroutine, as far as it is known. Lasts as long as the reader of the trace.
struct traced_goroutine {
  std::uint64_t id = 0;  // its lower 48 bits
  std::string name;
  const void* started_at = nullptr;        // null: not known, or by a thread
  std::vector<std::string> regions;        // of the program, that it is in, outermost first
  std::uint32_t processor = no_processor;  // that it was seen to run on last
};

// What is known of a goroutine when its run ends.
enum class run_way : std::uint8_t { waits, can_go_on, ends, is_cut };  // the last: the trace ends

// One run of a goroutine on a processor, without a break. Times are of CLOCK_MONOTONIC.
struct traced_run {
  const traced_goroutine& goroutine;
  std::uint32_t processor;
  std::uint32_t machine;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  const char* end;  // why it ended: the wait reason, or a word
  run_way way;
};

// A goroutine is made runnable, or is started.
struct traced_wake {
  const traced_goroutine* waker;  // null: the runtime, after a timer or an event
  std::uint32_t processor;        // the waker's
  const traced_goroutine& goroutine;
  std::int64_t ns;
  bool is_start;
};

enum class note_kind : std::uint8_t { region_begin, region_end, task_begin, task_end, log };

// What the program notes.
struct traced_note {
  note_kind kind;
  const traced_goroutine& goroutine;
  std::uint32_t processor;
  std::uint64_t task;  // 0: none
  std::string_view text;
  std::int64_t ns;
};

// Text of any bytes as dumps show it, which is valid UTF-8.
std::string shown(std::string_view text);
// "name, goroutine 7", as shown.
std::string title(const traced_goroutine& g);

// A file of a trace. What can't be written is an error at the end. Not for several threads at once.
class trace_file {
 public:
  // std::system_error: it can't be made.
  explicit trace_file(const std::string& path);

  trace_file& text(std::string_view text);
  trace_file& number(std::uint64_t n);
  // Nanoseconds as microseconds, with three decimals.
  trace_file& us(std::int64_t ns);
  // In the quotes of JSON. The text is as of shown().
  trace_file& in_quotes(std::string_view text);

  // Closes it. std::system_error: not all could be written.
  void complete();

 private:
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, closer> out_;
};

// Writes one format. Events come in the order of time, but a run comes at its end.
class trace_writer {
 public:
  virtual ~trace_writer() = default;
  virtual void add_processor(std::uint32_t id) = 0;
  virtual void add_run(const traced_run& run) = 0;
  virtual void add_wake(const traced_wake& wake) = 0;
  virtual void add_note(const traced_note& note) = 0;
  // All events have come, but for this many.
  virtual void complete(std::uint64_t lost) = 0;
};

// To be used with a stack as that of on_large_stack(), because code has names. std::system_error:
// the file can't be made.
std::unique_ptr<trace_writer> make_json_writer(const std::string& path);
std::unique_ptr<trace_writer> make_perfetto_writer(const std::string& path);

// Where goroutines were started, as text: the function, and the line if it is known. Each is looked
// up once. For a stack as that of on_large_stack().
class start_places {
 public:
  start_places();
  ~start_places();
  const std::string& operator[](const void* pc);

 private:
  struct names;
  std::unique_ptr<names> names_;
};

}  // namespace sley::debug::trace
