// What snapshots show, as values and as text.
#include "debug/code_names.hpp"
#include "debug/goroutine_groups.hpp"
#include "debug/goroutine_info.hpp"
#include "debug/large_stack.hpp"
#include "debug/leak_search.hpp"
#include "io/file.hpp"
#include "io/put.hpp"
#include "runtime/entry/snapshot.hpp"
#include "runtime/state/label_set.hpp"
#include "runtime/state/wait_reason.hpp"

#include <sley/debug.hpp>
#include <sley/os.hpp>
#include <sley/runtime.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <system_error>
#include <string_view>
#include <tuple>
#include <utility>

namespace sley::debug {

namespace {

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

// What f prints to a descriptor.
template <class F>
std::string printed(F f) {
  const int fd = ::memfd_create("sley debug", MFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "sley: memfd_create");
  const os::file file(fd);
  f(fd);
  std::string text(file.size(), '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  for (std::size_t have = 0; have < bytes.size();) {  // ends: the file has this many bytes
    have += file.read_at(bytes.subspan(have), have);
  }
  return text;
}

rt::goroutine_view view_of(const goroutine_info& g, const rt::label_set* labels) noexcept {
  rt::goroutine_view view;
  view.is_leaked = g.is_leaked;
  view.id = g.id;
  view.name_size = static_cast<std::uint8_t>(std::min(g.name.size(), sizeof view.name_bytes));
  std::copy_n(g.name.data(), view.name_size, view.name_bytes);
  view.labels = labels;
  view.state = g.state;
  view.minutes = static_cast<std::uint32_t>(g.waiting.count());
  view.waits_for.holder = g.held_by;
  if (g.waits_for != 0) view.waits_for.add(g.waits_for);
  for (const std::uintptr_t channel : g.waits_for_one_of) view.waits_for.add(channel);
  view.is_locked = g.is_locked_to_thread;
  view.has_thread = g.state == "running" || g.state == "syscall";
  view.created_by = g.created_by;
  view.created_at = g.created_at;
  return view;
}

}  // namespace

goroutine_info info_without_objects(const rt::snapshot::entry& e) {
  const rt::goroutine_view& g = e.goroutine;
  const auto labels = rt::labels_in(g.labels);
  return {g.id,
          std::string(g.name()),
          {labels.begin(), labels.end()},
          std::string(g.state),
          std::chrono::minutes(g.minutes),
          0,
          {},
          g.waits_for.holder,
          g.is_locked,
          g.is_leaked,
          g.created_by,
          g.created_at,
          {e.frames().begin(), e.frames().end()}};
}

goroutine_info info_of(const rt::snapshot::entry& e) {
  goroutine_info info = info_without_objects(e);
  const std::span<const std::uintptr_t> addresses = e.goroutine.waits_for.addresses();
  if (addresses.size() == 1) {
    info.waits_for = addresses.front();
  } else {
    info.waits_for_one_of.assign(addresses.begin(), addresses.end());
  }
  return info;
}

std::vector<goroutine_info> goroutines() {
  const rt::snapshot all;
  std::vector<goroutine_info> result;
  for_each(all, [&](const auto& e) { result.push_back(info_of(e)); });
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

std::string goroutines_text(std::span<const goroutine_info> all) {
  std::string text;
  on_large_stack([&] {
    text = printed([&](int fd) {
      rt::goroutine_printer out(fd, true);
      for (const goroutine_info& g : all) {
        const rt::label_set labels(g.labels);
        out.print(view_of(g, g.labels.empty() ? nullptr : &labels), g.stack);
      }
    });
  });
  return text;
}

namespace {

// State, name, labels and stack.
using group_key =
    std::tuple<std::string_view, std::string_view, std::vector<label>, std::vector<std::uintptr_t>>;

bool is_any(const rt::goroutine_view&) noexcept { return true; }

template <class Wanted>
std::vector<named_group> groups_of(const rt::snapshot& all, bool by_name, const Wanted& is_wanted) {
  std::map<group_key, std::size_t> counts;
  on_large_stack([&] {
    code_names names;
    for_each(all, [&](const auto& e) {
      const rt::goroutine_view& g = e.goroutine;
      if (!is_wanted(g)) return;
      const std::string_view name = by_name ? g.name() : std::string_view();
      const auto labels = rt::labels_in(by_name ? g.labels : nullptr);
      ++counts[{
          g.state, name, {labels.begin(), labels.end()}, names.without_runtimes_own(e.frames())}];
    });
  });
  std::vector<named_group> result;
  for (const auto& [key, count] : counts) {
    const auto& [state, name, labels, stack] = key;
    result.push_back({std::string(name), labels, {count, std::string(state), stack}});
  }
  std::ranges::sort(result, std::greater(), [](const auto& g) { return g.group.count; });
  return result;
}

}  // namespace

std::vector<named_group> goroutines_by_name() { return groups_of(rt::snapshot(), true, is_any); }

std::vector<named_group> leaks_by_name() {
  const leaked_goroutines leaked;  // before the snapshot, which they are still in
  return groups_of(rt::snapshot(), true, leaked);
}

std::vector<goroutine_group> goroutine_profile() {
  std::vector<goroutine_group> result;
  for (named_group& g : groups_of(rt::snapshot(), false, is_any))
    result.push_back(std::move(g.group));
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
