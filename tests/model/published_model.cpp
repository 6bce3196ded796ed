// A thread that is told that something is there finds it complete: base::published, and the small
// parts of many protocols of the runtime, parts::registry, parts::role and parts::pending_bits.
#include "base/published.hpp"
#include "parts/role.hpp"
#include "parts/pending_bits.hpp"
#include "parts/registry.hpp"

#include "model/model.hpp"

using namespace sley;

namespace {

// A value that is read is complete, and so are all values that were published before it.
struct a_published_record_is_complete : model::suite<a_published_record_is_complete, 2> {
  static constexpr const char* name = "a_published_record_is_complete";
  static constexpr int bound = 3;

  detail::plain<int> things[2];
  base::published<std::uint32_t> count;

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint32_t i = 0; i < 2; ++i) {
        things[i].set(1);
        count.publish(i + 1);
      }
    } else {
      const std::uint32_t n = count.read();
      for (std::uint32_t i = 0; i < n; ++i) RL_ASSERT(things[i].get() == 1);
    }
  }
};

struct the_first_stays : model::suite<the_first_stays, 3> {
  static constexpr const char* name = "the_first_stays";

  detail::plain<int> things[2];
  base::published<detail::plain<int>*> one;

  void thread(unsigned index) {
    detail::plain<int>* found = one.read();
    if (found == nullptr && index < 2) {
      things[index].set(1);
      found = one.publish_first(&things[index]);
    }
    RL_ASSERT(found == nullptr || (found->get() == 1 && found == one.read()));
  }
};

struct record {
  detail::plain<int> value;
  record* next = nullptr;
};

// Two records are added; a claim sees to it that they are added one at a time. A walker meets
// complete records, the newest first.
struct a_walk_meets_complete_records_only : model::suite<a_walk_meets_complete_records_only, 3> {
  static constexpr const char* name = "a_walk_meets_complete_records_only";

  record records[2];
  parts::registry<record, &record::next> all;
  parts::role adding;

  void thread(unsigned index) {
    if (index == 2) {
      int met = 0;
      for (record* r : all) met += r->value.get();
      RL_ASSERT(met == 0 || met == 1 || met == 2);
    } else if (adding.try_take()) {
      records[index].value.set(1);
      all.add(&records[index]);
      adding.give_back();
    }
  }

  void after() {
    int met = 0;
    for (record* r : all) met += r->value.get();
    RL_ASSERT(met >= 1);  // one may find the claim taken
  }
};

struct one_at_a_time_has_it : model::suite<one_at_a_time_has_it, 3> {
  static constexpr const char* name = "one_at_a_time_has_it";
  static constexpr int bound = 3;

  parts::role it;
  detail::plain<int> done;
  int tried[3] = {};

  void thread(unsigned index) {
    if (!it.try_take()) return;
    RL_ASSERT(it.is_taken());
    done.set(done.get() + 1);
    ++tried[index];
    it.give_back();
  }

  void after() {
    RL_ASSERT(done.get() == tried[0] + tried[1] + tried[2] && done.get() >= 1);
    RL_ASSERT(it.try_take());
  }
};

// Two threads add a bit each, and two take the bits. Each bit is taken once, and its taker sees all
// that was done before.
struct each_bit_is_taken_once : model::suite<each_bit_is_taken_once, 4> {
  static constexpr const char* name = "each_bit_is_taken_once";

  parts::pending_bits bits;
  detail::plain<int> things[2];

  void take() {
    const std::uint64_t taken = bits.take();
    for (int i = 0; i < 2; ++i) {
      if ((taken >> i & 1) != 0) things[i].set(things[i].get() + 1);
    }
  }

  void thread(unsigned index) {
    if (index < 2) {
      things[index].set(1);
      bits.add(std::uint64_t{1} << index);
    } else {
      if (bits.is_any()) take();
    }
  }

  void after() {
    take();
    for (const detail::plain<int>& thing : things) RL_ASSERT(thing.get() == 2);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("published",
                      {model::scenario_of<a_published_record_is_complete>(),
                       model::scenario_of<the_first_stays>(),
                       model::scenario_of<a_walk_meets_complete_records_only>(),
                       model::scenario_of<one_at_a_time_has_it>(),
                       model::scenario_of<each_bit_is_taken_once>()},
                      {{"PB-1"},
                       {"PB-1@publish"},
                       {"PB-1@publish_first"},
                       {"PB-1@publish_first.acquire"},
                       {"PB-1@publish_first.release"},
                       {"PB-1@read"},
                       {"CL-1"},
                       {"CL-1@try_take"},
                       {"CL-1@give_back"},
                       {"PN-1"},
                       {"PN-1@add"},
                       {"PN-1@add.release"},
                       {"PN-1@take"},
                       {"PN-1@take.acquire"}})
      .run(argc, argv);
}
