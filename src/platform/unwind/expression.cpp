// From "DWARF Expressions" of the DWARF standard, and libgcc's execute_stack_op.
#include "platform/unwind/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sley::platform {

namespace {

class evaluation {
  // The names are DWARF's, without DW_OP_.
  enum operation : std::uint8_t {
    addr = 0x03,
    deref = 0x06,
    const1u = 0x08,
    const1s = 0x09,
    const2u = 0x0a,
    const2s = 0x0b,
    const4u = 0x0c,
    const4s = 0x0d,
    const8u = 0x0e,
    const8s = 0x0f,
    constu = 0x10,
    consts = 0x11,
    dup = 0x12,
    drop = 0x13,
    over = 0x14,
    pick = 0x15,
    swap = 0x16,
    rot = 0x17,
    abs = 0x19,
    and_ = 0x1a,
    div = 0x1b,
    minus = 0x1c,
    mod = 0x1d,
    mul = 0x1e,
    neg = 0x1f,
    not_ = 0x20,
    or_ = 0x21,
    plus = 0x22,
    plus_uconst = 0x23,
    shl = 0x24,
    shr = 0x25,
    shra = 0x26,
    xor_ = 0x27,
    bra = 0x28,
    eq = 0x29,
    ge = 0x2a,
    gt = 0x2b,
    le = 0x2c,
    lt = 0x2d,
    ne = 0x2e,
    skip = 0x2f,
    lit0 = 0x30,
    lit31 = 0x4f,
    reg0 = 0x50,
    reg31 = 0x6f,
    breg0 = 0x70,
    breg31 = 0x8f,
    regx = 0x90,
    bregx = 0x92,
    deref_size = 0x94,
    nop = 0x96,
  };

 public:
  evaluation(const expression_input& input, address_range program) noexcept
      : input_(input), program_(program), at_(input.bytes, program) {}

  bool run() noexcept {
    constexpr int most_operations = 500;
    for (int i = 0; i < most_operations && !at_.is_at_end(); ++i) run_operation(at_.byte());
    return at_.is_at_end() && !at_.has_failed();
  }
  void push(std::uint64_t value) noexcept {
    if (size_ == most_values) return at_.fail();
    values_[size_++] = value;
  }
  std::uint64_t pop() noexcept {
    if (size_ == 0) return at_.fail(), 0;
    return values_[--size_];
  }
  bool has_failed() const noexcept { return at_.has_failed(); }

 private:
  static constexpr std::size_t most_values = 64;  // as many as libgcc has

  void run_operation(std::uint8_t code) noexcept {
    if (code >= lit0 && code <= lit31) return push(code - lit0);
    if (code >= reg0 && code <= reg31) return push(register_value(code - reg0));
    if (code >= breg0 && code <= breg31) return push_based(code - breg0);
    if (code >= const1u && code <= consts) return push_constant(code);
    if (code >= dup && code <= rot) return rearrange(code);
    if (code >= eq && code <= ne) return push_comparison(code);
    switch (code) {
      case addr: return push(at_.number<std::uint64_t>());
      case regx: return push(register_value(at_.unsigned_leb()));
      case bregx: return push_based(at_.unsigned_leb());
      case deref: return push_from_memory(sizeof(std::uint64_t));
      case deref_size: return push_from_memory(at_.byte());
      case bra:
      case skip: return jump(code);
      case nop: return;
      case abs:
      case neg:
      case not_:
      case plus_uconst: return push_unary(code);
      default: return push_binary(code);
    }
  }

  std::uint64_t register_value(std::uint64_t number) noexcept {
    if (!input_.registers.knows(number)) return at_.fail(), 0;
    return input_.registers.get(static_cast<column>(number));
  }
  void push_based(std::uint64_t number) noexcept {
    const std::uint64_t base = register_value(number);
    push(base + static_cast<std::uint64_t>(at_.signed_leb()));
  }

  void push_constant(std::uint8_t code) noexcept {
    const auto widened = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    switch (code) {
      case const1u: return push(at_.number<std::uint8_t>());
      case const1s: return push(widened(at_.number<std::int8_t>()));
      case const2u: return push(at_.number<std::uint16_t>());
      case const2s: return push(widened(at_.number<std::int16_t>()));
      case const4u: return push(at_.number<std::uint32_t>());
      case const4s: return push(widened(at_.number<std::int32_t>()));
      case constu: return push(at_.unsigned_leb());
      case consts: return push(widened(at_.signed_leb()));
      default: return push(at_.number<std::uint64_t>());
    }
  }

  void push_from_memory(std::size_t size) noexcept {
    const bool is_a_size = size == 1 || size == 2 || size == 4 || size == 8;
    const std::uint64_t address = pop();
    std::uint64_t value = 0;
    if (!is_a_size || has_failed() || !input_.memory.read(input_.memory.arg, address, &value, size))
      return at_.fail();
    push(value);
  }

  void rearrange(std::uint8_t code) noexcept {
    const std::size_t depth = code == pick ? at_.byte() : code == over ? 1 : 0;
    const std::size_t needed = code == swap ? 2 : code == rot ? 3 : depth + 1;
    if (size_ < needed) return at_.fail();
    std::uint64_t* top = values_ + size_ - 1;
    switch (code) {
      case drop: --size_; return;
      case swap: std::swap(top[0], top[-1]); return;
      case rot:
        std::swap(top[0], top[-1]);
        std::swap(top[-1], top[-2]);
        return;
      default: return push(*(top - depth));
    }
  }

  // `skip` always jumps, `bra` if the value is not 0.
  void jump(std::uint8_t code) noexcept {
    const auto distance = static_cast<std::uint64_t>(std::int64_t{at_.number<std::int16_t>()});
    if (code == bra && pop() == 0) return;
    if (has_failed()) return;
    const std::uint64_t to = at_.address() + distance;
    at_ = cursor(input_.bytes, program_);
    at_.go_to(to);
  }

  void push_unary(std::uint8_t code) noexcept {
    const std::uint64_t value = pop();
    switch (code) {
      case abs: return push(static_cast<std::int64_t>(value) < 0 ? 0 - value : value);
      case neg: return push(0 - value);
      case not_: return push(~value);
      default: return push(value + at_.unsigned_leb());
    }
  }

  void push_comparison(std::uint8_t code) noexcept {
    const auto right = static_cast<std::int64_t>(pop());
    const auto left = static_cast<std::int64_t>(pop());
    switch (code) {
      case eq: return push(left == right ? 1 : 0);
      case ge: return push(left >= right ? 1 : 0);
      case gt: return push(left > right ? 1 : 0);
      case le: return push(left <= right ? 1 : 0);
      case lt: return push(left < right ? 1 : 0);
      default: return push(left != right ? 1 : 0);
    }
  }

  void push_binary(std::uint8_t code) noexcept {
    const std::uint64_t right = pop();
    const std::uint64_t left = pop();
    switch (code) {
      case and_: return push(left & right);
      case or_: return push(left | right);
      case xor_: return push(left ^ right);
      case plus: return push(left + right);
      case minus: return push(left - right);
      case mul: return push(left * right);
      case div:
      case mod: return push_quotient(code, left, right);
      case shl: return push(right < 64 ? left << right : 0);
      case shr: return push(right < 64 ? left >> right : 0);
      case shra:
        return push(static_cast<std::uint64_t>(static_cast<std::int64_t>(left) >>
                                               (right < 63 ? right : 63)));
      default: at_.fail();
    }
  }

  // Division is signed, the remainder is not. -2^63 / -1 does not fit.
  void push_quotient(std::uint8_t code, std::uint64_t left, std::uint64_t right) noexcept {
    if (right == 0) return at_.fail();
    if (code == mod) return push(left % right);
    if (right == ~std::uint64_t{0}) return push(0 - left);
    push(static_cast<std::uint64_t>(static_cast<std::int64_t>(left) /
                                    static_cast<std::int64_t>(right)));
  }

  const expression_input& input_;
  address_range program_;
  cursor at_;
  std::uint64_t values_[most_values];
  std::size_t size_ = 0;
};

}  // namespace

bool evaluate(const expression_input& input, address_range program, const std::uint64_t* first,
              std::uint64_t& value) noexcept {
  evaluation e(input, program);
  if (first != nullptr) e.push(*first);
  if (!e.run()) return false;
  value = e.pop();
  return !e.has_failed();
}

}  // namespace sley::platform
