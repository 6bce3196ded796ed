// As libgcc's unwind-dw2-fde-dip.c and extract_cie_info, and the "Exception Frames" chapter of the
// Linux Standard Base.
#include "platform/unwind/description.hpp"

#include "platform/unwind/frame.hpp"

#include <cstdint>

namespace sley::platform {

namespace {

// The low half of an encoding is the format, the high half what it is relative to.
enum pointer_encoding : std::uint8_t {
  format_absolute = 0x00,
  format_uleb = 0x01,
  format_u16 = 0x02,
  format_u32 = 0x03,
  format_u64 = 0x04,
  format_sleb = 0x09,
  format_s16 = 0x0a,
  format_s32 = 0x0b,
  format_s64 = 0x0c,
  format_bits = 0x0f,
  relative_to_place = 0x10,
  relative_to_header = 0x30,
  relative_bits = 0x70,
  is_indirect = 0x80,
};

std::uint64_t read_unrelated(cursor& at, std::uint8_t format) noexcept {
  switch (format) {
    case format_absolute:
    case format_u64:
    case format_s64: return at.number<std::uint64_t>();
    case format_uleb: return at.unsigned_leb();
    case format_u16: return at.number<std::uint16_t>();
    case format_u32: return at.number<std::uint32_t>();
    case format_sleb: return static_cast<std::uint64_t>(at.signed_leb());
    case format_s16: return static_cast<std::uint64_t>(at.number<std::int16_t>());
    case format_s32: return static_cast<std::uint64_t>(at.number<std::int32_t>());
    default: at.fail(); return 0;
  }
}

}  // namespace

std::uint64_t read_pointer(cursor& at, std::uint8_t encoding, std::uint64_t header) noexcept {
  const std::uint64_t place = at.address();
  const std::uint64_t value = read_unrelated(at, encoding & format_bits);
  if ((encoding & is_indirect) != 0) at.fail();
  switch (encoding & relative_bits) {
    case 0: return value;
    case relative_to_place: return value == 0 ? 0 : place + value;  // 0 is null, as in libgcc
    case relative_to_header: return header + value;
    default: at.fail(); return 0;
  }
}

// ---- .eh_frame_hdr ----

namespace {

// Both relative to the header.
struct index_entry {
  std::int32_t code;
  std::int32_t description;
};

// The sorted index.
class code_index {
 public:
  explicit code_index(const frame_tables& tables) noexcept
      : header_(tables.header), entries_(tables.bytes, tables.header) {
    constexpr std::uint8_t the_version = 1;
    constexpr std::uint8_t the_encoding = relative_to_header | format_s32;
    const std::uint8_t version = entries_.byte();
    const std::uint8_t encoding_of_start = entries_.byte();
    const std::uint8_t encoding_of_count = entries_.byte();
    const std::uint8_t encoding = entries_.byte();
    read_pointer(entries_, encoding_of_start, header_);  // of .eh_frame
    count_ = read_pointer(entries_, encoding_of_count, header_);
    const std::uint64_t room = (entries_.end() - entries_.address()) / sizeof(index_entry);
    if (version != the_version || encoding != the_encoding || count_ > room) entries_.fail();
    if (entries_.has_failed()) count_ = 0;
  }

  // The address of the description of the last code that begins at pc or before it; 0 if none does.
  std::uint64_t find(std::uint64_t pc) const noexcept {
    std::uint64_t low = 0;
    std::uint64_t high = count_;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (begin_of(entry(middle)) <= pc) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == 0 ? 0 : header_ + static_cast<std::uint64_t>(entry(low - 1).description);
  }

 private:
  index_entry entry(std::uint64_t number) const noexcept {
    cursor at = entries_;
    at.skip(number * sizeof(index_entry));
    return at.number<index_entry>();
  }
  std::uint64_t begin_of(index_entry e) const noexcept {
    return header_ + static_cast<std::uint64_t>(e.code);
  }

  std::uint64_t header_;
  cursor entries_;
  std::uint64_t count_ = 0;
};

// ---- .eh_frame ----

// An entry of .eh_frame begins with its length, and then has the distance to the entry that it
// refers to, or 0.
cursor open_entry(const image& bytes, std::uint64_t from) noexcept {
  constexpr std::uint32_t longest = 0xffff'fff0;  // above it are forms that nothing makes
  cursor length(bytes, from);
  const auto size = length.number<std::uint32_t>();
  if (size == 0 || size >= longest) length.fail();
  const address_range body = length.take(size);
  cursor entry(bytes, body);
  if (length.has_failed()) entry.fail();
  return entry;
}

// The letters after `z`, each of which stands for data in the same order. The caller skips what
// letters mean that are not known here.
void read_augmentation(cursor& letters, cursor& data, frame_description& d) noexcept {
  constexpr std::uint8_t omitted = 0xff;
  for (std::uint8_t letter = letters.byte(); letter != 0; letter = letters.byte()) {
    switch (letter) {
      case 'R': d.address_encoding = data.byte(); break;
      case 'S': d.is_signal_frame = true; break;
      case 'B': break;  // which key signs return addresses
      case 'L': data.skip(1); break;
      case 'P': {
        const std::uint8_t encoding = data.byte();
        if (encoding != omitted) read_unrelated(data, encoding & format_bits);
        break;
      }
      default: return;
    }
  }
}

// What several functions have in common (a CIE). False: it is damaged, or of another CPU.
bool read_common(const image& bytes, std::uint64_t from, frame_description& d) noexcept {
  cursor at = open_entry(bytes, from);
  const auto id = at.number<std::uint32_t>();
  const std::uint8_t version = at.byte();
  cursor letters = at;
  while (at.byte() != 0) {
  }
  d.is_augmented = letters.address() + 1 != at.address();
  d.code_factor = at.unsigned_leb();
  d.data_factor = at.signed_leb();
  const std::uint64_t column = version == 1 ? at.byte() : at.unsigned_leb();
  if (d.is_augmented) {
    if (letters.byte() != 'z') return false;
    const std::uint64_t size = at.unsigned_leb();
    cursor data(bytes, at.take(size));
    read_augmentation(letters, data, d);
    if (data.has_failed() || letters.has_failed()) return false;
  }
  d.common_program = at.rest();
  if (column >= column_count) return false;
  d.return_column = static_cast<std::uint8_t>(column);
  return !at.has_failed() && id == 0 && (version == 1 || version == 3);
}

bool read_description(const image& bytes, std::uint64_t from, frame_description& d) noexcept {
  cursor at = open_entry(bytes, from);
  const std::uint64_t place = at.address();
  const auto distance = at.number<std::uint32_t>();
  if (at.has_failed() || distance == 0 || !read_common(bytes, place - distance, d)) return false;
  d.code.begin = read_pointer(at, d.address_encoding, 0);
  d.code.end = d.code.begin + read_unrelated(at, d.address_encoding & format_bits);
  if (d.is_augmented) at.skip(at.unsigned_leb());
  d.program = at.rest();
  return !at.has_failed();
}

}  // namespace

bool find_description(const frame_tables& tables, std::uint64_t pc,
                      frame_description& found) noexcept {
  const std::uint64_t place = code_index(tables).find(pc);
  found = {};
  return place != 0 && read_description(tables.bytes, place, found) && found.code.holds(pc);
}

}  // namespace sley::platform
