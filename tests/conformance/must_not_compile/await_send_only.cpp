// expect: sley: co_await of a channel receives, and a send_chan cannot: co_await async_send
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
coroutine receive(sley::recv_chan<int> c) { co_await c; }
#else
coroutine receive(sley::send_chan<int> c) { co_await c; }
#endif
