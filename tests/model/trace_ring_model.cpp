// The ring of a trace: what a reader is given was written as it stands, in order, and is counted as
// lost otherwise; slots of different events do not mix.
#include "parts/trace_ring.hpp"

#include "model/model.hpp"

using namespace sley;

namespace {

// Each slot has its number twice.
struct slots_are_read_as_written_or_lost : model::suite<slots_are_read_as_written_or_lost, 2> {
  static constexpr const char* name = "slots_are_read_as_written_or_lost";
  static constexpr int bound = 3;
  static constexpr std::uint64_t count = 5;

  parts::trace_slot slots[2];
  parts::trace_ring<1> ring;
  std::uint64_t from = 0;
  std::uint64_t seen = 0;
  std::uint64_t lost = 0;

  void before() { ring.set_memory(slots, 2); }

  void read() {
    std::uint64_t last = 0;
    lost += ring.read(from, [&](std::uint64_t first, std::uint64_t second, std::uint64_t between) {
      RL_ASSERT(first == second);
      RL_ASSERT(last == 0 || first == last + 1 + between);
      RL_ASSERT(first <= from + count);
      last = first;
      ++seen;
    });
    RL_ASSERT(last <= from);
    RL_ASSERT(seen + lost == from);
  }

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t i = 1; i <= count; ++i) {
        ring.put(0, i, i);
        ring.publish(1);
      }
    } else {
      read();
      read();
    }
  }

  void after() {
    read();
    RL_ASSERT(from == count && seen > 0);
  }
};

// The number of a slot tells which event it must belong to.
struct slots_of_two_events_do_not_mix : model::suite<slots_of_two_events_do_not_mix, 2> {
  static constexpr const char* name = "slots_of_two_events_do_not_mix";
  static constexpr int bound = 3;

  parts::trace_slot slots[4];
  parts::trace_ring<2> ring;

  void before() { ring.set_memory(slots, 4); }

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t i = 0; i < 3; ++i) {
        ring.put(0, i, 1);
        ring.put(1, i, 2);
        ring.publish(2);
      }
    } else {
      std::uint64_t from = 0;
      std::uint64_t event = 0;
      std::uint64_t halves = 0;
      const std::uint64_t lost =
          ring.read(from, [&](std::uint64_t first, std::uint64_t second, std::uint64_t) {
            RL_ASSERT(second == 1 || second == 2);
            RL_ASSERT(second == 1 || halves == 0 || event == first);
            event = first;
            halves = second;
          });
      RL_ASSERT(halves != 1 || lost != 0);
      RL_ASSERT(from % 2 == 0);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model(
             "trace_ring",
             {model::scenario_of<slots_are_read_as_written_or_lost>(),
              model::scenario_of<slots_of_two_events_do_not_mix>()},
             {{"TB-1"}, {"TB-1@publish"}, {"TB-1@end"}, {"TB-2"}, {"TB-2@put"}, {"TB-2@read"}})
      .run(argc, argv);
}
