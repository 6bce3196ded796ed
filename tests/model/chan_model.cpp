// Channels: the files of src/sync themselves. A look without the lock is of one moment, and the
// thread that frees a channel has seen all uses of it. (Close against select:
// spin/close_select.pml.)
#include "model/goroutines.hpp"

#include <sley/select.hpp>

#include "sync/chan.cpp"
#include "sync/select.cpp"

using namespace sley;

// Steps that no scenario reaches.
void sley::sync::destroy(channel_timer*) noexcept {}
std::int64_t sley::detail::deadline_after(std::int64_t) noexcept { return no_deadline; }

namespace {

using detail::chan_ref;
using detail::element_type_of;

// RF-1. The thread that frees the channel, and destroys its values, has seen all that was done
// through the other handles.
struct the_last_handle_frees_it : model::goroutine_suite<the_last_handle_frees_it, 3> {
  static constexpr const char* name = "the_last_handle_frees_it";
  static constexpr int bound = 3;

  using self = the_last_handle_frees_it;

  chan_ref handles[3];
  detail::plain<int> touched[3];
  int destroyed = 0;

  static void destroy_value(void* value) noexcept {
    self* s = *static_cast<self**>(value);
    ++s->destroyed;
    for (const detail::plain<int>& t : s->touched) RL_ASSERT(t.get() == 1);
  }
  static constexpr detail::element_type type{sizeof(self*), alignof(self*), nullptr,
                                             &destroy_value};

  void before() {
    handles[0] = chan_ref(type, 1);
    self* value = this;
    handles[0].send(&value);
    handles[1] = handles[0];
    handles[2] = handles[0];
  }

  void thread(unsigned index) {
    touched[index].set(1);
    handles[index] = chan_ref();
  }

  void after() { RL_ASSERT(destroyed == 1); }
};

// The same for a thread that holds two references and gives up one before the other.
struct two_references_of_one : model::goroutine_suite<two_references_of_one, 2> {
  static constexpr const char* name = "two_references_of_one";
  static constexpr int bound = 3;

  detail::reference_count count{3};
  detail::plain<int> touched[2];
  int freed = 0;

  void thread(unsigned index) {
    touched[index].set(1);
    if (index == 0) count.drop_not_last();
    if (!count.drop()) return;
    ++freed;
    for (const detail::plain<int>& t : touched) RL_ASSERT(t.get() == 1);
  }

  void after() { RL_ASSERT(freed == 1); }
};

// CH-4. A thread closes a channel with one value and then takes the value. A look without the lock
// that finds the channel empty finds it closed too, and never open and empty. Go's
// TestNonblockRecvRace.
struct empty_and_open_are_of_one_moment
    : model::goroutine_suite<empty_and_open_are_of_one_moment, 2> {
  static constexpr const char* name = "empty_and_open_are_of_one_moment";
  static constexpr int bound = 4;

  chan_ref c;
  detail::plain<int> result;

  void before() {
    c = chan_ref(element_type_of<int>, 1);
    int value = 1;
    c.send(&value);
  }

  void thread(unsigned index) {
    if (index == 0) {
      c.close();
      int value = 0;
      c.receive(&value);
    } else {
      int value = 0;
      RL_ASSERT(c.try_receive(&value) != chan_status::would_block);
    }
  }

  void after() { c = chan_ref(); }
};

// CH-4. The same where a sender waits instead of a value, and the close takes the sender out.
struct a_queue_is_empty_after_the_close
    : model::goroutine_suite<a_queue_is_empty_after_the_close, 2> {
  static constexpr const char* name = "a_queue_is_empty_after_the_close";
  static constexpr int bound = 4;

  chan_ref c;
  rt::goroutine sender;
  sync::chan_waiter waiter;
  sync::chan_waiter* chosen = nullptr;
  int sent = 1;

  void before() {
    c = chan_ref(element_type_of<int>, 0);
    sender.is_saved.set(true);
    waiter.g = &sender;
    waiter.element = &sent;
    waiter.chosen = &chosen;
    c.core()->senders.push(&waiter);
  }

  void thread(unsigned index) {
    if (index == 0) {
      c.close();
    } else {
      int value = 0;
      RL_ASSERT(c.try_receive(&value) != chan_status::would_block);
    }
  }

  void after() {
    RL_ASSERT(chosen == &waiter);
    c = chan_ref();
  }
};

// CH-4. A thread that finds the channel closed without the lock sees all that was done before the
// close.
struct a_closed_channel_shows_the_closers_writes
    : model::goroutine_suite<a_closed_channel_shows_the_closers_writes, 2> {
  static constexpr const char* name = "a_closed_channel_shows_the_closers_writes";
  static constexpr int bound = 3;

  chan_ref c;
  detail::plain<int> result;

  void before() { c = chan_ref(element_type_of<int>, 1); }

  void thread(unsigned index) {
    if (index == 0) {
      result.set(1);
      c.close();
    } else if (c.closed()) {
      RL_ASSERT(result.get() == 1);
    }
  }

  void after() { c = chan_ref(); }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("chan",
                      {model::scenario_of<the_last_handle_frees_it>(),
                       model::scenario_of<two_references_of_one>(),
                       model::scenario_of<empty_and_open_are_of_one_moment>(),
                       model::scenario_of<a_queue_is_empty_after_the_close>(),
                       model::scenario_of<a_closed_channel_shows_the_closers_writes>()},
                      {{"RF-1", the_last_handle_frees_it::name},
                       {"RF-1@drop", the_last_handle_frees_it::name},
                       {"RF-1@drop_not_last", two_references_of_one::name},
                       {"CH-4"},
                       {"CH-4@popped", empty_and_open_are_of_one_moment::name},
                       {"CH-4@is_empty", a_queue_is_empty_after_the_close::name},
                       {"CH-4@remove", a_queue_is_empty_after_the_close::name},
                       {"CH-4@close", a_closed_channel_shows_the_closers_writes::name},
                       {"CH-4@closed", a_closed_channel_shows_the_closers_writes::name},
                       {"CH-4@has_values", empty_and_open_are_of_one_moment::name}})
      .run(argc, argv);
}
