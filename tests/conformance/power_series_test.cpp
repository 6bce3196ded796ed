// A18, test/chan/powser1: power series with exact rational coefficients. A series is a pair of
// channels, one for demands and one for coefficients, and each operation on series is a goroutine:
// many of them, nearly all blocked, with feedback (exp and tan are defined by their own integrals).
// Unlike Go's program these end: closing `stop` ends every goroutine of a calculation.
#include "support/harness.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <ostream>
#include <utility>

using sley::chan;

namespace {

// Goroutines compute ahead of what is asked for, how far depends on the schedule: 64 bits are not
// enough for the denominators on the way.
__extension__ typedef __int128 wide;

wide greatest_common_divisor(wide a, wide b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

struct rational {
  wide numerator = 0;
  wide denominator = 1;

  rational(wide n = 0, wide d = 1) : numerator(n), denominator(d) {
    const wide common = greatest_common_divisor(n, d);
    if (common > 1) {
      numerator /= common;
      denominator /= common;
    }
  }
  friend rational operator+(rational a, rational b) {
    const wide common = greatest_common_divisor(a.denominator, b.denominator);
    return {a.numerator * (b.denominator / common) + b.numerator * (a.denominator / common),
            a.denominator / common * b.denominator};
  }
  friend rational operator*(rational a, rational b) {
    const rational left(a.numerator, b.denominator);
    const rational right(b.numerator, a.denominator);
    return {left.numerator * right.numerator, left.denominator * right.denominator};
  }
  friend bool operator==(const rational&, const rational&) = default;
  friend std::ostream& operator<<(std::ostream& out, rational r) {
    return out << static_cast<double>(r.numerator) << '/' << static_cast<double>(r.denominator);
  }
};

struct series {
  chan<void> demand;
  chan<rational> coefficients;
};

struct stopped {};

// One calculation: all its goroutines, and the channel whose closing ends them.
class calculation {
  auto until_stopped() {
    return sley::on_receive(stop_, [](bool) { throw stopped(); });
  }

 public:
  ~calculation() {
    stop_.close();
    group_.wait();
  }

  rational get(const series& s) {
    rational value;
    sley::select(sley::on_send(s.demand), until_stopped());
    sley::select(sley::on_receive(s.coefficients, [&](std::optional<rational> v) { value = *v; }),
                 until_stopped());
    return value;
  }
  void put(const series& s, rational value) {
    sley::select(sley::on_receive(s.demand), until_stopped());
    sley::select(sley::on_send(s.coefficients, value), until_stopped());
  }

  // The series 1 + x + x^2 + ...
  series ones() {
    return start([this](const series& z) {
      for (;;) put(z, 1);
    });
  }
  series constant(rational c) {
    return start([this, c](const series& z) {
      put(z, c);
      for (;;) put(z, 0);
    });
  }
  series add(series f, series g) {
    return start([=, this](const series& z) {
      for (;;) put(z, get(f) + get(g));
    });
  }
  series scale(rational c, series f) {
    return start([=, this](const series& z) {
      for (;;) put(z, c * get(f));
    });
  }
  series times_x(series f) {
    return start([=, this](const series& z) {
      put(z, 0);
      for (;;) put(z, get(f));
    });
  }
  // With f = f0 + x F and g = g0 + x G: f g = f0 g0 + x (f0 G + g0 F + x F G).
  series multiply(series f, series g) {
    return start([=, this](const series& z) {
      const rational f0 = get(f);
      const rational g0 = get(g);
      put(z, f0 * g0);
      const auto [f1, f2] = split(f);
      const auto [g1, g2] = split(g);
      const series rest = add(add(scale(f0, g1), scale(g0, f1)), times_x(multiply(f2, g2)));
      for (;;) put(z, get(rest));
    });
  }
  void integrate(const series& z, rational c, const series& f) {
    go([=, this] {
      put(z, c);
      for (std::int64_t n = 1;; ++n) put(z, get(f) * rational(1, n));
    });
  }
  // exp(u) = 1 + integral of exp(u) u', for the derivative u' of a u without constant term.
  series exponential(series derivative) {
    const series z;
    const auto [result, feedback] = split(z);
    integrate(z, 1, multiply(feedback, derivative));
    return result;
  }
  // tan x = integral of 1 + tan^2 x.
  series tangent() {
    const series z;
    const auto [result, feedback] = split(z);
    const auto [f1, f2] = split(feedback);
    integrate(z, 0, add(constant(1), multiply(f1, f2)));
    return result;
  }

  // Two series like f. Each may be read at its own pace, and f may depend on them: a demand on one
  // is served while f has not answered yet.
  std::pair<series, series> split(series f) {
    std::array<branch, 2> outs;
    go([=, this]() mutable { serve(f, outs); });
    return {outs[0].out, outs[1].out};
  }

 private:
  struct branch {
    series out;
    std::deque<rational> ready;
    bool is_waited_for = false;
  };

  // One select does it all; cases that make no sense at the moment are switched off by a nil
  // channel.
  void serve(const series& f, std::array<branch, 2>& outs) {
    bool demanded = false;
    for (;;) {
      const bool starved = starves(outs[0]) || starves(outs[1]);
      sley::select(
          sley::on_send(starved && !demanded ? f.demand : nullptr, [&] { demanded = true; }),
          sley::on_receive(demanded ? f.coefficients : nullptr,
                           [&](std::optional<rational> value) {
                             demanded = false;
                             for (branch& b : outs) b.ready.push_back(*value);
                           }),
          sley::on_receive(demand_of(outs[0]), [&](bool) { outs[0].is_waited_for = true; }),
          sley::on_receive(demand_of(outs[1]), [&](bool) { outs[1].is_waited_for = true; }),
          sley::on_send(answer_of(outs[0]), next(outs[0]), [&] { answered(outs[0]); }),
          sley::on_send(answer_of(outs[1]), next(outs[1]), [&] { answered(outs[1]); }),
          until_stopped());
    }
  }
  static bool starves(const branch& b) { return b.is_waited_for && b.ready.empty(); }
  static chan<void> demand_of(const branch& b) { return b.is_waited_for ? nullptr : b.out.demand; }
  static chan<rational> answer_of(const branch& b) {
    return b.is_waited_for && !b.ready.empty() ? b.out.coefficients : nullptr;
  }
  static rational next(const branch& b) { return b.ready.empty() ? rational() : b.ready.front(); }
  static void answered(branch& b) {
    b.ready.pop_front();
    b.is_waited_for = false;
  }

  template <class F>
  void go(F f) {
    group_.go([f = std::move(f)]() mutable {
      try {
        f();
      } catch (const stopped&) {
      }
    });
  }
  template <class F>
  series start(F f) {
    const series z;
    go([f = std::move(f), z] { f(z); });
    return z;
  }

  chan<void> stop_;
  sley::wait_group group_;
};

template <std::size_t Count>
void expect_coefficients(calculation& c, const series& s,
                         const std::array<rational, Count>& expected) {
  for (std::size_t n = 0; n < Count; ++n) EXPECT_EQ(c.get(s), expected[n]) << "of x^" << n;
}

}  // namespace

GO_TEST(power_series, sums_and_products_are_exact) {
  calculation c;
  expect_coefficients<4>(c, c.add(c.ones(), c.ones()), {2, 2, 2, 2});
  expect_coefficients<6>(c, c.multiply(c.ones(), c.ones()), {1, 2, 3, 4, 5, 6});
  const auto [a, b] = c.split(c.scale(rational(1, 2), c.ones()));
  expect_coefficients<5>(c, c.multiply(a, b),
                         {rational(1, 4), rational(1, 2), rational(3, 4), 1, rational(5, 4)});
}

GO_TEST(power_series, the_exponential_function_feeds_on_itself) {
  calculation c;
  expect_coefficients<9>(c, c.exponential(c.constant(1)),
                         {1, 1, rational(1, 2), rational(1, 6), rational(1, 24), rational(1, 120),
                          rational(1, 720), rational(1, 5040), rational(1, 40320)});
}

GO_TEST(power_series, the_tangent_feeds_on_its_square) {
  calculation c;
  expect_coefficients<10>(
      c, c.tangent(),
      {0, 1, 0, rational(1, 3), 0, rational(2, 15), 0, rational(17, 315), 0, rational(62, 2835)});
}
