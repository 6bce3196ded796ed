#include "runtime/inspect/death_record.hpp"

#include "base/print.hpp"
#include "base/published.hpp"
#include "platform/copied_process.hpp"
#include "platform/sanitizer.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstdint>

namespace sley::rt {

namespace {

constexpr std::int64_t time_to_write_ns = 10'000'000'000;

base::published<const death_record*> current_record;

// What fails in the copy is reported by nothing but its status. The failure may have happened
// inside the runtime, or the report has entered it; the record is user code.
void write_in_copy(void* arg) noexcept {
  sched.has_forked.store_relaxed(true);
  if (machine* m = this_machine(); m != nullptr && m->border.is_inside()) m->border.leave();
  const auto* record = static_cast<const death_record*>(arg);
  record->write(*record);
}

}  // namespace

void set_death_record(const death_record* record) noexcept { current_record.publish(record); }

void write_death_record() noexcept {
  const death_record* record = current_record.read();
  if (record == nullptr || sched.has_forked.load_relaxed()) return;
  if (!platform::sanitizer_lives_in_copies) return;
  current_record.publish(nullptr);
  if (platform::run_in_copy(&write_in_copy, const_cast<death_record*>(record), time_to_write_ns))
    return;
  base::line_writer().text("sley: the last events could not be written\n").flush(2);
}

}  // namespace sley::rt
