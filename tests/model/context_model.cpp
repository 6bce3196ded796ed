// Contexts: the files of src/sync themselves. A context ends once. A thread that finds it ended
// sees all that was done before. A node goes when no thread holds it or walks over it.
#include "model/goroutines.hpp"

#include "sync/chan.cpp"
#include "sync/context.cpp"
#include "sync/context_tree.cpp"
#include "sync/mutex.cpp"
#include "sync/select.cpp"

using namespace sley;

namespace {

// State that a started goroutine looks at before it runs. The goroutine runs at once.
detail::plain<int>* looked_at_first = nullptr;

}  // namespace

void sley::detail::spawn(const task_type& type, void* callable, const go_options*) {
  RL_ASSERT(looked_at_first->get() == 1);
  type.run(callable);
}

// Functions that no scenario reaches.
void sley::sync::destroy(channel_timer*) noexcept {}
std::int64_t sley::detail::deadline_after(std::int64_t) noexcept { return no_deadline; }
void sley::this_goroutine::lock_os_thread() {}
void sley::this_goroutine::unlock_os_thread() {}

namespace {

using detail::ending_node;

// A node that says what happens to it. The bytes that it leaves are neither a valid atomic nor a
// valid pointer.
struct watched_node final : ending_node {
  struct log {
    detail::plain<int> ends;
    detail::plain<int> touched[3];
    int gone = 0;
  };

  watched_node(const context& below, log& l) noexcept : ending_node(below, "watched"), l_(l) {}
  ~watched_node() override {
    ++l_.gone;
    static_cast<void>(l_.ends.get());
    for (const detail::plain<int>& t : l_.touched) static_cast<void>(t.get());
  }
  void has_ended() noexcept override { l_.ends.set(l_.ends.get() + 1); }

  static void operator delete(void* memory) noexcept {
    std::memset(memory, 0xdd, sizeof(watched_node));
    ::operator delete(memory);
  }

 private:
  log& l_;
};

template <class Derived, unsigned Threads>
struct context_suite : model::goroutine_suite<Derived, Threads> {
  static context make(const context& below, watched_node::log& l) {
    return detail::join_tree(new watched_node(below, l));
  }
  static void cancel(const context& c) {
    detail::end(detail::context_access::ends_with(c), context_errc::canceled, nullptr);
  }
};

// CX-1. The thread that frees a node has seen all that was done through the other handles.
struct the_last_handle_frees_it : context_suite<the_last_handle_frees_it, 3> {
  static constexpr const char* name = "the_last_handle_frees_it";
  static constexpr int bound = 3;

  watched_node::log log;
  context handles[3];

  void before() {
    for (context& c : handles) c = &c == handles ? make({}, log) : handles[0];
  }
  void thread(unsigned index) {
    log.touched[index].set(1);
    handles[index] = context();
  }
  void after() { RL_ASSERT(log.gone == 1); }
};

// CX-1. The same where a call by a stop token is the last one, and leaves it to a goroutine.
struct a_stop_leaves_it_to_another : context_suite<a_stop_leaves_it_to_another, 2> {
  static constexpr const char* name = "a_stop_leaves_it_to_another";
  static constexpr int bound = 3;

  context c;
  detail::token_node* node = nullptr;
  detail::plain<int> touched;

  void before() {
    looked_at_first = &touched;
    node = new detail::token_node({});
    c = detail::join_tree(node);
    RL_ASSERT(node->try_retain());
  }
  void thread(unsigned index) {
    if (index == 0) {
      touched.set(1);
      c = context();
    } else {
      detail::release_elsewhere(node);
    }
  }
};

// CX-2. A thread that finds the context ended sees all that was done before, and the channel
// closed.
struct an_error_comes_with_all_else : context_suite<an_error_comes_with_all_else, 2> {
  static constexpr const char* name = "an_error_comes_with_all_else";
  static constexpr int bound = 3;

  watched_node::log log;
  context c;
  recv_chan<void> done;
  detail::plain<int> reason;

  void before() {
    c = make({}, log);
    done = c.done();
  }
  void thread(unsigned index) {
    if (index == 0) {
      reason.set(1);
      cancel(c);
    } else if (c.error()) {
      RL_ASSERT(reason.get() == 1 && done.closed());
    }
  }
  void after() {
    RL_ASSERT(log.ends.get() == 1 && c.error() == context_errc::canceled);
    done = nullptr;
    c = context();
  }
};

// CX-3. The channel is made once. A thread that finds it made sees all that was done before.
struct the_channel_is_made_once : context_suite<the_channel_is_made_once, 2> {
  static constexpr const char* name = "the_channel_is_made_once";
  static constexpr int bound = 3;

  watched_node::log log;
  context c;
  recv_chan<void> seen[2];
  detail::plain<int> made;

  void before() { c = make({}, log); }
  void thread(unsigned index) {
    if (index == 0) {
      made.set(1);
      seen[0] = c.done();
    } else {
      const bool is_there = detail::context_access::ends_with(c)->has_channel.load_relaxed();
      seen[1] = c.done();
      if (is_there) RL_ASSERT(made.get() == 1);
    }
  }
  void after() {
    RL_ASSERT(seen[0] == seen[1]);
    seen[0] = seen[1] = nullptr;
    c = context();
  }
};

// CX-4. A node goes while its parent's end walks over it: before, in between, or after.
struct a_child_goes_while_its_parent_ends : context_suite<a_child_goes_while_its_parent_ends, 2> {
  static constexpr const char* name = "a_child_goes_while_its_parent_ends";
  static constexpr int bound = 2;

  watched_node::log logs[3];
  context parent;
  context children[2];

  void before() {
    parent = make({}, logs[2]);
    for (int i = 0; i < 2; ++i) children[i] = make(parent, logs[i]);
  }
  void thread(unsigned index) {
    if (index == 0) {
      cancel(parent);
    } else {
      for (context& c : children) c = context();
    }
  }
  void after() {
    parent = context();
    for (const watched_node::log& l : logs) RL_ASSERT(l.gone == 1 && l.ends.get() <= 1);
  }
};

// Parent and child are ended at the same time. Both have ended, once.
struct parent_and_child_end_once : context_suite<parent_and_child_end_once, 2> {
  static constexpr const char* name = "parent_and_child_end_once";

  watched_node::log logs[2];
  context both[2];

  void before() {
    both[0] = make({}, logs[0]);
    both[1] = make(both[0], logs[1]);
  }
  void thread(unsigned index) { cancel(both[index]); }
  void after() {
    for (int i : {1, 0}) {
      RL_ASSERT(both[i].error() && logs[i].ends.get() == 1);
      both[i] = context();
      RL_ASSERT(logs[i].gone == 1);
    }
  }
};

// A child comes while its parent ends: it ends as well.
struct a_child_that_comes_ends : context_suite<a_child_that_comes_ends, 2> {
  static constexpr const char* name = "a_child_that_comes_ends";

  watched_node::log logs[2];
  context parent;
  context child;

  void before() { parent = make({}, logs[0]); }
  void thread(unsigned index) {
    if (index == 0) {
      cancel(parent);
    } else {
      child = make(parent, logs[1]);
    }
  }
  void after() {
    RL_ASSERT(child.error() && logs[1].ends.get() == 1);
    child = parent = context();
    RL_ASSERT(logs[0].gone == 1 && logs[1].gone == 1);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("context",
                      {model::scenario_of<the_last_handle_frees_it>(),
                       model::scenario_of<a_stop_leaves_it_to_another>(),
                       model::scenario_of<an_error_comes_with_all_else>(),
                       model::scenario_of<the_channel_is_made_once>(),
                       model::scenario_of<a_child_goes_while_its_parent_ends>(),
                       model::scenario_of<parent_and_child_end_once>(),
                       model::scenario_of<a_child_that_comes_ends>()},
                      {{"CX-1", the_last_handle_frees_it::name},
                       {"CX-1@release", the_last_handle_frees_it::name},
                       {"CX-1@release_elsewhere", a_stop_leaves_it_to_another::name},
                       {"CX-2", an_error_comes_with_all_else::name},
                       {"CX-2@mark", an_error_comes_with_all_else::name},
                       {"CX-2@error", an_error_comes_with_all_else::name},
                       {"CX-3", the_channel_is_made_once::name},
                       {"CX-4", a_child_goes_while_its_parent_ends::name},
                       {"CX-4@let_go", a_child_goes_while_its_parent_ends::name},
                       {"CX-4@leave_tree", a_child_goes_while_its_parent_ends::name}})
      .run(argc, argv);
}
