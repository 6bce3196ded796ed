// expect: sley: the value does not convert to what the channel carries
#include <sley/sley.hpp>

struct coroutine {
  struct promise_type {
    coroutine get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};

#ifdef CORRECTED
coroutine send(sley::chan<int> c) { co_await sley::async_send(c, 1); }
#else
coroutine send(sley::chan<int> c) { co_await sley::async_send(c, "text"); }
#endif
