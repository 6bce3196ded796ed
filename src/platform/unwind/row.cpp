// From "Call Frame Instructions" of the DWARF standard, and libgcc's execute_cfa_program.
#include "platform/unwind/row.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sley::platform {

namespace {

using how = column_rule::how;

// Runs the instructions of a description up to an address.
class row_builder {
  // The names are DWARF's, without DW_CFA_. Three have an operand in their low six bits.
  enum instruction : std::uint8_t {
    operand_bits = 0x3f,
    advance_loc = 0x40,
    offset = 0x80,
    restore = 0xc0,

    nop = 0x00,
    set_loc = 0x01,
    advance_loc1 = 0x02,
    advance_loc2 = 0x03,
    advance_loc4 = 0x04,
    offset_extended = 0x05,
    restore_extended = 0x06,
    undefined = 0x07,
    same_value = 0x08,
    register_ = 0x09,
    remember_state = 0x0a,
    restore_state = 0x0b,
    def_cfa = 0x0c,
    def_cfa_register = 0x0d,
    def_cfa_offset = 0x0e,
    def_cfa_expression = 0x0f,
    expression = 0x10,
    offset_extended_sf = 0x11,
    def_cfa_sf = 0x12,
    def_cfa_offset_sf = 0x13,
    val_offset = 0x14,
    val_offset_sf = 0x15,
    val_expression = 0x16,
    aarch64_negate_ra_state = 0x2d,
    gnu_args_size = 0x2e,
  };

 public:
  row_builder(const frame_tables& tables, const frame_description& d, unwind_row& row) noexcept
      : tables_(tables), d_(d), row_(row) {}

  bool run(std::uint64_t pc) noexcept {
    location_ = d_.code.begin;
    if (!run_program(d_.common_program, pc)) return false;
    first_ = row_;
    location_ = d_.code.begin;
    return run_program(d_.program, pc);
  }

 private:
  // Compilers nest two of them at most.
  static constexpr std::size_t most_remembered = 4;

  bool run_program(address_range program, std::uint64_t pc) noexcept {
    cursor at(tables_.bytes, program);
    while (!at.is_at_end()) {
      run_instruction(at);
      if (location_ > pc) break;
    }
    return !at.has_failed();
  }

  void run_instruction(cursor& at) noexcept {
    const std::uint8_t code = at.byte();
    const std::uint8_t operand = code & operand_bits;
    switch (code & ~operand_bits) {
      case advance_loc: advance(operand); return;
      case offset: set(at, operand, {how::at_cfa, 0, unsigned_offset(at)}); return;
      case restore: set_first(at, operand); return;
      default: break;
    }
    if (code >= def_cfa && code <= def_cfa_expression) return define_cfa(at, code);
    if (code == def_cfa_sf || code == def_cfa_offset_sf) return define_cfa(at, code);
    if (code <= advance_loc4 || code == gnu_args_size) return move(at, code);
    if (code == remember_state || code == restore_state) return remember_or_restore(at, code);
    if (signs_return_addresses && code == aarch64_negate_ra_state) {
      row_.is_return_address_signed = !row_.is_return_address_signed;
      return;
    }
    define_column(at, code);
  }

  // ---- which instruction the row is of ----

  void advance(std::uint64_t units) noexcept { location_ += units * d_.code_factor; }

  void move(cursor& at, std::uint8_t code) noexcept {
    switch (code) {
      case set_loc: location_ = read_pointer(at, d_.address_encoding, 0); return;
      case advance_loc1: advance(at.number<std::uint8_t>()); return;
      case advance_loc2: advance(at.number<std::uint16_t>()); return;
      case advance_loc4: advance(at.number<std::uint32_t>()); return;
      case gnu_args_size: at.unsigned_leb(); return;  // of interest to landing pads only
      default: return;                                // nop
    }
  }

  void remember_or_restore(cursor& at, std::uint8_t code) noexcept {
    if (code == remember_state) {
      if (remembered_count_ == most_remembered) return at.fail();
      remembered_[remembered_count_++] = row_;
    } else {
      if (remembered_count_ == 0) return at.fail();
      row_ = remembered_[--remembered_count_];
    }
  }

  // ---- operands ----

  std::uint64_t unsigned_offset(cursor& at) const noexcept {
    return at.unsigned_leb() * static_cast<std::uint64_t>(d_.data_factor);
  }
  std::uint64_t signed_offset(cursor& at) const noexcept {
    return static_cast<std::uint64_t>(at.signed_leb()) * static_cast<std::uint64_t>(d_.data_factor);
  }
  static column_rule in_register(cursor& at) noexcept {
    const std::uint64_t number = at.unsigned_leb();
    const std::uint64_t known = std::min<std::uint64_t>(number, column_count);
    return {how::in_register, static_cast<std::uint32_t>(known)};
  }
  static column_rule by(how is, cursor& at) noexcept {
    const std::uint64_t size = at.unsigned_leb();
    if (size > UINT32_MAX) at.fail();
    const address_range program = at.take(size);
    return {is, static_cast<std::uint32_t>(program.end - program.begin), program.begin};
  }

  // ---- the rules ----

  void define_cfa(cursor& at, std::uint8_t code) noexcept {
    column_rule& cfa = row_.cfa;
    if (code == def_cfa_expression) {
      cfa = by(how::expression, at);
      return;
    }
    if (code == def_cfa || code == def_cfa_sf || code == def_cfa_register) {
      cfa.number = in_register(at).number;
    }
    cfa.is = how::register_offset;
    if (code == def_cfa || code == def_cfa_offset) cfa.value = at.unsigned_leb();
    if (code == def_cfa_sf || code == def_cfa_offset_sf) cfa.value = signed_offset(at);
  }

  void define_column(cursor& at, std::uint8_t code) noexcept {
    const std::uint64_t column = at.unsigned_leb();
    switch (code) {
      case offset_extended: return set(at, column, {how::at_cfa, 0, unsigned_offset(at)});
      case offset_extended_sf: return set(at, column, {how::at_cfa, 0, signed_offset(at)});
      case val_offset: return set(at, column, {how::cfa, 0, unsigned_offset(at)});
      case val_offset_sf: return set(at, column, {how::cfa, 0, signed_offset(at)});
      case restore_extended: return set_first(at, column);
      case undefined: return set(at, column, {how::undefined});
      case same_value: return set(at, column, {how::same});
      case register_: return set(at, column, in_register(at));
      case expression: return set(at, column, by(how::at_expression, at));
      case val_expression: return set(at, column, by(how::expression, at));
      default: at.fail();
    }
  }

  // Vector registers have columns too, which nothing here needs.
  void set(const cursor& at, std::uint64_t column, const column_rule& rule) noexcept {
    if (column < column_count && !at.has_failed()) row_.columns[column] = rule;
  }
  void set_first(const cursor& at, std::uint64_t column) noexcept {
    if (column < column_count) set(at, column, first_.columns[column]);
  }

  const frame_tables& tables_;
  const frame_description& d_;
  unwind_row& row_;
  unwind_row first_ = {};
  unwind_row remembered_[most_remembered];
  std::size_t remembered_count_ = 0;
  std::uint64_t location_ = 0;
};

}  // namespace

bool find_row(const frame_tables& tables, const frame_description& description, std::uint64_t pc,
              unwind_row& row) noexcept {
  row = {};
  return row_builder(tables, description, row).run(pc);
}

}  // namespace sley::platform
