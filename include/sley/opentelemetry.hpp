// OpenTelemetry's context, and with it the active span, follows the goroutine instead of the
// thread, between which goroutines move. A header alone; needs the headers of OpenTelemetry C++
// (opentelemetry-cpp's API), which the library does not need.
//
//   namespace otel = opentelemetry;
//   otel::context::RuntimeContext::SetRuntimeContextStorage(
//       otel::nostd::shared_ptr<otel::context::RuntimeContextStorage>(
//           new sley::opentelemetry::context_storage));           // first of all in main
//
//   auto scope = tracer->WithActiveSpan(span);                    // this goroutine's span
//   sley::go(sley::opentelemetry::in_this_context([] { ... }));   // the other goroutine's as well
#pragma once

#include <sley/goroutine_local.hpp>

#include <opentelemetry/context/runtime_context.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace sley::opentelemetry {

// Each goroutine, and each thread that is none, has contexts of its own: what is attached there is
// current there until it is detached, by which thread ever the goroutine comes. They end with the
// goroutine. One that has just been started has none: see in_this_context().
//
// A token belongs to the goroutine that has attached its context. Elsewhere Detach() finds nothing
// and returns false; so move no scope of a span to another goroutine.
//
// The functions never park. Without memory for it Attach() calls std::terminate, because
// OpenTelemetry has it noexcept.
class context_storage final : public ::opentelemetry::context::RuntimeContextStorage {
  using context_type = ::opentelemetry::context::Context;
  using token_type = ::opentelemetry::context::Token;

 public:
  // The context that was attached last and is not detached; an empty one if there is none.
  context_type GetCurrent() noexcept override {
    return has_any() ? attached_->back() : context_type();
  }

  // The context is current until the token ends.
  ::opentelemetry::nostd::unique_ptr<token_type> Attach(
      const context_type& context) noexcept override {
    attached_->push_back(context);
    return CreateToken(context);
  }

  // Detaches the token's context, and what was attached later. False: it is not attached here.
  bool Detach(token_type& token) noexcept override {
    if (!has_any()) return false;
    std::vector<context_type>& all = *attached_;
    const auto is_its = [&token](const context_type& c) { return token == c; };
    const auto found = std::find_if(all.rbegin(), all.rend(), is_its);
    if (found == all.rend()) return false;
    const auto kept = static_cast<std::size_t>(all.rend() - found) - 1;
    while (all.size() > kept) {
      // A span that ends with it may ask for the current context.
      const context_type ended = std::move(all.back());
      all.pop_back();
    }
    return true;
  }

 private:
  bool has_any() noexcept { return attached_.has_value() && !attached_->empty(); }

  goroutine_local<std::vector<context_type>> attached_;
};

// A function that calls f in the context that is current now, wherever it is called: for go(),
// async(), wait_group::go(), after_func(), or a function of a thread. Arguments are passed on, and
// the result, and an exception, are f's. From `Context.wrap` of OpenTelemetry's for Java.
template <class F>
auto in_this_context(F&& f) {
  return
      [context = ::opentelemetry::context::RuntimeContext::GetCurrent(),
       call = std::decay_t<F>(std::forward<F>(f))](auto&&... arguments) mutable -> decltype(auto) {
        const auto token = ::opentelemetry::context::RuntimeContext::Attach(context);
        return std::invoke(call, std::forward<decltype(arguments)>(arguments)...);
      };
}

}  // namespace sley::opentelemetry
