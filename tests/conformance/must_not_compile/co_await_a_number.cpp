// expect: awaitable type .int. is not a structure
// expect: no member named .await_ready. in
// expect: member reference base type .int. is not a structure
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
coroutine wait(sley::chan<int> c) { co_await c; }
#else
coroutine wait(int n) { co_await n; }
#endif
