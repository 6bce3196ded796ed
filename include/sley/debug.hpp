// Seeing inside a program that runs: its goroutines with their stacks, and the scheduler's figures,
// as text and as values. <sley/http/debug.hpp> has them as pages for a browser.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sley::debug {

// What a program says about a goroutine, to tell what it works on: {"endpoint", "/login"}.
struct label {
  std::string key;    // what it tells
  std::string value;  // and what that is

  auto operator<=>(const label&) const = default;
  bool operator==(const label&) const = default;
};

// A goroutine, at the moment at which it was looked at.
struct goroutine_info {
  std::uint64_t id;              // this_goroutine::id()
  std::string name;              // go_options::name
  std::vector<label> labels;     // its labels, sorted by key
  std::string state;             // "running", "runnable", "syscall", or what it waits for
  std::chrono::minutes waiting;  // how long it has waited, if it waits
  // The address of the mutex, wait group or other object that it waits for, and of a channel the
  // address that its handles share. 0: it does not wait for one object.
  std::uintptr_t waits_for;
  // The addresses of the channels of the select in which it waits, in the order of its cases, eight
  // at most. Empty: it does not wait for several.
  std::vector<std::uintptr_t> waits_for_one_of;
  // The id of the goroutine that has locked the mutex or shared_mutex that it waits for; 0 if none
  // has, and outside debug builds, in which mutexes do not know it.
  std::uint64_t held_by;
  bool is_locked_to_thread;           // see lock_os_thread
  bool is_leaked;                     // leaks() has found it
  std::uint64_t created_by;           // the id of the goroutine that started it; 0: a thread did
  std::uintptr_t created_at;          // the return address of the call that did; 0: unknown
  std::vector<std::uintptr_t> stack;  // return addresses, innermost first, 64 at most
};

// All goroutines, the caller's too: each that lives during the whole call is there once, as it was
// at a moment of its own. The others go on while goroutines that wait are looked at. Then the
// scheduler stands still for the rest: some microseconds for each, and up to 0.2 s for a thread
// that blocks SIGURG; one that gets no CPU may take longer. A computing goroutine goes on, and is
// asked for its stack by that signal. A goroutine that sleeps in a system call is not disturbed:
// its stack is read from outside, and is empty where that is not possible: see docs/debugging.md.
// Goroutines that have not begun have no stack.
//
// Any thread; parks. std::bad_alloc without address space for it (700 bytes for each goroutine).
// From Go's runtime.GoroutineProfile.
SLEY_API std::vector<goroutine_info> goroutines();

// The same as text, written to the descriptor: each goroutine with its stack, in the layout of the
// dumps that SIGQUIT and fatal errors print, in the order of their ids. Blocks the thread if the
// descriptor does, announced; stops quietly where it takes no more, and a pipe without a reader
// raises no SIGPIPE. From Go's pprof.Lookup("goroutine").WriteTo(w, 2).
SLEY_API void dump_goroutines(int fd);

// The same text, of these goroutines in their order. Any thread; parks. std::bad_alloc;
// std::system_error: there is no descriptor for it.
SLEY_API std::string goroutines_text(std::span<const goroutine_info> all);

// From its begin to its end the caller has these labels, besides the labels that it had: a label
// with the same key gives way for that time, and an empty value takes it away. A goroutine that the
// caller starts meanwhile has the caller's labels of that moment, to its own end, and so has each
// one that this goroutine starts. The goroutine of an after_func has the labels of the caller that
// has made it.
//
//   const sley::debug::labels scope{{"endpoint", "/login"}, {"tenant", tenant}};
//
// The labels are with the goroutine in goroutines(), in dumps, as `[chan receive] {tenant: "a"}`,
// in goroutines_json(), and in samples of the goroutine profile, the CPU profile and the wall-clock
// profile: `go tool pprof -tagfocus=tenant=a` shows one tenant's part. Wall-clock profiles have the
// first 1,024 different sets of labels that they have met in a process; goroutines with others are
// there without labels.
//
// A begin allocates memory, and so does starting a goroutine from one with labels. From Go's
// runtime/pprof.Do.
class labels {
 public:
  // Of labels with one key the last one counts. A value is cut to 127 bytes, at a character of
  // UTF-8. Bytes that are not UTF-8 are escaped where they are shown.
  //
  // In a goroutine, or on any thread; never parks. std::bad_alloc; std::invalid_argument: a key is
  // empty, or `name` or `state`, which profiles have already; std::length_error: a key has over 63
  // bytes, or the caller would have more than 16 labels.
  explicit labels(std::initializer_list<label> added)
      : labels(std::span<const label>(added.begin(), added.size())) {}
  SLEY_API explicit labels(std::span<const label> added);
  // In the goroutine, or on the thread, of its begin, after the ends of all labels that have begun
  // there later: otherwise the process ends. Never parks.
  SLEY_API ~labels();
  labels(const labels&) = delete;
  labels& operator=(const labels&) = delete;

 private:
  const void* caller_;
  const void* own_;
  const void* outer_;
};

// Goroutines that do the same at the same place.
struct goroutine_group {
  std::size_t count;                  // how many there are
  std::string state;                  // as goroutine_info::state
  std::vector<std::uintptr_t> stack;  // as goroutine_info::stack
};

// As goroutines(), but goroutines in the same state with the same stack are taken together. Stacks
// are without the runtime's own frames as far as the program has symbols. The largest groups come
// first. From Go's goroutine profile.
SLEY_API std::vector<goroutine_group> goroutine_profile();

// The same as text, with the names of functions, written to the descriptor as dump_goroutines()
// does. From Go's pprof.Lookup("goroutine").WriteTo(w, 1).
SLEY_API void dump_profile(int fd);

// Goroutines in the same state, with the same name, labels, creator and stack taken together, as a
// text of JSON for pages and programs:
//   {"goroutines":12, "all_groups":3, "groups":[{"count":10, "state":"chan receive",
//     "name":"worker", "labels":{"tenant":"a"}, "first_id":7, "minutes":5,
//     "waits_for":"0x55d2c4a1b060", "object":"jobs", "held_by":3,
//     "creator":{"function":"main", "file":"/home/me/main.cpp", "line":12}, "stack":[...]}, ...]}
// The largest groups come first, `most_groups` at most; "all_groups" is how many there are.
// "first_id" is the smallest id of the group, "minutes" its longest wait. "waits_for" and "held_by"
// are as in goroutine_info, where all of the group wait for one object, and "object" is the name of
// one with static storage. Members are left out where they are zero, empty or unknown. A stack has
// its functions innermost first, inlined ones too, as "creator" has its one. Otherwise as
// goroutine_profile().
SLEY_API std::string goroutines_json(std::size_t most_groups = 500);

// The goroutines that are leaked, as Go's goroutineleak profile has them: they can never go on,
// because nothing in the program that still can reaches what they wait for. That is a channel, all
// channels of a select, a context's end, a nil channel or a select without cases; a future's
// result; or a mutex, wait group, condition variable, semaphore or the like on a goroutine's stack.
// The main goroutine is not among them. In the order of their ids; `waits_for` is 0, because a copy
// of the address would be a pointer to the object.
//
// No goroutine is named that can go on, unless a program hides its pointers: see docs/debugging.md.
// A leaked one may be missed: any word in memory that looks like a pointer counts as one, also what
// a block has left that was freed, and an address in the goroutine_info of other functions. A
// future that is reached counts as its promise. And an object that is part of another one, on the
// heap or a variable, always counts as reached.
//
// The search stops all threads of the process for some milliseconds, and about a second for each
// gigabyte of memory in use. It does so by ptrace(2), with a helper process. Calls that sleep go on
// after that, except epoll_wait(2) and a few others, which return EINTR: see signal(7). Built with
// a sanitizer, or in a simulation, there is no search, and only goroutines are named that wait for
// nothing: for a nil channel, or in a select without cases.
//
// Any thread; parks. std::bad_alloc; std::system_error: the process can't be looked at, because a
// debugger is attached, or the system forbids ptrace(2). From Go's pprof.Lookup("goroutineleak").
SLEY_API std::vector<goroutine_info> leaks();

// A test's goroutines end with it. From the guard's begin, each goroutine that the caller starts
// belongs to it, and so does each one that such a goroutine starts. The guard's destructor waits
// until all of them have ended, a second at most, and calls the function if some have not.
// Goroutines of other tests that run at the same time do not matter.
//
//   sley::debug::no_leaks guard([](const std::string& report) { ADD_FAILURE() << report; });
//
// <sley/gtest.hpp> has a listener that does so for each test of GoogleTest.
//
// The main goroutine of a run() that the caller makes belongs to it, and so does the goroutine of
// an after_func. What the library starts for the whole process does not: lookups of names, and the
// delivery of signals. A thread that a member starts is no goroutine, and what that thread starts
// does not belong to the guard. In a guard's goroutines there may be other guards: each tells of
// its own, and the outer one of those whose guard has not ended.
//
// While there is a guard, starting a goroutine allocates memory.
class no_leaks {
 public:
  // Gets the number of goroutines and their stacks, as goroutines_text() has them.
  using handler = std::function<void(const std::string& report)>;

  // In a goroutine, or on any thread. The handler must not throw. std::bad_alloc;
  // std::invalid_argument: the handler is empty.
  SLEY_API explicit no_leaks(handler on_leaks);
  // In the goroutine, or on the thread, of its begin: otherwise the process ends. Parks. Without
  // memory for a look at the goroutines std::terminate is called.
  SLEY_API ~no_leaks();
  no_leaks(const no_leaks&) = delete;
  no_leaks& operator=(const no_leaks&) = delete;

 private:
  handler on_leaks_;
  std::uintptr_t caller_;
  std::uint64_t outer_;
  std::uint64_t family_;
};

// What a profile is of.
enum class profile_kind : std::uint8_t {
  goroutine,       // all goroutines; equal state, name and stack are taken together
  thread_create,   // the runtime's threads: their number, because no stack of their making is kept
  block,           // where goroutines have waited for others; see set_block_profile_rate
  mutex,           // where holders of locks have kept others waiting; set_mutex_profile_fraction
  thread_block,    // where goroutines have put threads to sleep; see set_thread_block_profile
  goroutine_leak,  // leaked goroutines, searched for by the call: see leaks()
  wall,            // where goroutines spend their time; it is taken by delta_profile() alone
};

// The profile in pprof's format, a message of profile.proto, with the names of functions inside.
// The file that it becomes is for `go tool pprof` and what else reads that format. It is not
// packed, which readers take as well. Samples of goroutines have the labels `state` and `name`,
// with the values that goroutine_info has, and the goroutine's own labels.
//
// Any thread; parks. As goroutines(), if it is of them; looking up the names takes 0.1 s at first,
// and more in a large program. std::bad_alloc; std::invalid_argument: there is no such kind, or it
// is `wall`. From Go's pprof.Lookup(name).WriteTo(w, 0).
SLEY_API std::string profile(profile_kind kind);

// The same as text to read, in the layout of Go's. From Go's pprof.Lookup(name).WriteTo(w, 1).
SLEY_API std::string profile_text(profile_kind kind);

// The block profile has where goroutines and threads have waited for others, how often and how
// long: for channels, in selects, for mutexes, condition variables, semaphores, wait groups,
// futures and what is made of these, until they got it, gave up at a deadline or by a context. Time
// in which they were runnable and did not run yet is part of it. Sleeping, descriptors and system
// calls are not in it, nor is a wait that has not ended.
//
// On average one wait is taken in `rate` of waiting: a wait of that length or more always, a
// shorter one with the probability length / rate, and then it stands for rate / length waits. 1 ns
// takes each wait; 0 or less, as in the beginning, none. What was taken before stays. A wait that
// is taken costs some microseconds, any other one two looks at the clock. While the rate is 0, a
// wait costs three instructions more.
//
// 4096 stacks fit. What has another one is under `lost_waits`. A goroutine with less than 8 KiB of
// its stack left has none, and with glibc before 2.35 there are none. Any thread; never parks.
// std::bad_alloc without 2.2 MB of address space. From Go's runtime.SetBlockProfileRate.
SLEY_API void set_block_profile_rate(time_span rate);

// The mutex profile has where a mutex, shared_mutex or recursive_mutex was unlocked that others
// waited for, how often and how long all of them have waited together for that holder. (Exactly
// that for one or two waiters. Of more, the first and the last in line stand for all.)
//
// One such unlocking in `fraction` is taken, by chance, and stands for as many. 1 takes each; 0, as
// in the beginning, none. Returns what it was before; a negative number changes nothing. The rest
// is as for the block profile. From Go's runtime.SetMutexProfileFraction.
SLEY_API int set_mutex_profile_fraction(int fraction);

// The thread-block profile has where goroutines have put their thread to sleep in the kernel
// without an announcement (blocking(), or a function of this library that may wait): in which
// system call, how often, how long (`delay`), and how long the thread has kept its processor
// meanwhile, on which no other goroutine could run (`lost`). A std::mutex, a read from a pipe and a
// library that waits for a server are in it. It is off at first.
//
// A block counts when the scheduler takes the processor from the sleeping thread, which is after
// 0.2 ms in a busy program and after some 13 ms in one that is not: a shorter sleep is not in the
// profile. The delay begins at the scheduler's first look at the sleeping thread, so it is too
// short by 0.1 ms in a busy program and by 10 ms at most. It ends when the goroutine next uses the
// library or begins an announced call, or when it has computed for 1 ms. What the thread does until
// then, another sleep too, belongs to the same block. The delay behind `lost` is added at that end.
//
// The scheduler reads the stack without a signal, so no call returns EINTR. Stacks that it can't
// read (see goroutines()) are under `unreadable_stack`, and stacks that do not fit, of more than
// 4096, under `lost_waits`. Each block costs the scheduler's watching thread some 30 us, and the
// processor is free that much later. Where membarrier(2) is refused there are no blocks, and with
// glibc before 2.35 they have neither stack nor call.
//
// A goroutine that computes for too long keeps others waiting as well. One that is stopped at the
// end of its time slice is in the profile, at the place where it was stopped, with `preempted`
// instead of a system call. Its `delay` is how long the slice has lasted, and `lost` the part of
// that beyond the slice's length. Of goroutines that wake each other and so share a slice, the last
// one is there. It costs a goroutine some 10 us to be stopped then.
//
// Switched off, the profile keeps what it has. Any thread; never parks. std::bad_alloc without
// 2.4 MB of address space. Go has no such profile.
SLEY_API void set_thread_block_profile(bool on);

// Blocks at one place.
struct thread_block_group {
  std::uint64_t count;             // how many there have been
  std::chrono::nanoseconds delay;  // of all of them, as set_thread_block_profile has it
  std::chrono::nanoseconds lost;   // the part of it in which the thread kept its processor
  // "futex", or its number; "none": a page fault; "unknown"; "preempted": it has not slept
  std::string system_call;
  std::vector<std::uintptr_t> stack;  // as goroutine_info::stack; empty if it could not be read
};

// The thread-block profile as values, the longest delay first. Stacks are without the runtime's own
// frames as far as the program has symbols. Any thread; parks. std::bad_alloc.
SLEY_API std::vector<thread_block_group> thread_blocks();

// The same as a text of JSON, with times in nanoseconds and stacks as in goroutines_json():
//   {"groups":[{"count":3, "delay_ns":61541000, "lost_ns":12785000, "system_call":"read",
//     "stack":[...]}, ...]}
SLEY_API std::string thread_blocks_json();

// A thread that sleeps without an announcement.
struct long_thread_block {
  std::chrono::nanoseconds duration;  // so far, since its processor was taken
  std::string system_call;            // as thread_block_group::system_call
  std::vector<std::uintptr_t> stack;  // as thread_block_group::stack
};

// From now on f is called when a goroutine's thread has slept without an announcement for
// `threshold`, and sleeps on, as in a std::mutex that is never unlocked: to log one line, for
// example. It comes up to 10 ms late, or 100 ms in a program that is otherwise idle. Each place is
// told once: how often it blocks is in the thread-block profile, which this switches on.
//
// f is called on a goroutine of its own, by one call at a time, and may park. An exception that
// leaves it ends the process. It must not call on_thread_block(). Of more than 16 places that wait
// for f the others are told later, if they still sleep.
//
// A second call takes the place of the first, and begins anew; an empty function ends it. When that
// returns, the old function is not called any more. Any thread; parks while the old function runs.
// std::bad_alloc; std::invalid_argument: the threshold is not positive, and f not empty.
SLEY_API void on_thread_block(time_span threshold, std::function<void(const long_thread_block&)> f);

// What comes to a profile in the next `duration`, in the same format: how many more goroutines or
// threads there are at its end (the number may be below zero), or which waits and blocks have ended
// meanwhile. It does not switch a profile on.
//
// The wall-clock profile is of that time alone: where goroutines spend it, whether they compute or
// wait, as the label `state` says, beside the goroutine's own labels. Some 100 times in a second 32
// goroutines are chosen by chance and looked at; a smaller program has all of its goroutines in
// every look. `samples` is the number of looks, and `wall` the time that they stand for: ten
// goroutines that wait for a second are 10 s. The program goes on meanwhile. A goroutine that waits
// is held for some microseconds, one that computes gets a signal, and the scheduler's watching
// thread takes some 1 % of a CPU. A goroutine that sleeps in a system call is not disturbed, as in
// goroutines(). Stacks that can't be read are under `unreadable_stack`. A goroutine that has not
// begun is where it was started, under `not_begun`. With glibc before 2.35 there are no stacks.
// 4096 stacks fit, of all such profiles that a process has taken, and a stack with other labels is
// another one; several profiles may be taken at a time.
//
// Parks for the duration, at most until the context ends: the error is ctx.error() then, which the
// first form throws as std::system_error. Otherwise as profile(). From `?seconds=` of Go's
// net/http/pprof; `wall` is from fgprof, which stops the program for each look.
SLEY_API std::string delta_profile(profile_kind kind, time_span duration, const context& ctx = {});
SLEY_API std::string delta_profile(profile_kind kind, time_span duration, const context& ctx,
                                   std::error_code& error);

// Where the CPU time goes, as a profile in the same format.
namespace cpu_profile {

// From now on the stack of each thread of the process is taken whenever the thread has used another
// 10 ms of CPU time. Taking one costs some 10 us. While the profile is off, it costs nothing.
//
// The signal for that is SIGPROF. It comes to threads that run, so a call that sleeps does not
// return EINTR for it. A thread that blocks SIGPROF is seen where it ends that, and one that lives
// less than 50 ms may not be seen. With glibc before 2.35, samples are of the innermost function
// alone.
//
// Any thread; parks. std::logic_error: it is on already; std::system_error: the program handles
// SIGPROF itself (EBUSY), or there is no timer or thread for it. A program may install a handler
// later, and then no more samples come. From Go's pprof.StartCPUProfile.
SLEY_API void start();

// Ends it and returns the profile, as profile() does: samples and nanoseconds of CPU time, by
// stack, goroutine's name (`name`) and goroutine's labels. Empty if it is off. Any thread; parks.
// std::bad_alloc. From Go's pprof.StopCPUProfile.
SLEY_API std::string stop();

}  // namespace cpu_profile

// The name of the function whose code is at that address, as in the source; empty if it has none.
// For a return address, as in goroutine_info::stack, pass one less: it may be the first of the next
// function. Any thread; parks. std::bad_alloc. From Go's runtime.FuncForPC.
SLEY_API std::string function_name(std::uintptr_t address);

// How many values fell into which ranges.
struct histogram {
  std::vector<double> bounds;         // where each range ends, ascending; the last range has no end
  std::vector<std::uint64_t> counts;  // of each range, so one more than there are bounds
  double sum = 0;                     // of all values
};

// A figure with its name.
struct metric {
  // A counter only grows; a gauge is the value of this moment.
  enum class kind : std::uint8_t { counter, gauge, histogram };
  // A property, as Prometheus has it.
  struct label {
    std::string_view name;  // "state"
    std::string value;      // "running"
  };

  std::string_view name;           // as Prometheus has it: "sley_goroutines", "sley_steals_total"
  std::string_view help;           // one sentence
  kind what;                       // how the value changes, or that there are many
  double value = 0;                // now; a histogram has none
  std::vector<label> labels = {};  // they tell metrics of the same name apart
  histogram distribution = {};     // a histogram's
};

// The figures of runtime::read_stats() with names, the goroutines by state, the lengths of the
// processors' queues, how long goroutines have waited to run, have run and have waited for mutexes,
// the version (`sley_build_info`), and what Prometheus wants to know of each process
// (`process_...`), as far as /proc tells it. Names and help texts are never freed.
//
// `sley_sched_latency_seconds` and `sley_run_seconds` are histograms from 100 ns to 10 s of a
// sample, one switch in 512 by chance: their counts are of the sample. SLEYDEBUG=schedsample=N
// takes one switch in N.
//
// Any thread; never parks, and reads a few files of /proc. std::bad_alloc. From Go's
// runtime/metrics.Read, and the collectors of Prometheus' client for Go.
SLEY_API std::vector<metric> metrics();

// These, and metrics of the program's own, as Prometheus reads them: its text format 0.0.4.
// Metrics of one name stay together, where the first of them stands. Bytes of texts that are not
// UTF-8, and characters that a terminal may obey, are escaped, as in lines of the library's own.
//
// Any thread; never parks. std::bad_alloc. std::invalid_argument: a name is none that Prometheus
// knows; metrics of one name differ in their kind, or have the same labels; or a histogram's bounds
// do not ascend, or do not fit its counts. From promhttp.Handler of Prometheus' client for Go.
SLEY_API std::string metrics_text(std::span<const metric> all);

// The Content-Type of that text.
inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

// What ran where and when, as a file for a trace viewer, and what the program itself has to say
// about it. From Go's runtime/trace.
namespace trace {

// Of a trace's file: Chrome's trace events, for Perfetto, chrome://tracing and speedscope, or
// Perfetto's protobuf, for https://ui.perfetto.dev and its trace_processor.
enum class format { json, perfetto };

// From now on it is written to the file (made anew) which goroutine runs on which processor, from
// when to when, why it stopped, which goroutine made which one runnable, and what the program notes
// (below). Times are of std::chrono::steady_clock. Beside a goroutine's name (go_options::name) and
// id stands where it was started. Perfetto's format also has a row for each goroutine, with what it
// waited for.
//
// While it is on, a switch with its wake-up costs some 13 ns more, and a thread of its own writes;
// while it is off, making a goroutine runnable costs one branch. Each processor has room for 4 MiB
// of events, 16 bytes each, or for as much as a flight_recorder has asked for. Events that are
// written over before the thread fetches them are lost, and counted at the end.
//
// Any thread; parks. The first call of a program takes some tenths of a second, because it reads
// the names of the program's code. std::system_error: the file can't be made, or no thread;
// std::bad_alloc; std::logic_error: it is on already. Stays on until stop(), across run()s. From
// Go's runtime/trace.Start.
SLEY_API void start(const std::string& path, format kind = format::json);

// Completes the file. Nothing, if it is off. Any thread; parks. std::system_error: not all could be
// written. exit() completes it, too, and waits for a stop() that is under way. A process that ends
// otherwise leaves a file without an end, which the viewers read as well.
SLEY_API void stop();

// How much a flight recorder keeps, and where it leaves it.
struct flight_recorder_options {
  // For the events of a processor, 16 bytes each, of which a switch between goroutines makes one or
  // two: 64 KiB to 256 MiB, rounded up to a power of two. Memory is used when there are events.
  std::size_t bytes_per_processor = std::size_t{4} << 20;
  // If it is not empty: the events are written there, too, when the process ends by a fatal error
  // of the library's (a deadlock, for instance), by SIGQUIT, by an exception that nothing catches,
  // or by a signal such as SIGSEGV in a goroutine. That is done after the report, by a copy of the
  // process, which has ten seconds for it. If it is empty, SLEYDEBUG=flight=PATH says where.
  std::string on_death = {};
  format on_death_format = format::json;
};

// The newest events, kept in memory until they are asked for: a program that has it on all the time
// can tell what happened before something went wrong. Each switch costs as much as with start().
// One at a time, beside start(). With SLEYDEBUG=flight=PATH the library has one on from the first
// run() on, which ends where the program makes one. From Go's runtime/trace.FlightRecorder.
class flight_recorder {
 public:
  // On from now on. Any thread; parks. std::logic_error: another one is on. std::bad_alloc.
  SLEY_API explicit flight_recorder(const flight_recorder_options& options = {});
  // Any thread; parks.
  SLEY_API ~flight_recorder();
  flight_recorder(const flight_recorder&) = delete;
  flight_recorder& operator=(const flight_recorder&) = delete;

  // Writes the events that it has at this moment into the file, which is made anew. Nothing stops
  // meanwhile, and it goes on recording. Any thread, several at a time; blocks the calling
  // goroutine, not a processor. std::system_error: the file can't be made, or not all could be
  // written, or no thread; std::bad_alloc.
  SLEY_API void write(const std::string& path, format kind = format::json) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// ---- what the program notes ----
//
// Of texts the first 255 bytes are kept. All may be called at any time on any thread, and never
// park. But only a goroutine that has a processor notes something: no thread of the program's own,
// and no goroutine in the middle of blocking(). While no trace is on, each costs a load and a
// branch.

// Is a trace or a flight recorder on? For texts that take time to make.
SLEY_API bool is_enabled() noexcept;

// The calling goroutine has reached this point. From Go's trace.Log.
SLEY_API void log(std::string_view message) noexcept;

// A piece of work that several goroutines may take part in, such as a request. It has a row of its
// own, from its construction to its destruction. From Go's trace.NewTask.
class task {
 public:
  // It begins.
  SLEY_API explicit task(std::string_view name) noexcept;
  SLEY_API ~task();
  task(const task&) = delete;
  task& operator=(const task&) = delete;

  // As trace::log(), with the task's number.
  SLEY_API void log(std::string_view message) const noexcept;
  // Counts from 1 on in each process.
  std::uint64_t id() const noexcept { return id_; }

 private:
  std::uint64_t id_;
};

// What the calling goroutine does from the construction to the destruction, which must be in the
// same goroutine. Regions may lie in each other. From Go's trace.StartRegion.
class region {
 public:
  // Of no task.
  SLEY_API explicit region(std::string_view name) noexcept;
  // As a part of the task.
  SLEY_API region(const task& t, std::string_view name) noexcept;
  SLEY_API ~region();
  region(const region&) = delete;
  region& operator=(const region&) = delete;

 private:
  std::uint64_t task_ = 0;
};

}  // namespace trace

}  // namespace sley::debug
