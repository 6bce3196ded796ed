// What a service tells its manager: sd_notify(3) and sd_watchdog_enabled(3).
#include <sley/service.hpp>

#include <sley/detail/c_text.hpp>
#include <sley/detail/escape.hpp>
#include <sley/net.hpp>

#include "io/service_variable.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace sley::service {

namespace {

using std::chrono::microseconds;

// Empty: no manager listens.
std::string_view socket_name() noexcept {
  const char* name = std::getenv("NOTIFY_SOCKET");
  return name == nullptr ? std::string_view() : std::string_view(name);
}

// How long the watchdog waits for a sign; zero: there is none.
microseconds watchdog_limit() {
  const service_variable limit("WATCHDOG_USEC");
  const service_variable pid("WATCHDOG_PID");
  if (!limit.is_set() || (pid.is_set() && pid.number<int>() != ::getpid())) return {};
  constexpr std::uint64_t most = INT64_MAX / 1000;  // as nanoseconds
  return microseconds(std::min(limit.number<std::uint64_t>(), most));
}

}  // namespace

std::string reloading() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();  // CLOCK_MONOTONIC
  return "RELOADING=1\nMONOTONIC_USEC=" +
         std::to_string(std::chrono::duration_cast<microseconds>(now).count());
}

std::string status(std::string_view text) {
  std::string line = "STATUS=";
  detail::escape(text, [&line](std::string_view piece) { line.append(piece); });
  return line;
}

bool notify(std::string_view state, const context& ctx, std::error_code& error) {
  error = ctx.error();
  const std::string_view name = socket_name();
  if (error || name.empty()) return false;
  if (name.front() != '/' && name.front() != '@') {
    error = std::make_error_code(std::errc::address_family_not_supported);
    return false;
  }
  const auto manager = net::unix_datagram::connect(name, error);
  if (!error) manager.send(state, ctx, error);
  return !error;
}
bool notify(std::string_view state, std::error_code& error) {
  return notify(state, context::background(), error);
}
bool notify(std::string_view state, const context& ctx) {
  std::error_code error;
  const bool is_told = notify(state, ctx, error);
  if (error) throw detail::failed(error, "sley: notify NOTIFY_SOCKET", socket_name());
  return is_told;
}

void feed_watchdog(const context& ctx) {
  const microseconds limit = watchdog_limit();
  std::error_code ended;
  while (limit != microseconds::zero() && !ended) {
    std::error_code ignored;
    notify("WATCHDOG=1", ctx, ignored);
    this_goroutine::sleep_for(limit / 2, ctx, ended);
  }
}

}  // namespace sley::service
