// A wait that a context ends. A seam: in the models of locks no context ends.
//
//   wait_with(ctx, error, [this](detail::wait_limit limit) { return acquire_slow(limit); });
#pragma once

#include <sley/context.hpp>
#include <sley/detail/context_end.hpp>
#include <sley/detail/deadline.hpp>

#include "sync/wait_ender.hpp"

#include <system_error>

namespace sley::sync {

inline std::error_code error_of(const context& ctx) noexcept { return ctx.error(); }

// Waits by wait(limit) -> bool, unless the context has ended; false means that the limit was
// reached.
template <class Wait>
void wait_with(const context& ctx, std::error_code& error, const Wait& wait) {
  error = ctx.error();
  if (error) return;
  if (!detail::can_end(ctx)) {
    wait(detail::wait_limit(detail::no_deadline));
    return;
  }
  bool is_over = false;
  {
    wait_ender ender;
    const detail::on_context_end hook(ctx, [&ender] { ender.end(); });
    is_over = !wait(detail::wait_limit(ender));
  }
  if (is_over) error = ctx.error();
}

// The form of an operation that throws, made of the form that takes an error.
template <class Operation>
void throwing_with(const char* name, const Operation& operation) {
  std::error_code error;
  operation(error);
  if (error) throw std::system_error(error, name);
}

}  // namespace sley::sync
