// Looks at goroutines for the wall-clock profile; see wall_sampler.cpp.
#pragma once

#include "base/random.hpp"
#include "parts/status.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/records.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::rt {

// All records of goroutines, by number. [sysmon]
class record_index {
 public:
  // Returns the number of records. Of new ones that there is no memory for, none are counted.
  std::size_t update() noexcept;
  goroutine* at(std::size_t number) const noexcept {
    return &slabs_[number / slab_records]->records[number % slab_records];
  }

 private:
  bool make_room(std::size_t count) noexcept;

  slab** slabs_ = nullptr;
  std::size_t bytes_ = 0;  // of that memory
  std::size_t size_ = 0;
  slab* newest_ = nullptr;
};

// Some goroutines that were chosen by chance. [sysmon]
class wall_sampler {
 public:
  // Looks, if a look is due. Returns when the next one is; `never` while the profile is off.
  std::int64_t look(std::int64_t now_ns) noexcept;

 private:
  // A goroutine that was chosen, until it has been looked at.
  struct chosen {
    goroutine* g = nullptr;
    std::uint64_t id = 0;
    parts::status status{};  // it is looked at in this status
    bool is_done = false;
  };
  // Looks at a goroutine that runs, until its thread has told its stack.
  struct asked {
    stack_trace trace = {.frames = {}, .size = 0, .is_done = {}, .of = nullptr};  // constinit
    machine* m = nullptr;  // null: the place is free
    goroutine* g = nullptr;
    std::uint64_t id = 0;
    std::int64_t kind = 0;
    std::uint64_t looks = 0;
    std::uint64_t ns = 0;
    std::int64_t since_ns = 0;
    int tries = 0;
  };
  static constexpr std::size_t goroutines_at_once = 32;
  static constexpr std::size_t asked_at_once = 16;

  std::int64_t pause_ns() noexcept;
  std::size_t records_to_draw(std::size_t records) const noexcept;
  std::size_t choose(std::span<chosen> to) noexcept;
  void look_at_all(std::span<chosen> all) noexcept;
  bool look_at_held(const chosen& c) noexcept;
  bool look_at(const chosen& c) noexcept;
  bool look_at_rest(const chosen& c) noexcept;
  bool look_at_blocked(const chosen& c, machine* m) noexcept;
  bool ask(const chosen& c, machine* m, std::int64_t kind) noexcept;
  bool send(asked& a, machine* m) noexcept;
  void take_answers() noexcept;
  bool take_answer(asked& a) noexcept;
  void add(std::int64_t kind, std::span<const std::uintptr_t> stack) noexcept;

  record_index records_;
  base::random random_;
  std::int64_t now_ns_ = 0;
  std::int64_t looked_ns_ = 0;  // 0: the profile was off
  std::int64_t due_ns_ = 0;
  double part_alive_ = 0;      // of the records that were drawn
  double scale_ = 0;           // the number of goroutines that a chosen one stands for
  std::uint64_t ns_each_ = 0;  // the time that a look stands for
  asked asked_[asked_at_once];
};

}  // namespace sley::rt
