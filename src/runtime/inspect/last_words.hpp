// The ends of the process after a report. One caller at a time has the last words, and another end
// does not cut the report off. From Go's dopanic, and from its main(), which waits while panicking.
//
// A caller is a goroutine, wherever it runs, or a thread.
#pragma once

namespace sley::rt {

// From now on the caller alone ends the process. Blocks the thread while another caller does. It
// may be called again.
void begin_last_words() noexcept;
// The same for sysmon, which never waits. False: another caller ends the process.
[[nodiscard]] bool try_begin_last_words() noexcept;
// For a thread that has failed, in its signal handler. True: its failure is what ends the process.
// False: it has said before why it ends the process, or another caller does not end it in time.
bool begin_last_words_of_failure() noexcept;
// In a signal handler: sysmon is about to begin, and other callers wait for it.
void announce_last_words() noexcept;
// Nothing can go on any more, not even the caller that has begun: this caller takes its place.
void take_over_last_words() noexcept;
// Whether the caller has begun.
bool has_last_words() noexcept;
// The report is complete. Only the program's terminate handler remains. If it does not end the
// process soon, other callers may.
void complete_last_words() noexcept;

// Before an end without a report: waits while another caller prints one, and ends the process. A
// foreign thread.
void wait_for_last_words() noexcept;

// In the child of a fork, where no other caller is left.
void reset_last_words() noexcept;

}  // namespace sley::rt
