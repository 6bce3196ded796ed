// Objects that are used again.
#pragma once

#include <sley/detail/config.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace sley {

namespace detail {

// A bounded bag of pointers. It does not own what they point to.
class SLEY_API pointer_pool {
 public:
  pointer_pool();
  ~pointer_pool();
  pointer_pool(const pointer_pool&) = delete;
  pointer_pool& operator=(const pointer_pool&) = delete;

  // Null if there is none at hand.
  void* take() noexcept;
  // False if it is full.
  [[nodiscard]] bool give(void* pointer) noexcept;
  // For the end: takes one after the other, wherever it is. No other thread may use the pool then.
  void* take_any() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace detail

// A pool of objects that cost something to make. get() hands one out, which goes back to the pool
// when its handle is destroyed. Each processor has some at hand, so that neither takes a lock as a
// rule. Objects too many for the processors are shared, and objects too many for the pool are
// destroyed. An object comes back as it was left. Any thread; nothing parks (but the factory may).
// The pool must outlive its handles. From Go's sync.Pool, which also empties itself.
template <class T>
class object_pool {
 public:
  // What a handle does at its end.
  struct give_back {
    object_pool* pool;  // where the object goes
    // Gives the object back, or deletes it if the pool is full.
    void operator()(T* object) const noexcept {
      if (!pool->idle_.give(object)) delete object;
    }
  };
  // An object out of the pool.
  using handle = std::unique_ptr<T, give_back>;

  // New objects are T(), on the heap.
  object_pool()
    requires std::is_default_constructible_v<T>
      : object_pool([] { return std::make_unique<T>(); }) {}
  // ... or what factory() returns, a std::unique_ptr<T>; several may call it at the same time.
  template <class F>
    requires(std::is_invocable_r_v<std::unique_ptr<T>, F&>)
  explicit object_pool(F factory) : factory_(std::move(factory)) {}
  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;
  ~object_pool() {
    while (void* object = idle_.take_any()) delete static_cast<T*>(object);
  }

  // One that was given back, or else a new one. Throws what the factory throws.
  handle get() {
    if (void* object = idle_.take()) return handle(static_cast<T*>(object), {this});
    return handle(factory_().release(), {this});
  }

 private:
  std::function<std::unique_ptr<T>()> factory_;
  detail::pointer_pool idle_;
};

}  // namespace sley
