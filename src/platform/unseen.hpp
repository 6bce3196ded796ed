// Hides the scheduler from the thread sanitizer, so that it finds races between goroutines that ran
// one after the other. Everything here is empty in a build without the sanitizer, and does nothing
// before hide_scheduler().
//
// The scheduler's atomic operations order whatever passes its queues, and so nearly all goroutines
// of a processor. A program may not rely on that order, but the sanitizer can't know. So it must
// see none of it:
//
// * Code of the scheduler runs within an `unseen`. The sanitizer has one strand for each goroutine
//   and thread, and counts per strand. A goroutine that parks has begun one, and ends it when it
//   goes on, possibly on another thread; what runs meanwhile is on other strands.
// * Orders that a program may rely on are told: passes_order() and takes_order(). Code in sync is
//   seen, so what its locks and atomic operations order needs no telling. But an action after a
//   switch is unseen. A lock that it releases is told of before the switch.
// * Records and stacks have one user after the other. What the former user did with the memory is
//   forgotten.
// * So is, at each switch, what was done with the thread's own variables: a goroutine may use them
//   until it parks.
#pragma once

#include "platform/sanitizer.hpp"

#include <cstddef>

#ifdef SLEY_TSAN
#include <link.h>

// In the runtimes of clang and of GCC, but in no header of theirs: a range of memory is given back,
// with the orders that go by its addresses; and it is handed out, without former accesses.
extern "C" void __tsan_java_free(unsigned long start, unsigned long bytes);
extern "C" void __tsan_java_alloc(unsigned long start, unsigned long bytes);
#endif

namespace sley::platform {

// Before the runtime has threads.
inline void hide_scheduler() noexcept {
#ifdef SLEY_TSAN
  is_scheduler_unseen = true;
#endif
}

// While it lives, the sanitizer sees neither accesses nor orders of the strand.
class [[maybe_unused]] unseen {
 public:
#ifdef SLEY_TSAN
  [[gnu::always_inline]] unseen() noexcept : is_on_(hides_scheduler()) {
    if (is_on_) __tsan_mutex_pre_signal(nullptr, 0);
  }
  [[gnu::always_inline]] ~unseen() {
    if (is_on_) __tsan_mutex_post_signal(nullptr, 0);
  }
  unseen(const unseen&) = delete;
  unseen& operator=(const unseen&) = delete;

 private:
  const bool is_on_;
#else
  [[gnu::always_inline]] constexpr unseen() noexcept {}
#endif
};

// Within one `unseen`: the sanitizer sees the strand while it lives.
class [[maybe_unused]] seen {
 public:
#ifdef SLEY_TSAN
  [[gnu::always_inline]] seen() noexcept {
    if (hides_scheduler()) __tsan_mutex_post_signal(nullptr, 0);
  }
  [[gnu::always_inline]] ~seen() {
    if (hides_scheduler()) __tsan_mutex_pre_signal(nullptr, 0);
  }
  seen(const seen&) = delete;
  seen& operator=(const seen&) = delete;
#else
  [[gnu::always_inline]] constexpr seen() noexcept {}
#endif
};

// What a strand has done before passes_order() happens before what another one does after
// takes_order() of the same object, if it is not null. Neither has an effect within an `unseen`.
[[gnu::always_inline]] inline void passes_order([[maybe_unused]] const void* object) noexcept {
#ifdef SLEY_TSAN
  if (hides_scheduler()) __tsan_release(const_cast<void*>(object));
#endif
}
[[gnu::always_inline]] inline void takes_order([[maybe_unused]] const void* object) noexcept {
#ifdef SLEY_TSAN
  if (hides_scheduler() && object != nullptr) __tsan_acquire(const_cast<void*>(object));
#endif
}

// The same to the end of the calling thread, from all strands that it has had.
[[gnu::always_inline]] inline void passes_order_to_thread() noexcept {
#ifdef SLEY_TSAN
  passes_order(__builtin_thread_pointer());
#endif
}
[[gnu::always_inline]] inline void takes_order_of_thread() noexcept {
#ifdef SLEY_TSAN
  takes_order(__builtin_thread_pointer());
#endif
}

// Accesses of the past race with none of the future. `start` is a multiple of 8.
[[gnu::always_inline]] inline void forget_accesses([[maybe_unused]] const void* start,
                                                   [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef SLEY_TSAN
  if (!hides_scheduler()) return;
  const auto address = reinterpret_cast<unsigned long>(start);
  // The block that the middle call notes at its first word must not stay.
  __tsan_java_free(address, 8);
  __tsan_java_alloc(address, bytes);
  __tsan_java_free(address, 8);
#endif
}

// For memory that has a new user, and that no other strand uses now: the orders that went by its
// addresses are forgotten as well.
[[gnu::always_inline]] inline void forget_memory([[maybe_unused]] const void* start,
                                                 [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef SLEY_TSAN
  if (!hides_scheduler()) return;
  __tsan_java_free(reinterpret_cast<unsigned long>(start), bytes);
  forget_accesses(start, bytes);
#endif
}

// As forget_memory(), for a stack, as far as goroutines use it as a rule: a larger one would take
// long.
[[gnu::always_inline]] inline void forget_stack([[maybe_unused]] const void* low,
                                                [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef SLEY_TSAN
  constexpr std::size_t most_bytes = std::size_t{8} << 20;
  const std::size_t deep_bytes = bytes > most_bytes ? bytes - most_bytes : 0;
  forget_memory(static_cast<const char*>(low) + deep_bytes, bytes - deep_bytes);
#endif
}

// A thread's own variables, of the modules that are loaded when the thread begins.
class thread_variables {
 public:
#ifdef SLEY_TSAN
  // Finds the variables of the calling thread.
  void find() noexcept {
    count_ = 0;
    if (hides_scheduler()) dl_iterate_phdr(&add_module, this);
  }
  [[gnu::always_inline]] void forget() const noexcept {
    for (int i = 0; i < count_; ++i) forget_accesses(blocks_[i].start, blocks_[i].bytes);
  }

 private:
  struct block {
    const void* start;
    std::size_t bytes;
  };

  static constexpr int most_blocks = 64;
  static constexpr std::size_t most_bytes = 65'536;  // the sanitizer's own have more

  static int add_module(dl_phdr_info* info, std::size_t, void* arg) noexcept {
    auto* self = static_cast<thread_variables*>(arg);
    for (int i = 0; i < info->dlpi_phnum && info->dlpi_tls_data != nullptr; ++i) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      if (part.p_type == PT_TLS) self->add(info->dlpi_tls_data, part.p_memsz);
    }
    return 0;
  }

  void add(void* start, std::size_t bytes) noexcept {
    if (count_ == most_blocks || bytes > most_bytes) return;
    const std::size_t lead = reinterpret_cast<unsigned long>(start) % 8;
    blocks_[count_++] = {static_cast<char*>(start) - lead, (lead + bytes + 7) / 8 * 8};
  }

  block blocks_[most_blocks];
  int count_ = 0;
#else
  [[gnu::always_inline]] static void find() noexcept {}
  [[gnu::always_inline]] static void forget() noexcept {}
#endif
};

}  // namespace sley::platform
