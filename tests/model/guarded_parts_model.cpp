// The parts that are data behind a lock: global_queue and permanent_memory, the files themselves.
// All that goes through them is seen, and nothing is lost, doubled or given out twice.
#include "model/locks.hpp"

#include "parts/global_queue.hpp"
#include "parts/permanent_memory.cpp"
#include "parts/stack_pool.cpp"

using namespace sley;

namespace {

struct element {
  element* next = nullptr;
  bool is_loner = false;
  detail::plain<int> value;
};

bool is_loner(const element* e) noexcept { return e->is_loner; }

using queue = parts::global_queue<element, &element::next, &is_loner>;

// One thread brings two elements at once, and another thread brings one. A third takes a share and
// then the rest.
struct a_queued_element_is_taken_once : model::locking_suite<a_queued_element_is_taken_once, 3> {
  static constexpr const char* name = "a_queued_element_is_taken_once";

  queue all;
  element elements[3];
  int taken = 0;

  void take(element* e) {
    e->value.set(e->value.get() + 1);
    ++taken;
  }

  void thread(unsigned index) {
    if (index == 0) {
      queue::list two;
      for (element* e : {&elements[0], &elements[1]}) {
        e->value.set(1);
        two.push_back(e);
      }
      all.append(std::move(two));
    } else if (index == 1) {
      elements[2].value.set(1);
      all.push_back(&elements[2]);
    } else {
      element* share[2];
      const std::size_t n = all.take_share(2, share);
      for (element* e : std::span(share).first(n)) take(e);
      if (element* e = all.pop(2)) take(e);
    }
  }

  void after() {
    while (element* e = all.pop(2)) take(e);
    RL_ASSERT(taken == 3 && all.is_empty());
    for (element& e : elements) RL_ASSERT(e.value.get() == 2);
  }
};

// The holder of the only processor queues two elements and takes what there is, while another
// thread brings an element and a loner, and a third looks for a loner.
struct a_holder_takes_all_in_order : model::locking_suite<a_holder_takes_all_in_order, 3> {
  static constexpr const char* name = "a_holder_takes_all_in_order";

  queue all;
  element elements[4];
  int taken = 0;
  int last[2] = {-1, -1};  // the last taken of the elements of thread 0, and of thread 1

  void bring(int i) {
    elements[i].value.set(1);
    elements[i].is_loner = i == 3;
  }

  void take(element* e) {
    e->value.set(e->value.get() + 1);
    ++taken;
  }

  void take_in_order(element* e) {
    const int i = static_cast<int>(e - elements);
    RL_ASSERT(last[i / 2] < i);
    last[i / 2] = i;
    take(e);
  }

  void thread(unsigned index) {
    if (index == 0) {
      for (const int i : {0, 1}) {
        bring(i);
        all.push_back_held(&elements[i]);
        if (i == 0) {
          if (element* e = all.pop(1)) take_in_order(e);
        }
      }
      element* share[3];
      const std::size_t n = all.take_share(1, share);
      for (element* e : std::span(share).first(n)) take_in_order(e);
    } else if (index == 1) {
      for (const int i : {2, 3}) {
        bring(i);
        all.push_back(&elements[i]);
      }
    } else if (element* e = all.pop_first_loner()) {
      RL_ASSERT(e == &elements[3]);
      take(e);
    }
  }

  void after() {
    all.share();
    while (element* e = all.pop(2)) take_in_order(e);
    RL_ASSERT(taken == 4 && all.is_empty());
    for (element& e : elements) RL_ASSERT(e.value.get() == 2);
  }
};

// A thread that finds the queue empty after a barrier has overlooked no element that was queued
// before one (WG-1).
struct an_empty_queue_has_nothing : model::locking_suite<an_empty_queue_has_nothing, 2> {
  static constexpr const char* name = "an_empty_queue_has_nothing";
  static constexpr int bound = 3;

  queue all;
  element one;
  detail::atomic<bool> sleeps;
  bool overlooks = false;
  bool wakes = false;

  void thread(unsigned index) {
    if (index == 0) {
      all.push_back(&one);
      detail::light_barrier("WG-1");
      wakes = sleeps.load_relaxed();
    } else {
      sleeps.store_relaxed(true);
      detail::heavy_barrier("WG-1");
      overlooks = all.is_empty();
    }
  }

  void after() { RL_ASSERT(wakes || !overlooks); }
};

// Pieces of a quarter of a chunk: three threads need two chunks.
struct memory_is_given_out_once : model::locking_suite<memory_is_given_out_once, 3> {
  static constexpr const char* name = "memory_is_given_out_once";
  static constexpr std::size_t piece = std::size_t{1} << 18;

  parts::permanent_memory memory;
  char* pieces[6] = {};

  memory_is_given_out_once() { platform::mapped_bytes = 0; }

  void thread(unsigned index) {
    for (unsigned i = 0; i < 2; ++i) {
      pieces[2 * index + i] = static_cast<char*>(memory.allocate(piece));
    }
  }

  void after() {
    std::sort(pieces, pieces + 6);
    for (int i = 1; i < 6; ++i) RL_ASSERT(pieces[i] - pieces[i - 1] >= std::ptrdiff_t{piece});
  }
};

// Two take stacks and give them back, one by one and by the batch, while free ones are trimmed.
struct a_stack_has_one_owner : model::locking_suite<a_stack_has_one_owner, 3> {
  static constexpr const char* name = "a_stack_has_one_owner";
  static constexpr std::size_t bytes = parts::stack_pool::min_bytes;
  static constexpr unsigned most = 6;

  parts::stack_pool pool;
  char* lows[most] = {};  // by the order in which they were cut
  detail::plain<int> owners[most];

  void before() {
    platform::mapped_bytes = 0;
    pool.start(bytes);
    parts::stack* first = pool.take();
    first->next = pool.take();
    first->next->next = nullptr;
    pool.give_list(first);
    pool.trim(0);  // from now on they are surplus
  }

  detail::plain<int>& owner_of(const parts::stack* s) {
    for (unsigned i = 0; i < most; ++i) {
      if (lows[i] == nullptr) lows[i] = s->low;
      if (lows[i] == s->low) return owners[i];
    }
    RL_ASSERT(false);
    return owners[0];
  }

  void use(parts::stack* s) {
    RL_ASSERT(s->usable_bytes() >= bytes);
    detail::plain<int>& owner = owner_of(s);
    RL_ASSERT(owner.get() == 0);
    owner.set(1);
    s->top[-1] = 1;
  }

  void stop(parts::stack* s) { owner_of(s).set(0); }

  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 2; ++i) {
        parts::stack* s = pool.take();
        use(s);
        stop(s);
        pool.give(s);
      }
    } else if (index == 1) {
      parts::stack* all = pool.take_batch(2);
      for (parts::stack* s = all; s != nullptr; s = s->next) use(s);
      for (parts::stack* s = all; s != nullptr; s = s->next) stop(s);
      pool.give_list(all);
    } else {
      pool.trim(2);
    }
  }

  // All are there, once each.
  void after() {
    const std::uint64_t made = pool.made();
    for (std::uint64_t i = 0; i < made; ++i) use(pool.take());
    RL_ASSERT(pool.made() == made && !pool.has_free());
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("guarded_parts",
                      {model::scenario_of<a_queued_element_is_taken_once>(),
                       model::scenario_of<a_holder_takes_all_in_order>(),
                       model::scenario_of<an_empty_queue_has_nothing>(),
                       model::scenario_of<memory_is_given_out_once>(),
                       model::scenario_of<a_stack_has_one_owner>()},
                      {{"LK-1", a_queued_element_is_taken_once::name},
                       {"LK-1", a_holder_takes_all_in_order::name},
                       {"WG-1", an_empty_queue_has_nothing::name}})
      .run(argc, argv);
}
