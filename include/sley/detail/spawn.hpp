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

// A callable that is more than called and destroyed after that has a type self_destroying_task, and
// call_and_destroy().
template <class Callable>
void run_task(void* self) {
  auto* callable = static_cast<Callable*>(self);
  if constexpr (requires { typename Callable::self_destroying_task; }) {
    callable->call_and_destroy();
  } else {
    struct destroyer {
      Callable* callable;
      ~destroyer() { callable->~Callable(); }
    } guard{callable};
    static_cast<void>(std::move(*callable)());
  }
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
  using self_destroying_task = void;

  Callable* callable;  // made by ::new

  void call_and_destroy() {
    struct freer {
      Callable* place;
      ~freer() { std::allocator<Callable>().deallocate(place, 1); }
    } guard{callable};
    run_task<Callable>(callable);
  }
};

template <class F>
inline constexpr bool may_be_called =
    std::is_class_v<F> || std::is_union_v<F> || std::is_member_pointer_v<F> ||
    (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>);

// Whether f and the arguments can be decay-copied, and the copies called.
template <class F, class... Args>
inline constexpr bool is_startable = std::is_constructible_v<std::decay_t<F>, F> &&
                                     (std::is_constructible_v<std::decay_t<Args>, Args> && ...) &&
                                     std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>;

// Says why not, in one sentence. So that the compiler says no more than that, the caller uses f
// only if it is startable.
template <class F, class... Args>
SLEY_ALWAYS_INLINE constexpr void check_startable() noexcept {
  constexpr bool is_function = may_be_called<std::decay_t<F>>;
  constexpr bool is_called = std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>;
  constexpr bool takes_references = std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>&...>;
  constexpr bool can_copy_function = std::is_constructible_v<std::decay_t<F>, F>;
  constexpr bool can_copy_arguments = (std::is_constructible_v<std::decay_t<Args>, Args> && ...);
  static_assert(is_function || is_called,
                "sley: what a goroutine is to call is no function: write go(f, x), not go(f(x))");
  static_assert(!is_function || is_called || takes_references,
                "sley: the callable cannot be called with these arguments, which are copied "
                "and passed as rvalues, as std::thread does");
  static_assert(
      is_called || !takes_references,
      "sley: the callable takes a reference, and the callable cannot be called with these "
      "arguments, which are copied: pass std::ref(x)");
  static_assert(!is_called || can_copy_function,
                "sley: the callable cannot be copied into the goroutine: pass std::move(f)");
  static_assert(!is_called || !can_copy_function || can_copy_arguments,
                "sley: an argument cannot be copied into the goroutine: pass std::move(x), or "
                "std::ref(x) for the object itself");
}

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

// Makes a goroutine that runs what make() returns. A large callable is made where it stays, and is
// on no stack on the way there.
template <class Make>
SLEY_ALWAYS_INLINE void spawn_made(const go_options* options, const Make& make) {
  using Callable = std::invoke_result_t<const Make&>;
  static_assert(!std::is_reference_v<Callable>);
  if constexpr (fits_in_record<Callable>) {
    union holder {
      Callable value;
      explicit holder(const Make& m) : value(m()) {}
      ~holder() {}
    } held(make);
    try {
      spawn(task_type_of<Callable>, &held.value, options);
    } catch (...) {
      held.value.~Callable();
      throw;
    }
  } else {
    boxed_task<Callable> box{::new Callable(make())};
    try {
      spawn(task_type_of<boxed_task<Callable>>, &box, options);
    } catch (...) {
      ::delete box.callable;
      throw;
    }
  }
}

template <class F, class... Args>
SLEY_ALWAYS_INLINE void spawn_call(const go_options* options, F&& f, Args&&... args) {
  check_startable<F, Args...>();
  if constexpr (is_startable<F, Args...>) {
    check_not_null<std::decay_t<F>>(f);
    spawn_made(options, [&] { return bind_task(std::forward<F>(f), std::forward<Args>(args)...); });
  }
}

}  // namespace sley::detail
