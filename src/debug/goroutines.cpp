// What snapshots show, as values and as text.
#include "io/file.hpp"
#include "io/put.hpp"
#include "runtime/entry/snapshot.hpp"
#include "runtime/state/wait_reason.hpp"

#include <sley/debug.hpp>
#include <sley/go.hpp>
#include <sley/promise.hpp>
#include <sley/runtime.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sley::debug {

namespace {

// Names of functions take more of a stack than a goroutine has by default.
constexpr std::size_t printing_stack = 1 << 20;

template <class F>
void on_large_stack(F f) {
  packaged_task<void()> task(std::move(f));
  future<void> end = task.get_future();
  go(go_options{.name = "sley debug", .stack_size = printing_stack}, std::move(task));
  end.get();
}

// The caller's descriptor may make the thread wait, and may be a pipe without a reader.
template <class F>
void print_announced(F f) {
  io::expect_broken_pipes();
  on_large_stack([&] {
    blocking([&] {
      const io::broken_pipe_expected guard;
      f();
    });
  });
}

goroutine_info info_of(const rt::snapshot::entry& e) {
  const rt::goroutine_view& g = e.goroutine;
  return {g.id,
          std::string(g.name()),
          std::string(g.state),
          std::chrono::minutes(g.minutes),
          g.is_locked,
          g.created_by,
          g.created_at,
          {e.frames().begin(), e.frames().end()}};
}

template <class Visit>
void for_each(const rt::snapshot& all, const Visit& visit) {
  for (const auto* e = all.first(); e != nullptr; e = all.after(e)) visit(*e);
}

bool waits_for_ever(const rt::goroutine_view& g) {
  if (!g.is_waiting || g.id == rt::main_goroutine_id) return false;
  return g.state == rt::wait::chan_receive_nil || g.state == rt::wait::chan_send_nil ||
         g.state == rt::wait::select_no_cases;
}

}  // namespace

std::vector<goroutine_info> goroutines() {
  const rt::snapshot all;
  std::vector<goroutine_info> result;
  for_each(all, [&](const auto& e) { result.push_back(info_of(e)); });
  return result;
}

std::vector<goroutine_info> leaks() {
  const rt::snapshot all;
  std::vector<goroutine_info> result;
  for_each(all, [&](const auto& e) {
    if (waits_for_ever(e.goroutine)) result.push_back(info_of(e));
  });
  return result;
}

void dump_goroutines(int fd) {
  const rt::snapshot all;
  std::vector<const rt::snapshot::entry*> in_order;
  for_each(all, [&](const auto& e) { in_order.push_back(&e); });
  std::ranges::sort(in_order, {}, [](const auto* e) { return e->goroutine.id; });
  print_announced([&] {
    rt::goroutine_printer out(fd, true);
    for (const auto* e : in_order) out.print(e->goroutine, e->frames());
  });
}

namespace {

// Without the runtime's own frames: goroutines that wait at the same place may have come there by
// different ways inside.
class shown_frames {
 public:
  std::vector<std::uintptr_t> of(std::span<const std::uintptr_t> frames) {
    std::vector<std::uintptr_t> shown;
    std::ranges::copy_if(frames, std::back_inserter(shown), [this](std::uintptr_t frame) {
      const auto [place, is_new] = is_shown_.try_emplace(frame);
      if (is_new) place->second = !rt::is_runtimes_own(frame);
      return place->second;
    });
    return shown;
  }

 private:
  std::unordered_map<std::uintptr_t, bool> is_shown_;
};

using counts = std::map<std::pair<std::string_view, std::vector<std::uintptr_t>>, std::size_t>;

}  // namespace

std::vector<goroutine_group> goroutine_profile() {
  const rt::snapshot all;
  counts groups;
  on_large_stack([&] {
    shown_frames shown;
    for_each(all, [&](const auto& e) { ++groups[{e.goroutine.state, shown.of(e.frames())}]; });
  });
  std::vector<goroutine_group> result;
  for (const auto& [what, count] : groups) {
    result.push_back({count, std::string(what.first), what.second});
  }
  std::ranges::sort(result, std::greater(), &goroutine_group::count);
  return result;
}

void dump_profile(int fd) {
  const std::vector<goroutine_group> groups = goroutine_profile();
  print_announced([&] {
    rt::goroutine_printer out(fd, true);
    for (const goroutine_group& group : groups) {
      base::line_writer()
          .dec(std::uint64_t{group.count})
          .text(" [")
          .text(group.state)
          .text("]:\n")
          .flush(fd);
      out.print_frames(group.stack);
      base::line_writer().text("\n").flush(fd);
    }
  });
}

}  // namespace sley::debug
