// Ends what goes on over a stream whose owner may close, move or destroy it meanwhile.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/net.hpp>

#include <cstdint>

namespace sley::rt {
struct watched;
}

namespace sley::detail {

// Takes no descriptor of its own: records of descriptors outlive these, and tell one use from the
// next.
class SLEY_API interrupter {
 public:
  // Of a stream that is open.
  explicit interrupter(const net::stream& s) noexcept;
  // Reads find the end of the stream, and writes fail. Does nothing once the stream is closed. Any
  // thread.
  void interrupt() const noexcept;

 private:
  rt::watched* watched_;
  std::uint16_t sequence_;
};

}  // namespace sley::detail
