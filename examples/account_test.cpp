// A unit test that plays a program in many orders: `sley::testing::explore` finds the bug that
// shows in one order out of many, and names the seed that plays that order again.
//
// The program links sley::testing instead of sley::sley: the same library in a simulation, where
// one thread plays all threads. Any test framework will do; this one has none.
#include <sley/sley.hpp>
#include <sley/testing.hpp>

#include <cstdio>
#include <mutex>

namespace testing = sley::testing;

// Looks at the balance and takes the money in two steps: another goroutine may come in between.
class careless_account {
 public:
  explicit careless_account(int balance) : balance_(balance) {}
  void withdraw(int amount) {
    if (balance() >= amount) {
      const std::lock_guard guard(lock_);
      balance_ -= amount;
    }
  }
  int balance() {
    const std::lock_guard guard(lock_);
    return balance_;
  }

 private:
  sley::mutex lock_;
  int balance_;
};

// Looks and takes under one lock.
class account {
 public:
  explicit account(int balance) : balance_(balance) {}
  void withdraw(int amount) {
    const std::lock_guard guard(lock_);
    if (balance_ >= amount) balance_ -= amount;
  }
  int balance() {
    const std::lock_guard guard(lock_);
    return balance_;
  }

 private:
  sley::mutex lock_;
  int balance_;
};

// What must hold in every order.
template <class Account>
void two_customers_never_overdraw() {
  Account shared(100);
  sley::wait_group customers;
  customers.go([&] { shared.withdraw(80); });
  customers.go([&] { shared.withdraw(80); });
  customers.wait();
  testing::check(shared.balance() >= 0, "the account is not overdrawn");
}

int main() {
  const testing::options options{.schedules = 200};

  const testing::report found =
      testing::explore(options, two_customers_never_overdraw<careless_account>);
  std::printf("careless_account: %s\n", found.is_clean() ? "nothing was found" : "a bug was found");
  // SLEY_SEED=... in the environment plays that order, and to_string() has all stacks in it.
  std::printf("it has a seed: %s\n", found.seed.empty() ? "no" : "yes");

  const testing::report none = testing::explore(options, two_customers_never_overdraw<account>);
  std::printf("account: %s\n", none.is_clean() ? "clean in all orders" : none.to_string().c_str());
  return !found.is_clean() && none.is_clean() ? 0 : 1;
}
