// The scheduler's way of finding work, on modelled CPUs. The queues and the wake gate are the
// library's own code (src/parts); what the runtime does between them is repeated here in short, and
// named as there. Machine i holds processor i, or sleeps while that is idle.
#pragma once

#include "cpus.hpp"

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "base/intrusive_queue.hpp"
#include "parts/global_queue.hpp"
#include "parts/next_slot.hpp"
#include "parts/run_queue.hpp"
#include "parts/wake_gate.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace scale {

// What a machine does itself, in ns, apart from shared memory.
struct work {
  double turn = 9;    // a switch to a goroutine
  double start = 9;   // the record and stack of a new one
  double timer = 25;  // one insertion into a heap, or removal
  double look = 450;  // a system call that asks for events
  double event = 60;  // each event that it returns
};

enum class turn_end : std::uint8_t { yields, parks, ends };

class scheduler;

struct goroutine {
  goroutine* next = nullptr;
  std::function<turn_end(scheduler&, goroutine&)> turn{};
  alignas(64) char record = 0;  // stand for the lines that a switch touches
  alignas(64) char stack = 0;
};

// None is. The queue asks before it takes a goroutine, so its link is loaded here.
bool is_loner(const goroutine* g) noexcept;

class scheduler {
 public:
  scheduler(int processors, const work& w);

  goroutine* make(std::function<turn_end(scheduler&, goroutine&)> turn);
  // Starts the goroutine that was made first, on CPU 0, and runs until nothing can happen any more.
  // Ends the process if a goroutine has not ended then.
  result run(const costs& c);

  // ---- in a goroutine's turn ----
  void start(goroutine* g);
  void ready(goroutine* g);
  void ready_at(goroutine* g, double when_ns);  // by a timer; it parks
  void ready_by_event_at(goroutine* g, double when_ns);

 private:
  using list = sley::base::intrusive_queue<goroutine, &goroutine::next>;
  using due = std::pair<double, goroutine*>;
  struct due_set {  // timers of a processor, or events of a poller's set
    sley::detail::lock lock{};
    std::priority_queue<due, std::vector<due>, std::greater<>> all{};
    sley::detail::atomic<double> first_ns{never};
  };
  struct alignas(64) processor {
    sley::parts::next_slot<goroutine> next{};
    sley::parts::run_queue<goroutine, 256> queue{};
    alignas(64) due_set timers{};
    list dead{};
    std::uint32_t tick = 0;
    bool is_searching = false;
    bool was_poller = false;  // its CPU has just waited for events, of all sets
    alignas(64) sley::detail::atomic<std::uint32_t> is_called{};  // woken, with its processor
  };

  void machine(int cpu);
  void run_turn(goroutine* g);
  goroutine* find_runnable();
  goroutine* search();
  goroutine* steal_from(processor& victim, bool is_last_walk);
  bool is_alone();
  bool stays_on_yield();
  bool admit_share();
  std::uint32_t procs() const;
  void queue_batch(std::span<goroutine* const> batch);
  goroutine* take_global();
  goroutine* poll_now();
  goroutine* take_due(due_set& set, double cost_each);
  void go_idle();
  bool is_work_anywhere();
  bool take_idle_p(int cpu);
  void sleep_until_needed(int cpu);
  double earliest();

  void arm(due_set& set, goroutine* g, double when_ns);
  void run_next(goroutine* g);
  void run_after_those_here(goroutine* g);
  void wake_if_needed();
  void take_record();
  void give_record(goroutine* g);
  due_set& set_of(int cpu) { return poll_sets_[static_cast<std::size_t>(cpu) % poll_sets_.size()]; }
  processor& here() { return processors_[static_cast<std::size_t>(this_cpu())]; }
  static void touch(goroutine* g);

  const work work_;
  std::deque<processor> processors_;
  std::deque<due_set> poll_sets_;
  std::deque<goroutine> all_;
  std::size_t ended_ = 0;
  std::mt19937 random_{1};

  alignas(64) sley::parts::wake_gate gate_;
  alignas(64) sley::parts::global_queue<goroutine, &goroutine::next, &is_loner> queue_;
  alignas(64) sley::detail::lock lock_;  // sched.lock: idle processors and shared records
  std::vector<int> idle_;
  list dead_;
  alignas(64) sley::detail::atomic<int> poller_{-1};  // the CPU that waits for timers and events
  alignas(64) sley::detail::atomic<std::uint64_t> next_id_;
  double poller_until_ = never;
};

}  // namespace scale
