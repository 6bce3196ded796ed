// The loop that takes connections, for net::serve and for HTTP servers.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/semaphore.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <system_error>
#include <utility>

namespace sley::detail {

// How many connections there may be at a time. Several listeners may share them.
using places_ptr = std::shared_ptr<counting_semaphore<>>;

// At least one, because with none nothing would ever go on. SIZE_MAX is no limit in effect.
inline places_ptr make_places(std::size_t count) {
  constexpr std::size_t most = 1 << 30;
  return std::make_shared<counting_semaphore<>>(
      static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(count, 1, most)));
}

// Of one connection; its end gives it back.
class place {
 public:
  // Parks while all are taken, until the context ends: with an error it has none.
  place(const places_ptr& places, const context& ctx, std::error_code& error) {
    places->acquire(ctx, error);
    if (!error) places_ = places;
  }
  place(place&&) noexcept = default;
  place& operator=(place&&) = delete;
  ~place() {
    if (places_) places_->release();
  }

 private:
  places_ptr places_;
};

// Accepts connections, while there are places, and calls start(stream, place) for each, which lets
// it run in another goroutine. Further connections wait in the listener's queue. Returns the error
// that ended it: the context's, or that of accepting. The end of the context ends the wait for a
// place; for accept() the caller binds it to the listener, or closes that.
template <class Listener, class Start>
std::error_code accept_each(const Listener& from, const context& ctx, const places_ptr& places,
                            const Start& start) {
  for (;;) {  // ends by an error
    std::error_code error;
    place taken(places, ctx, error);
    if (error) return error;
    auto stream = from.accept(error);
    if (error) return error;
    start(std::move(stream), std::move(taken));
  }
}

}  // namespace sley::detail
