// From libgcc's uw_frame_state_for and uw_update_context.
#include "platform/unwind/step.hpp"

#include "platform/unwind/expression.hpp"
#include "platform/unwind/row.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::platform {

namespace {

class caller_finder {
 public:
  caller_finder(const frame_tables& tables, const stack_memory& memory,
                const frame_registers& frame) noexcept
      : input_{tables.bytes, frame, memory} {}

  // False: a value is needed that can't be had.
  bool find(const unwind_row& row, std::uint8_t return_column, frame_registers& caller) noexcept {
    if (!find_cfa(row.cfa)) return false;
    caller = input_.registers;
    caller.set(column_sp, cfa_);
    for (std::size_t c = 0; c < column_count; ++c) {
      if (!apply(row.columns[c], c, caller)) return false;
    }
    if (!caller.knows(return_column) || !caller.knows(column_sp)) return false;
    const std::uint64_t place = caller.get(static_cast<column>(return_column));
    caller.set(column_pc, row.is_return_address_signed ? without_signature(place) : place);
    return true;
  }

 private:
  bool find_cfa(const column_rule& rule) noexcept {
    if (rule.is == column_rule::expression) {
      return evaluate(input_, rule.program(), nullptr, cfa_);
    }
    if (rule.is != column_rule::register_offset || !input_.registers.knows(rule.number)) {
      return false;
    }
    cfa_ = input_.registers.get(static_cast<column>(rule.number)) + rule.value;
    return true;
  }

  bool apply(const column_rule& rule, std::size_t c, frame_registers& caller) const noexcept {
    std::uint64_t value = 0;
    switch (rule.is) {
      case column_rule::same: return true;
      case column_rule::undefined: caller.forget(c); return true;
      case column_rule::in_register:
        if (input_.registers.knows(rule.number)) {
          caller.set(c, input_.registers.get(static_cast<column>(rule.number)));
        } else {
          caller.forget(c);
        }
        return true;
      case column_rule::cfa: caller.set(c, cfa_ + rule.value); return true;
      case column_rule::at_cfa:
        if (!input_.memory.read_word(cfa_ + rule.value, value)) return false;
        break;
      case column_rule::at_expression:
        if (!evaluate(input_, rule.program(), &cfa_, value)) return false;
        if (!input_.memory.read_word(value, value)) return false;
        break;
      default:
        if (!evaluate(input_, rule.program(), &cfa_, value)) return false;
    }
    caller.set(c, value);
    return true;
  }

  expression_input input_;
  std::uint64_t cfa_ = 0;
};

}  // namespace

step_result step(const frame_tables& tables, const stack_memory& memory,
                 frame_registers& frame) noexcept {
  // A return address may be the first of another function, if the call does not return.
  const std::uint64_t pc = frame.pc() - (frame.is_interrupted ? 0 : 1);
  frame_description description;
  if (!find_description(tables, pc, description)) return step_result::no_description;
  unwind_row row;
  if (!find_row(tables, description, pc, row)) return step_result::damaged;
  if (row.columns[description.return_column].is == column_rule::undefined)
    return step_result::outermost;
  frame_registers caller;
  if (!caller_finder(tables, memory, frame).find(row, description.return_column, caller))
    return step_result::damaged;
  caller.is_interrupted = description.is_signal_frame;
  if (caller.pc() == 0) return step_result::outermost;
  frame = caller;
  return step_result::done;
}

}  // namespace sley::platform
