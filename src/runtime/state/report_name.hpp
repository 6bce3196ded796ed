// What a sanitizer calls a goroutine. Nothing in builds without one that names stacks.
#pragma once

#include "base/print.hpp"
#include "platform/sanitizer.hpp"
#include "runtime/state/goroutine.hpp"

#include <string_view>

namespace sley::rt {

// From now on reports name the running stack `goroutine 7 worker`. [the goroutine itself]
inline void show_in_reports([[maybe_unused]] const goroutine& g) noexcept {
  if constexpr (platform::sanitizer_names_stacks) {
    base::line_writer name;
    name.text("goroutine ").dec(g.id);
    if (!g.name().empty()) name.text(" ").shown(g.name());
    name.text(std::string_view("\0", 1));
    platform::name_running_stack(name.view().data());
  }
}

}  // namespace sley::rt
