#include "keep_trying.hpp"

#include <sley/postgres.hpp>
#include <sley/redis.hpp>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <system_error>

namespace jobs {

bool may_pass(const std::exception& failure) {
  if (const auto* redis = dynamic_cast<const sley::redis::error_reply*>(&failure)) {
    const std::initializer_list<std::string_view> words = {"LOADING", "MASTERDOWN", "READONLY"};
    return std::ranges::any_of(words, [&](auto word) { return redis->said().starts_with(word); });
  }
  if (const auto* postgres = dynamic_cast<const sley::postgres::server_error*>(&failure)) {
    // Connections, conflicts of transactions, resources, intervention of an operator.
    const std::initializer_list<std::string_view> classes = {"08", "40", "53", "57"};
    return std::ranges::any_of(classes,
                               [&](auto c) { return postgres->sqlstate().starts_with(c); });
  }
  return dynamic_cast<const std::system_error*>(&failure) != nullptr;
}

outage::~outage() {
  if (has_begun_) monitor_.end_outage();
}

bool outage::may_try_again(const std::exception& failure) {
  if (!may_pass(failure)) return false;
  ++monitor_.failures;
  if (!has_begun_) {
    has_begun_ = true;
    monitor_.begin_outage(failure.what());
  }
  return true;
}

}  // namespace jobs
