// Labels that the program gives its goroutines.
#include "base/check.hpp"
#include "base/cut_text.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/family.hpp"
#include "runtime/state/label_set.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sley::debug {

namespace {

constexpr std::size_t most_labels = 16;
constexpr std::size_t most_key_bytes = 63;
constexpr std::size_t most_value_bytes = 127;

void check_key(std::string_view key) {
  if (key.empty()) throw std::invalid_argument("sley::debug::labels: an empty key");
  if (key == "name" || key == "state") {
    throw std::invalid_argument("sley::debug::labels: `name` and `state` are labels of profiles");
  }
  if (key.size() > most_key_bytes) {
    throw std::length_error("sley::debug::labels: a key of more than 63 bytes");
  }
}

// An empty value takes the label away.
void put(std::vector<label>& to, const label& added) {
  check_key(added.key);
  const auto at = std::ranges::lower_bound(to, added.key, {}, &label::key);
  const bool is_there = at != to.end() && at->key == added.key;
  const std::size_t kept = base::bytes_kept(added.value, most_value_bytes);
  if (kept == 0) {
    if (is_there) to.erase(at);
  } else if (is_there) {
    at->value = added.value.substr(0, kept);
  } else {
    to.insert(at, {added.key, added.value.substr(0, kept)});
  }
}

// Null if none is left.
rt::label_ref with_more(const rt::label_set* before, std::span<const label> added) {
  const auto outer = rt::labels_in(before);
  std::vector<label> all(outer.begin(), outer.end());
  for (const label& l : added) put(all, l);
  if (all.empty()) return {};
  if (all.size() > most_labels) {
    throw std::length_error("sley::debug::labels: more than 16 labels");
  }
  return rt::label_ref(new rt::label_set(std::move(all)));
}

void set_labels_of_caller(rt::label_ref labels) {
  const std::uint64_t family = rt::heritage_of_caller().family;
  rt::set_heritage_of_caller({.family = family, .labels = std::move(labels)});
}

}  // namespace

labels::labels(std::span<const label> added) {
  rt::leave(rt::enter());  // a thread may use the library here first
  rt::label_ref outer = rt::heritage_of_caller().labels;
  rt::label_ref own = with_more(outer.get(), added);
  caller_ = rt::this_machine()->g;
  own_ = own.get();
  set_labels_of_caller(std::move(own));
  outer_ = outer.release();
}

labels::~labels() {
  const rt::machine* m = rt::this_machine();
  if (m == nullptr || m->g != caller_) {
    base::fatal("sley: a debug::labels ends in another goroutine");
  }
  if (m->g->labels() != own_) {
    base::fatal("sley: a debug::labels ends before another one that began later");
  }
  set_labels_of_caller(rt::label_ref(static_cast<const rt::label_set*>(outer_)));
}

}  // namespace sley::debug
