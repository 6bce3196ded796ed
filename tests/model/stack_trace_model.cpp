// A thread is asked for its stack trace, and may be too slow to answer. The verbs come from
// src/runtime/inspect/stack_trace.cpp. The asking thread gives up after a look or two, and the
// place for the trace is gone then.
#include "base/published.hpp"
#include "platform/relax.hpp"

#include "model/model.hpp"

using namespace sley;

namespace {

struct stack_trace {
  detail::plain<int> frames;
  base::published<bool> is_done;
};

// TC-1.
struct a_trace_is_whole_or_not_begun : model::suite<a_trace_is_whole_or_not_begun, 2> {
  static constexpr const char* name = "a_trace_is_whole_or_not_begun";
  static constexpr int bound = 5;

  detail::atomic<stack_trace*> trace_to;

  void collect_if_asked() {
    stack_trace* trace = trace_to.exchange_acq_rel(nullptr, "TC-1");
    if (trace == nullptr) return;
    trace->frames.set(trace->frames.get() + 1);
    trace->is_done.publish(true);
  }

  bool ask_thread(stack_trace* trace) {
    trace->frames.set(1);
    trace->is_done.publish(false);
    trace_to.exchange_acq_rel(trace, "TC-1");
    for (int looks = 0; !trace->is_done.read(); ++looks) {
      if (looks == 1 && give_up()) return false;
      platform::cpu_relax(1);
    }
    return true;
  }

  // False: the thread is at work right now.
  bool give_up() {
    return trace_to.exchange_acq_rel(nullptr, "TC-1") != nullptr ||
           model::is_left_out("TC-1 wait for the trace that is begun");
  }

  void thread(unsigned index) {
    for (int i = 0; i < 2; ++i) {
      if (index == 0) {
        collect_if_asked();
      } else {
        auto* trace = model::make<stack_trace>();
        if (ask_thread(trace)) RL_ASSERT(trace->frames.get() == 2);
        model::destroy(trace);
      }
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::model("stack_trace", {model::scenario_of<a_trace_is_whole_or_not_begun>()},
                      {{"TC-1"},
                       {"TC-1@collect_if_asked"},
                       {"TC-1@collect_if_asked.acquire"},
                       {"TC-1@ask_thread"},
                       {"TC-1@ask_thread.release"},
                       {"TC-1 wait for the trace that is begun"},
                       {"PB-1"},
                       {"PB-1@publish"},
                       {"PB-1@read"}})
      .run(argc, argv);
}
