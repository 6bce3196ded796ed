// Where the records of goroutines and machines are, and what is where in them, for readers outside
// the process: debuggers, and tools/inspect. They find it as the section `.sley_layout`, which
// `strip` keeps, in the files of a process or core, and need no debug information.
//
// Readers know the names and the order of these fields, and the version. A change of either is a
// new version; a field that moves inside a record is none.
#pragma once

#include "parts/status.hpp"
#include "runtime/state/wait_reason.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::rt {

inline constexpr std::size_t wait_reasons = static_cast<std::size_t>(wait::goexit) + 1;
inline constexpr std::size_t statuses = static_cast<std::size_t>(parts::status::dead) + 1;
inline constexpr std::size_t layout_text_bytes = 32;  // of a text, with the zero byte at its end

// All of it is constant once the loader has relocated the addresses.
struct layout {
  char magic[8] = {'s', 'l', 'e', 'y', 'l', 'o', 'u', 't'};
  std::uint64_t version = 4;
  std::uint64_t bytes = sizeof(layout);

  // Addresses of variables.
  const void* newest_slab;     // a pointer to the first slab of the list, or null
  const void* newest_machine;  // a pointer to the first machine of the list, or null
  const void* coarse_s;        // 32 bits: the seconds since boot, see note_time()

  // The return address in the frame below every frame of a goroutine's stack.
  const void* bottom_return;

  // Offsets, and sizes where the names say so. In a slab:
  std::uint64_t slab_next;        // a pointer
  std::uint64_t slab_goroutines;  // the records, one after the other
  std::uint64_t slab_count;       // the number of records
  std::uint64_t goroutine_bytes;  // the size of a record
  // In a goroutine's record:
  std::uint64_t goroutine_id;             // 64 bits
  std::uint64_t goroutine_status;         // 8 bits, a place in status_texts
  std::uint64_t goroutine_reason;         // 8 bits, a place in wait_texts, if it waits
  std::uint64_t goroutine_needs;          // 8 bits, see needs_stack and needs_machine
  std::uint64_t goroutine_is_foreign;     // 8 bits, not 0: it is none, it stands for a thread
  std::uint64_t goroutine_stack_pointer;  // where it goes on, while it has no thread
  std::uint64_t goroutine_frame_pointer;
  std::uint64_t goroutine_pc;
  std::uint64_t goroutine_stack;       // a pointer
  std::uint64_t goroutine_waits_for;   // see waited.hpp, if it waits
  std::uint64_t goroutine_parked_s;    // 32 bits, as coarse_s: since when it waits
  std::uint64_t goroutine_extra;       // a pointer, or null: it has neither name nor labels
  std::uint64_t goroutine_bound_to;    // a pointer to its machine, with needs_machine
  std::uint64_t goroutine_created_by;  // 64 bits: the id of a goroutine, 0: a thread
  std::uint64_t goroutine_created_at;  // a return address
  // In what these point to:
  std::uint64_t extra_name;       // bytes
  std::uint64_t extra_name_size;  // 8 bits
  std::uint64_t extra_labels;     // a pointer, or null: it has none
  std::uint64_t labels_bytes;     // a pointer to their text, see label_set.hpp
  std::uint64_t labels_size;      // 32 bits: how long that is
  std::uint64_t stack_low;        // the lowest usable address
  std::uint64_t stack_top;        // the end
  // In a machine:
  std::uint64_t machine_next;       // a pointer
  std::uint64_t machine_goroutine;  // a pointer to the one that it runs, or null
  std::uint64_t machine_thread_id;  // 32 bits, 0: it has no thread

  // Bits.
  std::uint64_t needs_stack;    // the goroutine has not begun
  std::uint64_t needs_machine;  // it has its thread, which waits for a processor

  // How many texts there are; the first ones are of statuses, the others of reasons to wait.
  std::uint64_t text_bytes = layout_text_bytes;
  std::uint64_t status_count = statuses;
  std::uint64_t wait_count = wait_reasons;
  char status_texts[statuses][layout_text_bytes] = {};
  char wait_texts[wait_reasons][layout_text_bytes] = {};
};

}  // namespace sley::rt

extern "C" const sley::rt::layout sley_layout;
