// Goroutines that work on one task: what error_group and scope are made of.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/spawn.hpp>
#include <sley/go.hpp>
#include <sley/mutex.hpp>
#include <sley/semaphore.hpp>
#include <sley/wait_group.hpp>

#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace sley::detail {

// Keeps the first exception that leaves one of the goroutines, and ends a context by it. A caller
// that has waited for all may then destroy the group.
class SLEY_API task_group {
 public:
  explicit task_group(const context& parent);
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  // Calls f() in a goroutine, when there is a place for it.
  template <class F>
  void go(F&& f) {
    check_not_null<std::decay_t<F>>(f);
    begin();
    start(std::forward<F>(f));
  }
  // False if there is no place.
  template <class F>
  [[nodiscard]] bool try_go(F&& f) {
    check_not_null<std::decay_t<F>>(f);
    if (!try_begin()) return false;
    start(std::forward<F>(f));
    return true;
  }
  // How many may run at a time; negative: any number. std::logic_error unless all have ended.
  void set_limit(std::ptrdiff_t n);

  // Waits until all have ended, including goroutines whose go() waits for a place.
  void wait() { running_.wait(); }

  const sley::context& context() const noexcept { return context_; }
  // Ends the context, by the first exception if there is one.
  void end() noexcept;

  std::exception_ptr first_exception();
  // The next one is the first then.
  std::exception_ptr take_first_exception();

 private:
  struct finisher {
    task_group* group;
    ~finisher() { group->finish(); }
  };

  // What f holds is destroyed before others learn that it has failed or ended.
  template <class F>
  struct member_call {
    using self_destroying_task = void;

    task_group* group;
    F f;

    void call_and_destroy() {
      const finisher guard{group};
      try {
        run_task<F>(&f);
      } catch (...) {
        std::exception_ptr failure = std::current_exception();
        if (!failure) throw;  // no exception, but exit() unwinding the stack
        group->fail(std::move(failure));
      }
    }
  };

  template <class F>
  void start(F&& f) {
    check_startable<F>();
    if constexpr (is_startable<F>) {
      try {
        spawn_made(nullptr, [&] { return member_call<std::decay_t<F>>{this, std::forward<F>(f)}; });
      } catch (...) {
        finish();
        throw;
      }
    }
  }

  void begin();
  bool try_begin();
  void fail(std::exception_ptr failure) noexcept;
  void finish() noexcept;

  sley::context context_;  // [const]
  cancel_cause_function cancel_;
  // A go() that waits for a place counts already. The last thing that a goroutine touches.
  wait_group running_;
  std::optional<counting_semaphore<>> places_;  // [const] while any are running; none: no limit
  mutex guard_;
  std::exception_ptr first_;  // [lock: guard_]
};

// Of how many unwindings of its stack the caller is a part: by exceptions, and by exit().
SLEY_API int unwindings() noexcept;

}  // namespace sley::detail
