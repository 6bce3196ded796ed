// The connections of one net::serve(), and how they end.
#include <sley/log.hpp>
#include <sley/serve.hpp>

#include "base/print.hpp"

#include <mutex>
#include <tuple>

namespace sley::detail {

serving::serving(const context& ctx, const net::serve_options& options)
    : options_(options), places_(make_places(options.connections)) {
  std::tie(handlers_, end_handlers_) = with_cancel(ctx);
  std::tie(streams_, end_streams_) = with_cancel(without_cancel(ctx));
}

// After an exception.
serving::~serving() {
  end_handlers_();
  end_streams_();
  running_.wait();
}

void serving::begin() {
  running_.add(1);
  const std::lock_guard guard(lock_);
  ++open_;
  ++result_.accepted;
}

void serving::end_one() noexcept {
  {
    const std::lock_guard guard(lock_);
    --open_;
  }
  running_.done();
}

net::serve_result serving::finish(std::error_code reason) {
  end_handlers_();
  {
    const auto [grace, end_grace] = with_timeout(context::background(), options_.grace);
    std::error_code is_over;
    running_.wait(grace, is_over);
    end_grace();
  }
  {
    const std::lock_guard guard(lock_);
    result_.cut = open_;
  }
  end_streams_();
  running_.wait();
  result_.reason = reason;
  return result_;
}

void serving::failed(const std::exception_ptr& e) {
  if (is_of_the_end(e)) return;
  {
    const std::lock_guard guard(lock_);
    ++result_.failed;
  }
  if (options_.on_error) return options_.on_error(e);
  base::line_writer line;
  line.text("sley: serve: a connection was given up");
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& known) {
    line.text(": ").shown(known.what());
  } catch (...) {
  }
  log_line(line.text("\n").view());
}

// A handler may just let through that its context, or its stream, has ended.
bool serving::is_of_the_end(const std::exception_ptr& e) const {
  if (!handlers_.error()) return false;
  try {
    std::rethrow_exception(e);
  } catch (const std::system_error& known) {
    return known.code().category() == context_category();
  } catch (...) {
    return false;
  }
}

}  // namespace sley::detail
