// The erased half of chan<T>: what the templates in <sley/chan.hpp> and <sley/select.hpp> call.
// No promise of stability.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/reference_count.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sley {
enum class chan_status { ok, would_block, closed, timeout };
}

namespace sley::detail {

struct chan_core;

// How values of a channel's type are moved. Null functions mean that the bytes are copied and that
// nothing need be destroyed.
struct element_type {
  std::size_t size;  // 0 for chan<void>
  std::size_t align;
  void (*move_construct)(void* to, void* from) noexcept;
  void (*destroy)(void* value) noexcept;
};

template <class T>
void move_construct_element(void* to, void* from) noexcept {
  ::new (to) T(std::move(*static_cast<T*>(from)));
}

template <class T>
void destroy_element(void* value) noexcept {
  static_cast<T*>(value)->~T();
}

template <class T>
inline constexpr element_type element_type_of{
    sizeof(T), alignof(T), std::is_trivially_copyable_v<T> ? nullptr : &move_construct_element<T>,
    std::is_trivially_destructible_v<T> ? nullptr : &destroy_element<T>};
template <>
inline constexpr element_type element_type_of<void>{0, 1, nullptr, nullptr};

// A counted reference to a channel; null is the nil channel.
class SLEY_API chan_ref {
 public:
  chan_ref() noexcept = default;
  chan_ref(const element_type& type, std::size_t capacity);
  chan_ref(const chan_ref& other) noexcept : core_(other.core_) {
    if (core_ != nullptr) references()->add();
  }
  chan_ref(chan_ref&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  chan_ref& operator=(chan_ref other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~chan_ref() {
    if (core_ != nullptr && references()->drop()) destroy(core_);
  }

  chan_core* core() const noexcept { return core_; }

  // `value` is moved from only if the value went into the channel.
  void send(void* value) const;
  bool receive(void* out) const;
  chan_status try_send(void* value) const;
  chan_status try_receive(void* out) const;
  chan_status send_until(void* value, std::int64_t deadline_ns) const;
  chan_status receive_until(void* out, std::int64_t deadline_ns) const;
  // With an error nothing was sent or received.
  void send(void* value, const context& ctx, std::error_code& error) const;
  bool receive(void* out, const context& ctx, std::error_code& error) const;
  void close() const;
  std::size_t size() const noexcept;
  std::size_t capacity() const noexcept;
  bool closed() const noexcept;

 private:
  // A chan_core begins with its references.
  reference_count* references() const noexcept { return reinterpret_cast<reference_count*>(core_); }
  static void destroy(chan_core* c) noexcept;

  chan_core* core_ = nullptr;
};

enum class case_kind : std::uint8_t { receive, send };

// One channel case of a select. For a receive `element` is uninitialised room for a value, for a
// send the value, moved from only if this case is chosen.
struct select_case {
  chan_core* channel;
  void* element;
  case_kind kind;
  bool received;  // out: a value came (false: the channel is closed and drained)
};

inline constexpr std::size_t select_timed_out = static_cast<std::size_t>(-1);
inline constexpr std::size_t select_would_block = static_cast<std::size_t>(-2);

// Would a select of this case alone wait? Without a lock, of one moment; never parks.
SLEY_API bool would_block(const select_case& c) noexcept;

// Chooses among the cases as Go's selectgo does, and returns the index of the one chosen, or
// select_timed_out. With deadline_ns == 0 it never parks and may return select_would_block.
// `scratch` is room for select_scratch_bytes(count), aligned for pointers.
SLEY_API std::size_t select(select_case* cases, std::size_t count, std::int64_t deadline_ns,
                            void* scratch);

// The same without a deadline, but where several cases are ready the first of them is chosen. It
// throws nothing: `received` says of a send, too, whether the value went over.
SLEY_API std::size_t select_in_order(select_case* cases, std::size_t count, void* scratch) noexcept;

// A random number below the bound, by the calling machine's generator.
SLEY_API std::size_t choose_below(std::size_t bound) noexcept;

constexpr std::size_t select_scratch_bytes(std::size_t count) { return count * 64; }

}  // namespace sley::detail
