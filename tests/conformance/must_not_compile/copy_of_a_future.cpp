// expect: use of deleted function .*a_future_has_one_owner_use_std_move_or_share
// expect: call to deleted constructor of .sley::future
#include <sley/sley.hpp>

#include <utility>

void snippet() {
  sley::future<int> f;
#ifdef CORRECTED
  sley::future<int> other = std::move(f);
#else
  sley::future<int> other = f;
#endif
}
