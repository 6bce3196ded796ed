// Reads the rings of a trace and tells a writer what happened, in the order of time.
#pragma once

#include "debug/trace_writer.hpp"
#include "runtime/state/run_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sley::debug::trace {

// Memory for the rings of all processors that there may ever be; pages are taken where events are.
class trace_rings {
 public:
  // The size of one processor's ring: 64 KiB to 256 MiB, rounded up to a power of two.
  // std::bad_alloc.
  explicit trace_rings(std::size_t bytes_each);
  ~trace_rings();
  trace_rings(const trace_rings&) = delete;
  trace_rings& operator=(const trace_rings&) = delete;

  const rt::trace_memory& memory() const noexcept { return memory_; }

 private:
  std::size_t bytes_;
  rt::trace_memory memory_;
};

// A reading of both clocks.
struct clock_pair {
  std::uint64_t ticks;
  std::int64_t ns;

  static clock_pair now() noexcept;
};

class trace_reader {
 public:
  // Tells the events that are to come, and if `is_all` the ones that the rings have now. `since`:
  // a reading from before the first of them. The rings must last longer.
  trace_reader(const trace_rings& rings, const clock_pair& since, bool is_all);

  // Tells what has happened until now, but for runs that go on.
  void read(trace_writer& to);
  // Tells the rest. Returns how many events are lost in all; a text counts as several.
  std::uint64_t complete(trace_writer& to);

 private:
  struct note {
    std::uint64_t task = 0;
    std::string text;
    std::size_t bytes = 0;  // of the whole text
    bool has_task = false;
  };
  struct event {
    std::uint64_t ticks = 0;
    std::uint64_t order = 0;  // of the events at one tick
    rt::trace_word what{};
    std::uint32_t processor = 0;
    std::unique_ptr<note> text;  // null if there is none
  };
  // What is known of a processor.
  struct timeline {
    std::uint64_t next = 0;  // the first slot of its ring that is not read yet
    std::uint64_t last_ticks = 0;
    traced_goroutine* named = nullptr;  // its name is being read
    std::size_t name_bytes = 0;
    note* open_note = nullptr;  // its text is being read

    traced_goroutine* runs = nullptr;
    std::int64_t since_ns = 0;
    std::uint32_t machine = 0;
  };

  void take_slots();
  void take(std::uint32_t processor, std::uint64_t first, std::uint64_t second);
  void take_text(timeline& of, std::uint64_t piece);
  event& add(std::uint64_t ticks, rt::trace_word what, std::uint32_t processor);
  void tell_until(std::uint64_t ticks, trace_writer& to);
  void tell(const event& e, trace_writer& to);
  void tell_note(const event& e, std::int64_t ns, trace_writer& to);
  void end_run(std::uint32_t processor, std::int64_t ns, const char* end, run_way way,
               trace_writer& to);
  void take_away(const traced_goroutine& g, std::uint32_t processor);
  void forget(const traced_goroutine& g);
  std::int64_t ns_of(std::uint64_t ticks) const;
  traced_goroutine& goroutine(std::uint64_t id);

  const trace_rings& rings_;
  bool wants_old_;
  std::vector<timeline> timelines_;
  std::uint32_t told_processors_ = 0;
  std::vector<event> events_;  // not told yet
  std::uint64_t order_ = 0;
  std::uint64_t lost_ = 0;
  std::unordered_map<std::uint64_t, traced_goroutine> goroutines_;
  std::unordered_map<std::uint64_t, std::string> tasks_;  // that go on
  clock_pair before_;  // readings before and after the events that are being told
  clock_pair after_;
};

}  // namespace sley::debug::trace
