// How a callable gets into a goroutine: erased into a task whose bytes travel inside the
// goroutine's own record, or in a box when they are too many.
#pragma once

#include <sley/detail/config.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace sley {
struct go_options;
}

namespace sley::detail {

// Room for a callable inside a goroutine's record.
inline constexpr std::size_t task_bytes = 64;

struct task_type {
  std::size_t size;
  void (*relocate)(void* to, void* from) noexcept;  // null: the bytes are copied
  void (*run)(void* self);  // calls the callable and destroys it, also when an exception leaves it
};

// Makes a goroutine that runs `callable` (of at most task_bytes, which it relocates) and queues it.
// Throws std::bad_alloc when no record can be had; the callable is untouched then.
SLEY_API void spawn(const task_type& type, void* callable, const go_options* options);

template <class Callable>
void run_task(void* self) {
  struct destroyer {
    Callable* callable;
    ~destroyer() { callable->~Callable(); }
  } guard{static_cast<Callable*>(self)};
  std::invoke(std::move(*guard.callable));
}

template <class Callable>
void relocate_task(void* to, void* from) noexcept {
  auto* callable = static_cast<Callable*>(from);
  ::new (to) Callable(std::move(*callable));
  callable->~Callable();
}

template <class Callable>
inline constexpr bool is_byte_copyable =
    std::is_trivially_copyable_v<Callable> && std::is_trivially_destructible_v<Callable>;

template <class Callable>
inline constexpr task_type task_type_of{
    sizeof(Callable), is_byte_copyable<Callable> ? nullptr : &relocate_task<Callable>,
    &run_task<Callable>};

template <class Callable>
inline constexpr bool fits_in_record =
    sizeof(Callable) <= task_bytes && alignof(Callable) <= alignof(std::max_align_t) &&
    std::is_nothrow_move_constructible_v<Callable>;

template <class Callable>
struct boxed_task {
  std::unique_ptr<Callable> callable;
  void operator()() && { std::invoke(std::move(*callable)); }
};

// A callable that is known to be empty is refused where it is started, as Go refuses `go nil`.
template <class F>
void check_not_null(const F& f) {
  if constexpr (std::is_pointer_v<F> || std::is_member_pointer_v<F>) {
    if (f == nullptr) throw std::logic_error("sley: go of a null function");
  } else if constexpr (requires { static_cast<bool>(f == nullptr); }) {
    if (f == nullptr) throw std::logic_error("sley: go of a null function");
  }
}

// f(args...) with everything decay-copied, to be called once.
template <class F, class... Args>
auto bind_task(F&& f, Args&&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return std::decay_t<F>(std::forward<F>(f));
  } else {
    return [bound = std::tuple<std::decay_t<F>, std::decay_t<Args>...>(
                std::forward<F>(f), std::forward<Args>(args)...)]() mutable -> decltype(auto) {
      return std::apply(
          [](auto&&... parts) -> decltype(auto) { return std::invoke(std::move(parts)...); },
          std::move(bound));
    };
  }
}

template <class F, class... Args>
SLEY_ALWAYS_INLINE void spawn_call(const go_options* options, F&& f, Args&&... args) {
  static_assert(std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>,
                "sley::go: the callable cannot be called with these arguments, which are copied "
                "and passed as rvalues, as std::thread does");
  check_not_null<std::decay_t<F>>(f);
  auto callable = bind_task(std::forward<F>(f), std::forward<Args>(args)...);
  using callable_type = decltype(callable);
  if constexpr (fits_in_record<callable_type>) {
    union holder {
      callable_type value;
      holder(callable_type&& c) : value(std::move(c)) {}
      ~holder() {}
    } held(std::move(callable));
    try {
      spawn(task_type_of<callable_type>, &held.value, options);
    } catch (...) {
      held.value.~callable_type();
      throw;
    }
  } else {
    using boxed = boxed_task<callable_type>;
    boxed box{std::make_unique<callable_type>(std::move(callable))};
    spawn_call(options, std::move(box));
  }
}

}  // namespace sley::detail
