// Shared by all models. A model is a program that runs one part of sley under relacy, which tries
// the schedules of its threads and, at each atomic load, the older values that the load's order
// permits.
//
//   name_model                  the scenarios, then each mutation, which must make one of them fail
//   name_model --list           the mutations
//   name_model --mutate LABEL   this mutation alone; status 0 if it is caught
//   name_model --run LABEL...   the mutations among these that a few schedules run
//   name_model --deep           the scenarios, with 3 context switches at least and 1,000,000
//                               random runs, or as many as SLEY_MODEL_SCHEDULES says
//
// A mutation weakens the orders that carry a label, in all of the part or in one function of it:
// see mutated_label in <sley/detail/atomic.hpp>. Some leave out a step instead, or do it too early.
//
// A scenario is a suite (below) with a name, and with other bounds if the usual ones make it too
// large or too small. It runs with random schedules and with all schedules of a bounded number of
// forced context switches; with both kinds of barriers, if it has any.
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/check.hpp"
#include "platform/futex.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <streambuf>
#include <string_view>
#include <vector>

// A check that fails ends the execution as a failed one.
[[noreturn]] void sley::base::check_failed(const char* what, const char*, int) noexcept {
  rl::ctx().fail_test(what, rl::test_result_user_assert_failed, $);
  std::abort();  // relacy does not come back
}
[[noreturn]] void sley::base::fatal(std::string_view what) noexcept {
  check_failed(what.data(), "", 0);
}

// Relacy replaces operator delete, but not this form of it.
void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }

namespace sley::model {

// Base of all suites: the kernel that notes and locks sleep in.
template <class Derived, unsigned Threads>
struct suite : rl::test_suite<Derived, Threads> {
  static constexpr int bound = 2;
  static constexpr int random_schedules = 20'000;
  static constexpr bool has_barriers = false;

  suite() { platform::kernel = &kernel; }

  platform::model_kernel kernel;
};

// Until its end nothing else runs, and something else may have run just before: what a lock does
// around a few steps, without the orders of one.
class one_step {
 public:
  one_step() : alone_((rl::ctx().sched(), rl::ctx())) {}

 private:
  rl::preemption_disabler alone_;
};

// True if the run leaves out the step of this name, for steps of a protocol that are no order: a
// model asks at the step, and lists the name among its mutations.
inline bool is_left_out(const char* step) {
  return detail::mutation_of(step, "") != detail::mutation::none;
}

// Memory of an execution. The bytes that destroy() leaves are neither a valid atomic nor a valid
// pointer, so a use after it fails or crashes.
template <class T>
T* make() {
  return ::new (rl::ctx().alloc(sizeof(T), false, $)) T;
}
template <class T>
void destroy(T* object) {
  object->~T();
  std::memset(static_cast<void*>(object), 0xdd, sizeof(T));
  rl::ctx().free(object, false, $);
}

struct scenario {
  const char* name;
  int bound;
  int random_schedules;
  bool has_barriers;
  bool (*simulate)(rl::test_params&);
};

template <class Suite>
scenario scenario_of() {
  return {Suite::name, Suite::bound, Suite::random_schedules, Suite::has_barriers,
          &rl::simulate<Suite>};
}

// Keeps the beginning of what relacy prints. It must not allocate: within an execution relacy owns
// the heap.
class kept_output : std::streambuf {
 public:
  kept_output() { setp(text_, text_ + sizeof(text_)); }
  std::ostream& stream() { return stream_; }
  std::string_view text() const { return {pbase(), static_cast<std::size_t>(pptr() - pbase())}; }

 private:
  int overflow(int c) override { return c; }

  char text_[200'000];
  std::ostream stream_{this};
};

// A mutation that must make a scenario fail: the one of that name, or any if it names none.
struct mutant {
  const char* mutation;
  const char* scenario = nullptr;
};

struct outcome {
  bool passed = false;
  unsigned long schedules = 0;
  unsigned long weakened = 0;
  char what[200] = {};
};

class model {
 public:
  model(const char* name, std::vector<scenario> scenarios, std::vector<mutant> mutants)
      : name_(name), scenarios_(std::move(scenarios)), mutants_(std::move(mutants)) {}

  int run(int argc, char** argv) const {
    const auto is = [&](int i, const char* text) {
      return argc > i && std::strcmp(argv[i], text) == 0;
    };
    if (is(1, "--list")) {
      for (const mutant& m : mutants_) std::puts(m.mutation);
      return 0;
    }
    if (is(1, "--mutate") && argc > 2) return catches(mutant_of(argv[2])) ? 0 : 1;
    if (is(1, "--run")) {
      for (int i = 2; i < argc; ++i) {
        if (runs(argv[i])) std::puts(argv[i]);
      }
      return 0;
    }
    if (is(1, "--deep")) return passes(deep_bound, deep_schedules()) ? 0 : 1;
    bool ok = passes(0, 0);
    for (const mutant& m : mutants_) ok = catches(m) && ok;
    return ok ? 0 : 1;
  }

 private:
  struct attempt {
    const scenario* what;
    bool symmetric;
    bool random;
    int bound;
    int random_schedules;
  };

  static const char* barriers_of(const attempt& a) {
    if (!a.what->has_barriers) return "";
    return a.symmetric ? "equal barriers, " : "one-sided barriers, ";
  }

  static constexpr int deep_bound = 3;

  static int deep_schedules() {
    const char* given = std::getenv("SLEY_MODEL_SCHEDULES");
    return given == nullptr ? 1'000'000 : std::atoi(given);
  }

  mutant mutant_of(const char* mutation) const {
    for (const mutant& m : mutants_) {
      if (std::strcmp(m.mutation, mutation) == 0) return m;
    }
    return {mutation};
  }

  bool passes(int least_bound, int least_random) const {
    bool ok = true;
    for (const attempt& a : attempts(least_bound, least_random)) {
      const auto start = std::chrono::steady_clock::now();
      const outcome o = in_child(a, nullptr);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      std::printf("%s: %s, %s", name_, a.what->name, barriers_of(a));
      if (a.random) {
        std::printf("random");
      } else {
        std::printf("all with %d switches", a.bound);
      }
      std::printf(": %s, %lu schedules, %.2f s\n", o.passed ? "ok" : o.what, o.schedules,
                  took.count());
      std::fflush(stdout);
      ok = o.passed && ok;
    }
    return ok;
  }

  bool catches(const mutant& m) const {
    unsigned long schedules = 0;
    unsigned long weakened = 0;
    for (const attempt& a : attempts(0, 0)) {
      if (m.scenario != nullptr && std::strcmp(a.what->name, m.scenario) != 0) continue;
      const outcome o = in_child(a, m.mutation);
      schedules += o.schedules;
      weakened += o.weakened;
      if (!o.passed) {
        std::printf("%s: without %s: caught by %s, %safter %lu schedules: %s\n", name_, m.mutation,
                    a.what->name, barriers_of(a), schedules, o.what);
        std::fflush(stdout);
        return true;
      }
    }
    std::printf("%s: without %s: NOT CAUGHT in %lu schedules, %lu operations weakened\n", name_,
                m.mutation, schedules, weakened);
    std::fflush(stdout);
    return false;
  }

  // Does any scenario come to an operation that the mutation weakens?
  bool runs(const char* mutation) const {
    for (attempt a : attempts(0, 0)) {
      if (!a.random) continue;
      a.random_schedules = 300;
      const outcome o = in_child(a, mutation);
      if (o.weakened != 0 || !o.passed) return true;
    }
    return false;
  }

  std::vector<attempt> attempts(int least_bound, int least_random) const {
    std::vector<attempt> all;
    for (const scenario& s : scenarios_) {
      for (const bool random : {true, false}) {
        for (const bool symmetric : {false, true}) {
          if (symmetric && !s.has_barriers) continue;
          all.push_back({&s, symmetric, random, std::max(s.bound, least_bound),
                         std::max(s.random_schedules, least_random)});
        }
      }
    }
    return all;
  }

  // Each attempt has a process of its own: relacy does not clean up after a failed execution.
  outcome in_child(const attempt& a, const char* mutation) const {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const outcome o = simulate(a, mutation);
      const ssize_t written = write(ends[1], &o, sizeof(o));
      _exit(written == sizeof(o) ? 0 : 1);
    }
    close(ends[1]);
    outcome o;
    if (read(ends[0], &o, sizeof(o)) != sizeof(o)) {
      o = {};
      std::strcpy(o.what, "CRASH");
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return o;
  }

  static outcome simulate(const attempt& a, const char* mutation) {
    detail::mutated_label = mutation;
    detail::barriers_are_symmetric = a.symmetric;
    static kept_output progress;
    static kept_output output;
    rl::test_params params;
    params.search_type =
        a.random ? rl::random_scheduler_type : rl::fair_context_bound_scheduler_type;
    params.context_bound = static_cast<unsigned>(a.bound);
    params.iteration_count = static_cast<rl::iteration_t>(a.random_schedules);
    params.execution_depth_limit = 1000;
    params.progress_stream = &progress.stream();
    params.output_stream = &output.stream();
    outcome o;
    o.passed = a.what->simulate(params);
    o.schedules = static_cast<unsigned long>(params.stop_iteration);
    o.weakened = detail::weakened_operations;
    std::snprintf(o.what, sizeof(o.what), "%s", rl::test_result_str(params.test_result));
    if (!o.passed && mutation == nullptr) std::cerr << output.text() << std::endl;
    return o;
  }

  const char* name_;
  std::vector<scenario> scenarios_;
  std::vector<mutant> mutants_;
};

}  // namespace sley::model
