// Predicts how sley's scheduler does on machines that are not here: what one operation costs at 1
// to 256 processors, one CPU each. docs/performance.md says what came of it.
//
//   sley_scale [--most PROCESSORS] [--domain CPUS] [--transfer NS] [--far NS]
//              [--barrier-each NS] [--interruption NS] [workload ...]
//
// A cell is CPU time of all machines for one operation in ns, and behind it operations in a us.
#include "scheduler.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string_view>

namespace scale {

namespace {

// Goroutines that do nothing but yield: some for each processor, or a thousand. There are enough
// rounds to make the start, in which machines wake one after the other, a small part of the time.
double yield(scheduler& s, int goroutines) {
  constexpr int rounds = 3'000;
  s.make([goroutines](scheduler& here, goroutine&) {
    for (int i = 0; i < goroutines; ++i) {
      here.start(here.make([left = rounds](scheduler&, goroutine&) mutable {
        return --left > 0 ? turn_end::yields : turn_end::ends;
      }));
    }
    return turn_end::ends;
  });
  return double{rounds} * goroutines;
}

double yield4(scheduler& s, int processors) { return yield(s, 4 * processors); }
double yield1000(scheduler& s, int) { return yield(s, 1000); }

// One of two goroutines that send each other values over unbuffered channels.
struct player {
  goroutine* me = nullptr;
  player* other = nullptr;
  alignas(64) char channel = 0;  // the line of the channel that it receives from
  int values = 0;                // in the channel
  bool waits = false;
  int left = 1'000;
};

void use(player& p) {
  access(&p.channel, kind::locked);
  access(&p.channel, kind::store);
  compute(15);
}

turn_end play(scheduler& s, player& p) {
  for (;;) {
    use(p);
    p.waits = p.values == 0;
    if (p.waits) return turn_end::parks;
    --p.values;
    --p.left;
    use(*p.other);
    ++p.other->values;
    if (std::exchange(p.other->waits, false)) s.ready(p.other->me);
    if (p.left == 0) return turn_end::ends;
  }
}

double pingpong(scheduler& s, int processors) {
  const int pairs = 2 * processors;
  static std::deque<player> players;  // as long as the process
  s.make([pairs](scheduler& here, goroutine&) {
    for (int i = 0; i < pairs; ++i) {
      player& a = players.emplace_back();
      player& b = players.emplace_back();
      a.other = &b;
      b.other = &a;
      a.values = 1;
      for (player* p : {&a, &b}) {
        p->me = here.make([p](scheduler& there, goroutine&) { return play(there, *p); });
      }
      here.start(a.me);
      here.start(b.me);
    }
    return turn_end::ends;
  });
  return 2'000.0 * pairs;
}

// A tree of goroutines, ten below each: a goroutine starts them and waits until they have ended.
struct node {
  node* parent = nullptr;
  goroutine* me = nullptr;
  alignas(64) int left = 0;  // children that have not ended
};

turn_end end_node(scheduler& s, const node& n) {
  if (n.parent == nullptr) return turn_end::ends;
  access(&n.parent->left, kind::locked);
  if (--n.parent->left == 0) s.ready(n.parent->me);
  return turn_end::ends;
}

void grow(scheduler& s, std::deque<node>& all, node* parent, int depth) {
  node& n = all.emplace_back();
  n.parent = parent;
  n.left = depth > 0 ? 10 : 0;
  n.me = s.make([&all, &n, depth, has_begun = false](scheduler& here, goroutine&) mutable {
    if (std::exchange(has_begun, true) || depth == 0) return end_node(here, n);
    for (int i = 0; i < 10; ++i) grow(here, all, &n, depth - 1);
    return turn_end::parks;
  });
  if (parent != nullptr) s.start(n.me);
}

double tree(scheduler& s, int processors) {
  static std::deque<std::deque<node>> trees;
  grow(s, trees.emplace_back(), nullptr, processors < 32 ? 5 : 6);
  return processors < 32 ? 111'111 : 1'111'111;
}

// What goroutines wait for, and what they do after it.
struct rhythm {
  void (scheduler::*wait)(goroutine* g, double when_ns);
  double wait_ns;
  double work_ns;
  int rounds;
};

double wait_and_work(scheduler& s, int goroutines, const rhythm& r) {
  s.make([goroutines, r](scheduler& here, goroutine&) {
    for (int i = 0; i < goroutines; ++i) {
      here.start(here.make([r, left = r.rounds](scheduler& there, goroutine& g) mutable {
        compute(r.work_ns);
        if (--left == 0) return turn_end::ends;
        (there.*r.wait)(&g, now_ns() + r.wait_ns);
        return turn_end::parks;
      }));
    }
    return turn_end::ends;
  });
  return double(r.rounds) * goroutines;
}

double echo(scheduler& s, int processors) {
  return wait_and_work(s, 100 * processors, {&scheduler::ready_by_event_at, 50'000, 4'000, 20});
}

double sleepers(scheduler& s, int processors) {
  return wait_and_work(s, 200 * processors, {&scheduler::ready_at, 1'000'000, 2'000, 10});
}

struct workload {
  const char* name;
  double (*build)(scheduler& s, int processors);  // returns the number of operations
};

constexpr workload workloads[] = {{"yield4", yield4},     {"yield1000", yield1000},
                                  {"pingpong", pingpong}, {"tree", tree},
                                  {"echo", echo},         {"sleepers", sleepers}};
constexpr int sizes[] = {1, 2, 8, 64, 256};

void print_row(const workload& w, const costs& c, double most) {
  std::printf("| %s |", w.name);
  for (const int processors : sizes) {
    if (processors > most) break;
    scheduler s(processors, work{});
    const double operations = w.build(s, processors);
    const result r = s.run(c);
    std::printf(" %.0f (%.1f) |", r.busy_ns / operations, 1000 * operations / r.end_ns);
    std::fflush(stdout);
  }
  std::printf("\n");
}

struct option {
  std::string_view name;
  double* value;
};

int run_all(std::span<char*> arguments) {
  costs c;
  double domain = c.domain;
  double most = 256;
  const option options[] = {{"--most", &most},
                            {"--domain", &domain},
                            {"--transfer", &c.transfer},
                            {"--far", &c.far_transfer},
                            {"--barrier-each", &c.membarrier_each},
                            {"--interruption", &c.interruption}};
  const auto named = [&](const option& o) { return o.name == arguments[0]; };
  while (arguments.size() >= 2) {
    const auto* o = std::ranges::find_if(options, named);
    if (o == std::end(options)) break;
    *o->value = std::atof(arguments[1]);
    arguments = arguments.subspan(2);
  }
  c.domain = static_cast<int>(domain);
  std::printf("| processors |");
  for (const int processors : sizes) {
    if (processors <= most) std::printf(" %d |", processors);
  }
  std::printf("\n");
  for (const workload& w : workloads) {
    bool is_wanted = arguments.empty();
    for (const char* name : arguments) is_wanted = is_wanted || w.name == std::string_view(name);
    if (is_wanted) print_row(w, c, most);
  }
  return 0;
}

}  // namespace

}  // namespace scale

int main(int argc, char** argv) { return scale::run_all(std::span(argv + 1, argv + argc)); }
