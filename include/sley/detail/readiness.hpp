// A descriptor as a case of select.
#pragma once

#include <sley/byte_stream.hpp>
#include <sley/detail/chan_core.hpp>
#include <sley/detail/config.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace sley::os {
enum class poll_events : unsigned char;
}

namespace sley::detail {

// While it observes, there is a signal in its channel when a look at the object is worth it.
class SLEY_API readiness {
 public:
  // Throws std::bad_alloc.
  readiness(const io_object& object, os::poll_events wanted);
  readiness(readiness&&) noexcept;
  readiness& operator=(readiness&&) noexcept;
  ~readiness();

  // Begins to observe, and returns the case that receives the signal.
  select_case begin() noexcept;
  // A signal has come. False: nothing is ready, and it was for an event that is over.
  bool confirm() noexcept;
  void end() noexcept;
  // As confirm() found it.
  os::poll_events found() const noexcept;

 private:
  struct watch;
  std::unique_ptr<watch> watch_;
};

template <class F>
class ready_case {
 public:
  static constexpr bool is_channel_case = true;

  ready_case(readiness r, F f) : readiness_(std::move(r)), f_(std::move(f)) {}

  select_case erased() noexcept { return readiness_.begin(); }
  bool confirm() noexcept { return readiness_.confirm(); }
  void end() noexcept { readiness_.end(); }
  void run(bool) { std::invoke(f_, readiness_.found()); }

 private:
  readiness readiness_;
  [[no_unique_address]] F f_;
};

}  // namespace sley::detail
