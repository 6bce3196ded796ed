#include "runtime/state/wall_profile.hpp"

#include "base/published.hpp"
#include "runtime/state/label_set.hpp"
#include "runtime/state/wait_reason.hpp"

#include <cstddef>
#include <limits>

namespace sley::rt {

constinit contention_profile wall_profile;

namespace {

constexpr std::uint32_t most_label_sets = 1024;
// Twice as many, so that a search is short.
constexpr std::size_t label_places = 2 * std::size_t{most_label_sets};

// Their places are found by their hashes. A place never changes once it is taken.
constinit base::published<const label_set*> label_sets[label_places];
std::uint32_t label_set_count = 0;  // [sysmon]

// Of a kind: below are the plain kinds, and above the place of the labels, from 1.
constexpr int plain_bits = std::numeric_limits<std::uint16_t>::digits;

}  // namespace

std::int64_t plain_wall_kind(std::int64_t kind) noexcept { return static_cast<std::int16_t>(kind); }

const label_set* labels_of_wall_kind(std::int64_t kind) noexcept {
  const std::int64_t place = (kind - plain_wall_kind(kind)) >> plain_bits;
  return place == 0 ? nullptr : label_sets[place - 1].read();
}

std::int64_t wall_kind_with(std::int64_t plain_kind, const label_set* labels) noexcept {
  if (labels == nullptr) return plain_kind;
  for (std::size_t i = 0;; ++i) {  // ends: half of the places are free
    const std::size_t place = (labels->hash + i) % label_places;
    const label_set* there = label_sets[place].read_relaxed();
    if (there == nullptr) {
      if (label_set_count == most_label_sets) return plain_kind;
      ++label_set_count;
      add_reference(*labels);
      label_sets[place].publish(labels);
    }
    if (there == nullptr || are_equal(there, labels)) {
      return plain_kind + (static_cast<std::int64_t>(place + 1) << plain_bits);
    }
  }
}

std::string_view text_of_wall_kind(std::int64_t kind) noexcept {
  switch (const std::int64_t plain = plain_wall_kind(kind)) {
    case wall_in_call: return "syscall";
    case wall_running: return "running";
    case wall_runnable:
    case wall_not_begun: return "runnable";
    default: return plain < 0 ? std::string_view() : text_of(static_cast<wait>(plain));
  }
}

}  // namespace sley::rt
