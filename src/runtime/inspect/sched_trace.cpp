// SLEYDEBUG=schedtrace=N: the state of the scheduler in the lines of Go 1.27's schedtrace, for the
// tools and eyes that know them. Printed by sysmon, without allocating; figures of a moment, which
// may contradict each other.
#include "runtime/inspect/sched_trace.hpp"

#include "base/peek.hpp"
#include "base/print.hpp"
#include "runtime/inspect/goroutine_text.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"

#include <span>
#include <string_view>

namespace sley::rt {

namespace {

using base::peek;

// The lines of one state, which are written at once: a process that ends meanwhile shows all of
// them or none. A state that is too large is written in pieces.
class state_writer {
 public:
  explicit state_writer(std::span<char> memory) noexcept : memory_(memory) {}
  ~state_writer() { flush(); }
  state_writer(const state_writer&) = delete;
  state_writer& operator=(const state_writer&) = delete;

  state_writer& text(std::string_view s) noexcept {
    if (used_ + s.size() > memory_.size()) flush();
    used_ += s.copy(memory_.data() + used_, memory_.size() - used_);
    return *this;
  }
  state_writer& dec(std::uint64_t n) noexcept { return text(base::line_writer().dec(n).view()); }
  // An id, or nil.
  state_writer& id(bool exists, std::uint64_t n) noexcept { return exists ? dec(n) : text("nil"); }
  state_writer& boolean(bool b) noexcept { return text(b ? "true" : "false"); }
  void end() noexcept { text("\n"); }

 private:
  void flush() noexcept {
    base::write_all(2, {memory_.data(), used_});
    used_ = 0;
  }

  std::span<char> memory_;
  std::size_t used_ = 0;
};

// Go's numbers of states.
std::uint64_t number_of(const goroutine& g, const machine* m) noexcept {
  constexpr std::uint64_t go_syscall = 3;
  switch (g.status.get()) {
    case parts::status::idle: return 0;
    case parts::status::runnable: return 1;
    case parts::status::running: return m != nullptr && m->border.call() != 0 ? go_syscall : 2;
    case parts::status::waiting: return 4;
    case parts::status::dead: return 6;
  }
  return 0;
}

std::uint64_t status_of(const processor& p) noexcept { return p.m.read() == nullptr ? 0 : 1; }

void print_head(state_writer& line, std::int64_t since_start_ns) noexcept {
  constexpr std::int64_t ms = 1'000'000;
  line.text("SCHED ").dec(static_cast<std::uint64_t>(since_start_ns / ms));
  line.text("ms: gomaxprocs=").dec(sched.procs.read_relaxed());
  line.text(" idleprocs=").dec(sched.gate.idle());
  line.text(" threads=").dec(sched.threads.machines.load_relaxed() + own_threads());
  line.text(" spinningthreads=").dec(sched.gate.searching());
  line.text(" needspinning=").dec(0);
  line.text(" idlethreads=").dec(sched.idle_machine_count.load_relaxed());
  line.text(" runqueue=").dec(sched.queue.size());
}

void print_processors_short(state_writer& line) noexcept {
  const std::uint32_t procs = sched.procs.read_relaxed();
  line.text(" [ ");
  for (std::uint32_t i = 0; i < procs; ++i) line.dec(sched.processors[i].queue.size()).text(" ");
  line.text("] schedticks=[ ");
  for (std::uint32_t i = 0; i < procs; ++i) {
    line.dec(sched.processors[i].tick.load_relaxed()).text(" ");
  }
  line.text("]").end();
}

void print_processor(state_writer& line, const processor& p) noexcept {
  const machine* m = p.m.read();
  line.text("  P").dec(p.id).text(": status=").dec(status_of(p));
  line.text(" schedtick=").dec(p.tick.load_relaxed());
  line.text(" syscalltick=").dec(m == nullptr ? 0 : m->border.calls());
  line.text(" m=").id(m != nullptr, m == nullptr ? 0 : m->id);
  line.text(" runqsize=").dec(p.queue.size());
  line.text(" gfreecnt=").dec(p.dead.peek_size());
  line.text(" timerslen=").dec(p.timers.heap.size()).end();
}

void print_machine(state_writer& line, const machine& m) noexcept {
  const processor* p = peek(m.p);
  const goroutine* g = peek(m.g);
  line.text("  M").dec(m.id).text(": p=").id(p != nullptr, p == nullptr ? 0 : p->id);
  line.text(" curg=").id(g != nullptr, g == nullptr ? 0 : peek(g->id));
  line.text(" mallocing=0 throwing=0 preemptoff= locks=").dec(m.border.is_inside() ? 1 : 0);
  line.text(" dying=0 spinning=").boolean(peek(m.is_searching));
  line.text(" blocked=").boolean(p == nullptr);
  const bool is_locked = peek(m.locks) != 0 && g != nullptr;
  line.text(" lockedg=").id(is_locked, is_locked ? peek(g->id) : 0).end();
}

void print_goroutine(state_writer& line, const goroutine& g) noexcept {
  const machine* m = runner_of(g);
  const machine* bound_to =
      (g.needs.load_relaxed() & needs_machine) != 0 ? peek(g.bound_to) : nullptr;
  line.text("  G").dec(peek(g.id)).text(": status=").dec(number_of(g, m)).text("(");
  if (g.status.get() == parts::status::waiting) line.text(text_of(peek(g.reason)));
  line.text(") m=").id(m != nullptr, m == nullptr ? 0 : m->id);
  line.text(" lockedm=").id(bound_to != nullptr, bound_to == nullptr ? 0 : bound_to->id).end();
}

// Threads that wait for their locked goroutine to be made ready.
std::uint64_t idle_locked() noexcept {
  std::uint64_t n = 0;
  for (machine* m : sched.machines) {
    if (m->waits.load_relaxed() && !peek(m->is_foreign)) ++n;
  }
  return n;
}

// sysmon prints this, so at that moment it neither waits for a stop of the world nor rests.
void print_details(state_writer& line) noexcept {
  line.text(" gcwaiting=").boolean(sched.gate.is_halted());
  line.text(" nmidlelocked=").dec(idle_locked()).text(" stopwait=0 sysmonwait=false").end();
  const std::uint32_t procs = sched.procs.read_relaxed();
  for (std::uint32_t i = 0; i < procs; ++i) print_processor(line, sched.processors[i]);
  for (machine* m : sched.machines) {
    if (m->thread_id.load_relaxed() != 0) print_machine(line, *m);
  }
  for (slab* s : slabs) {
    for (const goroutine& g : s->records) {
      if (is_alive(g)) print_goroutine(line, g);
    }
  }
}

}  // namespace

void sched_tracer::print_if_due(std::int64_t now_ns) noexcept {
  const debug_settings& settings = debug_options();
  if (settings.schedtrace_ns == 0 || now_ns < next_ns_) return;
  if (started_ns_ == 0) started_ns_ = now_ns;
  next_ns_ = now_ns + settings.schedtrace_ns;
  state_writer line(gathered_);
  print_head(line, now_ns - started_ns_);
  if (settings.scheddetail) {
    print_details(line);
  } else {
    print_processors_short(line);
  }
}

}  // namespace sley::rt
