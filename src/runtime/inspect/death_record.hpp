// What else is written when the process ends by a failure, after the report.
#pragma once

namespace sley::rt {

struct death_record {
  // Called in a copy of the process that has the calling thread alone; it may allocate.
  void (*write)(const death_record&) noexcept;
};

// Null: none. The record stays until another call has returned. Any thread.
void set_death_record(const death_record* record) noexcept;

// Writes it, once. Any thread, also in a signal handler.
void write_death_record() noexcept;

}  // namespace sley::rt
