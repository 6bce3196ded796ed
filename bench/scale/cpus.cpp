#include "cpus.hpp"

#include <ucontext.h>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace scale {

namespace {

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr std::size_t max_cpus = 256;
constexpr std::uintptr_t line_bytes = 64;
constexpr double skew_ns = 10;

struct cpu {
  double busy = 0;
  bool sleeps = false;
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack{};
};

struct line {
  int owner = -1;
  std::bitset<max_cpus> holders{};
  double free_at = 0;  // no transfer is under way after this
};

struct machine {
  costs cost{};
  std::vector<cpu> cpus{};
  std::vector<double> clocks{};  // of the CPUs; of one that sleeps: when it wakes
  std::unordered_map<std::uintptr_t, line> lines{};
  std::unordered_map<const void*, std::deque<int>> sleepers{};
  const std::function<void(int)>* body = nullptr;
  ucontext_t main{};
  int current = -1;
  double end = 0;            // the last moment at which a CPU worked
  double others_at = never;  // the least clock of the other CPUs
};

machine* m = nullptr;

cpu& self() { return m->cpus[static_cast<std::size_t>(m->current)]; }

double& clock_of(int cpu) { return m->clocks[static_cast<std::size_t>(cpu)]; }

double time() { return clock_of(m->current); }

void spend(double ns) {
  clock_of(m->current) += ns;
  self().busy += ns;
}

void enter() { (*m->body)(m->current); }

// Lets the CPUs go first whose clock is behind.
void keep_order() {
  if (time() > m->others_at + skew_ns) swapcontext(&self().context, &m->main);
}

double transfer_from(int owner) {
  const bool is_near = owner / m->cost.domain == m->current / m->cost.domain;
  return is_near ? m->cost.transfer : m->cost.far_transfer;
}

// The current CPU gets the line; returns when it has it.
double fetch(line& l, kind k) {
  if (l.owner < 0) return time();  // first touch
  const double start = std::max(time(), l.free_at);
  const double have_at = start + transfer_from(l.owner);
  l.free_at = k == kind::load ? start + m->cost.between_loads : have_at;
  return have_at;
}

// Runs the CPU whose clock is least, until another's is less. False if none can run.
bool run_next() {
  double first = never, second = never;
  int next = -1;
  for (int i = 0; i < static_cast<int>(m->clocks.size()); ++i) {
    const double at = clock_of(i);
    if (at < first) {
      second = std::exchange(first, at);
      next = i;
    } else if (at < second) {
      second = at;
    }
  }
  if (next < 0) return false;
  m->current = next;
  m->others_at = second;
  self().sleeps = false;
  swapcontext(&m->main, &self().context);
  m->current = -1;
  return true;
}

}  // namespace

result run(int cpus, const costs& c, const std::function<void(int)>& body) {
  machine made;
  m = &made;
  m->cost = c;
  m->body = &body;
  m->cpus.resize(static_cast<std::size_t>(cpus));
  m->clocks.resize(m->cpus.size());
  for (cpu& one : m->cpus) {
    one.stack = std::make_unique<std::byte[]>(stack_bytes);
    getcontext(&one.context);
    one.context.uc_stack.ss_sp = one.stack.get();
    one.context.uc_stack.ss_size = stack_bytes;
    makecontext(&one.context, enter, 0);
  }
  while (run_next()) {
  }
  result r{.end_ns = m->end};
  for (const cpu& one : m->cpus) {
    r.busy_ns += one.busy;
  }
  m = nullptr;
  return r;
}

int this_cpu() { return m == nullptr ? -1 : m->current; }

double now_ns() { return time(); }

void access(const void* where, kind k) {
  if (m == nullptr || m->current < 0) return;
  keep_order();
  line& l = m->lines[reinterpret_cast<std::uintptr_t>(where) / line_bytes];
  const auto me = static_cast<std::size_t>(m->current);
  const bool is_mine = l.owner == m->current && l.holders.count() == 1;
  const bool is_hit = k == kind::load ? l.holders.test(me) : is_mine;
  if (!is_hit) {
    const double have_at = fetch(l, k);
    if (k != kind::store) spend(have_at - time());
    if (k != kind::load) {
      l.holders.reset();
      l.owner = m->current;
    } else if (l.owner < 0) {
      l.owner = m->current;
    }
    l.holders.set(me);
  }
  spend(k == kind::locked ? m->cost.locked : m->cost.hit);
}

void compute(double ns) {
  if (m != nullptr && m->current >= 0) spend(ns);
}

void membarrier() {
  if (m == nullptr || m->current < 0) return;
  keep_order();
  double cost = m->cost.membarrier;
  for (int i = 0; i < static_cast<int>(m->cpus.size()); ++i) {
    cpu& other = m->cpus[static_cast<std::size_t>(i)];
    if (i == m->current || other.sleeps) continue;
    cost += m->cost.membarrier_each;
    clock_of(i) += m->cost.interruption;
    other.busy += m->cost.interruption;
  }
  spend(cost);
}

void pause() { compute(m == nullptr ? 0 : m->cost.pause); }

bool sleep_on(const void* address, double until_ns) {
  cpu& me = self();
  spend(m->cost.futex_wait);
  m->end = std::max(m->end, time());
  me.sleeps = true;
  clock_of(m->current) = std::max(until_ns, time());
  std::deque<int>& line = m->sleepers[address];
  line.push_back(m->current);
  swapcontext(&me.context, &m->main);
  const auto at = std::find(line.begin(), line.end(), this_cpu());
  if (at == line.end()) return true;
  line.erase(at);
  return false;
}

void sleep_no_longer_than(int which, double until_ns) {
  if (!m->cpus[static_cast<std::size_t>(which)].sleeps) return;
  double& wakes_at = clock_of(which);
  wakes_at = std::min(wakes_at, std::max(until_ns, time()));
  m->others_at = std::min(m->others_at, wakes_at);
}

void wake_on(const void* address, int most) {
  spend(m->cost.futex_wake);
  std::deque<int>& line = m->sleepers[address];
  for (; most > 0 && !line.empty(); --most) {
    const int first = line.front();
    line.pop_front();
    sleep_no_longer_than(first, time() + m->cost.wake_latency);
  }
}

}  // namespace scale
