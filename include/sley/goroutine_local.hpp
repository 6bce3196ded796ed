// Variables that each goroutine has for itself.
#pragma once

#include <sley/detail/config.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace sley {

namespace detail {

// Which of a goroutine's values: a place, which is used again, and a number, which is not.
struct local_key {
  std::uint32_t place;
  std::uint64_t number;
};

SLEY_API local_key new_local_key();
SLEY_API void release_local_key(const local_key& key) noexcept;
// Of the calling goroutine, or foreign thread. Null if it has none.
SLEY_API void* find_local(const local_key& key) noexcept;
// It has none. Throws std::bad_alloc, and does not own the value then.
SLEY_API void add_local(const local_key& key, void* value, void (*destroy)(void*) noexcept);

}  // namespace detail

// A variable of which each goroutine, and each foreign thread, has a value of its own: made at its
// first use there, by the initialiser, and destroyed when the goroutine or thread ends, on itself,
// the last one made first. Access takes constant time and never parks. (A thread_local would be
// shared by all goroutines that come by a thread, and lost by a goroutine that goes to another
// thread.)
//
// The variable may be destroyed while goroutines have values of it: these values stay until their
// goroutines end, or use a variable that was made later.
template <class T>
class goroutine_local {
 public:
  // The first value is T().
  goroutine_local()
    requires std::is_default_constructible_v<T>
      : goroutine_local([] { return T(); }) {}
  // ... or what initial() returns, which is called on the goroutine, and perhaps by several at the
  // same time.
  template <class F>
    requires(std::is_invocable_r_v<T, const F&> && !std::is_same_v<F, goroutine_local>)
  explicit goroutine_local(F initial) : initial_(std::move(initial)) {}
  goroutine_local(const goroutine_local&) = delete;
  goroutine_local& operator=(const goroutine_local&) = delete;
  ~goroutine_local() { detail::release_local_key(key_); }

  // The calling goroutine's value; the reference is good until it ends. Throws what the initialiser
  // throws, and std::bad_alloc.
  T& get() {
    if (void* value = detail::find_local(key_)) return *static_cast<T*>(value);
    auto made = std::make_unique<T>(initial_());
    detail::add_local(key_, made.get(),
                      [](void* value) noexcept { delete static_cast<T*>(value); });
    return *made.release();
  }
  T& operator*() { return get(); }
  T* operator->() { return &get(); }
  // Whether the calling goroutine has one already.
  bool has_value() const noexcept { return detail::find_local(key_) != nullptr; }

 private:
  std::function<T()> initial_;
  const detail::local_key key_ = detail::new_local_key();
};

}  // namespace sley
