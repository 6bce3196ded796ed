// Leaked goroutines, with the meaning of Go's goroutineleak profile and without a collector: a
// goroutine is leaked if it waits for a channel, a lock or the like that nothing live reaches. From
// Go's findGoroutineLeaks and findMaybeRunnableGoroutines (mgc.go).
//
// A word that looks like a pointer counts as one (as in Boehm's collector), so a goroutine may be
// missed; no goroutine is named that could go on, unless the program hides pointers.
//
//   roots     registers of all threads, all memory of the process, and the stacks and tasks of
//             goroutines that are not suspected. Left out is what belongs to the runtime: records,
//             free stacks and its threads' own frames; it is read by field.
//   suspects  goroutines that wait, without a deadline or a context, for channels, for futures or
//             for an object on a goroutine's stack. Another object is part of memory that may be
//             reached by its own address, which this search does not know: the object's waiters are
//             live.
//   aims      channels, futures, suspects' stacks, and contexts of which a suspect waits for the
//             channel. Their own words do not count until a pointer to the aim is found.
//
// The search goes on from what it has reached until nothing new comes: a channel's waiters are
// live, and what is on a live suspect's stack is reached. What is left is leaked.
#include "debug/leak_search.hpp"

#include "debug/leak_graph.hpp"
#include "platform/os.hpp"
#include "platform/process_memory.hpp"
#include "platform/stopped_process.hpp"
#include "runtime/entry/enter.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/stack_bounds.hpp"
#include "runtime/state/waited.hpp"
#include "runtime/watchdog/world.hpp"
#include "sync/chan_core.hpp"
#include "sync/context_tree.hpp"

#include <sley/detail/future_state.hpp>
#include <sley/runtime.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <typeinfo>

namespace sley::debug {

void aim_index::build() noexcept {
  fixed_list<aim>& aims = *aims_;
  std::sort(aims.begin(), aims.end(), [](const aim& a, const aim& b) { return a.begin < b.begin; });
  aim* end = std::unique(aims.begin(), aims.end(),
                         [](const aim& a, const aim& b) { return a.begin == b.begin; });
  aims.cut(static_cast<std::size_t>(end - aims.begin()));
  if (aims.is_empty()) return;
  lowest_ = aims[0].begin;
  span_ = aims[aims.size() - 1].end - lowest_;
  for (const aim& a : aims) {
    const std::uintptr_t last = (a.end - 1) >> granule_bits;
    for (std::uintptr_t n = a.begin >> granule_bits; n <= last; ++n) {
      const std::size_t bit = bit_of(n << granule_bits);
      filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
    }
  }
}

aim* aim_index::find(std::uintptr_t address) noexcept {
  aim* after = std::upper_bound(aims_->begin(), aims_->end(), address,
                                [](std::uintptr_t at, const aim& a) { return at < a.begin; });
  if (after == aims_->begin()) return nullptr;
  aim* found = after - 1;
  return address < found->end ? found : nullptr;
}

namespace {

template <class T>
std::uintptr_t address_of(const T* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p);
}

// ---- memory for the search ----

constexpr std::size_t line = 64;

class work_room {
 public:
  explicit work_room(std::size_t bytes) : bytes_(bytes) {
    memory_ = static_cast<std::byte*>(platform::map_memory(bytes, true));
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  ~work_room() { platform::unmap_memory(memory_, bytes_); }
  work_room(const work_room&) = delete;
  work_room& operator=(const work_room&) = delete;

  template <class T>
  T* take(std::size_t count) noexcept {
    std::byte* place = memory_ + used_;
    used_ += (count * sizeof(T) + line - 1) / line * line;
    return reinterpret_cast<T*>(place);
  }
  template <class T>
  fixed_list<T> list(std::size_t room) noexcept {
    return {take<T>(room), room};
  }
  memory_range range() const noexcept {
    return {address_of(memory_), address_of(memory_) + bytes_};
  }

 private:
  std::byte* memory_;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

constexpr std::size_t buffer_bytes = 256 * 1024;

struct sizes {
  explicit sizes(std::size_t goroutines, std::size_t arenas) noexcept
      : suspects(goroutines),
        links(4 * goroutines + 1024),
        aims(2 * links + goroutines),
        skipped(aims + goroutines + arenas + 2 * threads) {}

  std::size_t bytes() const noexcept;

  static constexpr std::size_t threads = 16 * 1024;
  std::size_t suspects;
  std::size_t links;
  std::size_t aims;
  std::size_t skipped;
};

// ---- the search ----

// While the process stands still, but for the constructor.
class leak_search {
 public:
  leak_search(work_room& room, const sizes& s) noexcept
      : room_(room.range()),
        suspects_(room.list<suspect>(s.suspects)),
        stacks_(room.list<stack_range>(s.suspects)),
        links_(room.list<link>(s.links)),
        aims_(room.list<aim>(s.aims)),
        reached_(room.list<std::uint32_t>(s.aims)),
        skipped_(room.list<memory_range>(s.skipped)),
        own_stacks_(room.list<memory_range>(s.threads)),
        leaked_(room.list<std::uint64_t>(s.suspects)),
        index_(&aims_, room.take<std::uint64_t>(aim_index::filter_bytes / 8)),
        memory_({room.take<std::byte>(buffer_bytes), buffer_bytes}) {}

  void run(platform::stopped_threads& threads) noexcept {
    error_ = is_in_between() ? EAGAIN : memory_.error();
    if (error_ != 0) return;
    add(skipped_, threads.own_memory());
    list_stacks();
    for (std::uint32_t i = 0; i < suspects_.size(); ++i) find_objects(i);
    add_aims();
    list_skipped();
    if (!has_room_) return;
    look_at_roots(threads);
    go_on();
    for (const suspect& s : suspects_) {
      if (!s.is_live || s.waits_for_nothing) has_room_ = leaked_.add(s.g->id) && has_room_;
    }
  }

  int error() const noexcept { return error_; }
  bool has_room() const noexcept { return has_room_; }
  std::span<const std::uint64_t> leaked() noexcept { return {leaked_.begin(), leaked_.size()}; }

 private:
  // Is a thread that the runtime did not make on its way to wake a goroutine, perhaps? Then it
  // alone knows the goroutine.
  static bool is_in_between() noexcept {
    for (rt::machine* m : rt::sched.machines) {
      if (m->is_foreign && m->border.is_inside() && !m->waits.load_relaxed()) return true;
    }
    return false;
  }

  // ---- what each suspect waits for ----

  template <class T>
  void add(fixed_list<T>& to, const T& value) noexcept {
    has_room_ = to.add(value) && has_room_;
  }

  // Goroutines that keep a thread are live, because the thread may be anywhere.
  static bool is_suspect(const rt::goroutine& g) noexcept {
    if (!g.status.is_waiting() || g.is_foreign || g.stack == nullptr) return false;
    if (g.id == rt::main_goroutine_id || rt::waits_on_its_thread(&g)) return false;
    // It may be on a stack that the program has made.
    if (!g.stack->holds(address_of(g.context.stack_pointer))) return false;
    if (rt::is_for_nothing(g.reason)) return true;
    const rt::waited what(g.waits_for);
    if (what.ends_by_itself || (what.object == nullptr && what.selection == nullptr)) return false;
    return rt::is_for_others(g.reason) && g.reason != rt::wait::io_lock &&
           g.reason != rt::wait::io_close && g.reason != rt::wait::blocking_limit;
  }

  static bool is_for_channel(rt::wait reason) noexcept {
    return reason == rt::wait::chan_receive || reason == rt::wait::chan_send;
  }

  void list_stacks() noexcept {
    for (rt::slab* s : rt::slabs) {
      for (const rt::goroutine& g : s->records) {
        if (!rt::is_alive(g) || g.stack == nullptr) continue;
        stack_range stack{{address_of(g.stack->low), address_of(g.stack->top)}};
        if (is_suspect(g)) {
          stack.suspect = static_cast<std::uint32_t>(suspects_.size());
          add(suspects_, {.g = &g, .waits_for_nothing = rt::is_for_nothing(g.reason)});
        }
        add(stacks_, stack);
      }
    }
    std::sort(stacks_.begin(), stacks_.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
  }

  const stack_range* stack_around(std::uintptr_t address) noexcept {
    const stack_range* after =
        std::upper_bound(stacks_.begin(), stacks_.end(), address,
                         [](std::uintptr_t at, const auto& s) { return at < s.begin; });
    if (after == stacks_.begin() || address >= (after - 1)->end) return nullptr;
    return after - 1;
  }

  void find_objects(std::uint32_t i) noexcept {
    const rt::goroutine& g = *suspects_[i].g;
    if (suspects_[i].waits_for_nothing) return;
    const rt::waited what(g.waits_for);
    current_ = i;
    if (what.selection != nullptr) {
      what.selection->visit_channels([this](const detail::chan_core& c) { add_channel(c); });
    } else if (is_for_channel(g.reason)) {
      add_channel(*static_cast<const detail::chan_core*>(what.object));
    } else if (g.reason == rt::wait::future_wait) {
      add_future(*static_cast<const detail::one_shot*>(what.object));
    } else {
      add_object(address_of(what.object));
    }
  }

  // Handles have the address of the channel itself. malloc has others in it: its own last words are
  // in the block before.
  void add_channel(const detail::chan_core& c) noexcept {
    add(links_, {address_of(&c), current_});
    add(aims_, aim::of_begin(&c, aim::kind::channel));
    if (c.is_of_context) add_context(c.context);
  }

  // What brings the result has a pointer to the state, which begins with the one_shot, or to the
  // block of std::make_shared, in which libstdc++'s count of owners is right before the state: a
  // compiler that has seen both being made needs no more than the block's address. What follows the
  // one_shot is left out, because malloc has addresses of the block's last word.
  void add_future(const detail::one_shot& done) noexcept {
    const std::uintptr_t at = address_of(&done);
    const std::size_t alignment = done.alignment_of_shared();
    if (alignment == 0) return add_object(at);
    constexpr std::size_t count_bytes = sizeof(std::_Sp_counted_base<>);
    const std::uintptr_t begin = at - (count_bytes + alignment - 1) / alignment * alignment;
    add(links_, {begin, current_});
    add(aims_, {{begin, at + sizeof(done)}, aim::kind::future});
  }

  // A context that a timer or a stop token ends is no aim: what it has counts. The words of others,
  // and of contexts above them, count if the context is reached.
  void add_context(const detail::context_node* n) noexcept {
    for (; n != nullptr; n = n->parent) {
      const bool can_end = n->ends_with == n;
      if (can_end && typeid(*n) != typeid(detail::ending_node)) return;
      add(aims_, aim::of_begin(n, can_end ? aim::kind::ending_context : aim::kind::context));
    }
  }

  // One on a goroutine's stack is reached with the stack.
  void add_object(std::uintptr_t object) noexcept {
    const stack_range* stack = stack_around(object);
    if (stack == nullptr || stack->suspect == stack_range::not_suspected) {
      suspects_[current_].is_live = true;
    } else {
      add(links_, {begin_of_aim(*suspects_[stack->suspect].g), current_});
    }
  }

  // A suspect's stack begins behind the stack pointer. That itself is no address of an object, and
  // other goroutines have it from the switch.
  static std::uintptr_t begin_of_aim(const rt::goroutine& g) noexcept {
    return address_of(g.context.stack_pointer) + sizeof(std::uintptr_t);
  }

  void add_aims() noexcept {
    for (const stack_range& s : stacks_) {
      if (s.suspect == stack_range::not_suspected) continue;
      const std::uintptr_t begin = begin_of_aim(*suspects_[s.suspect].g);
      add(aims_, {{begin, s.end}, aim::kind::stack, false, s.suspect});
    }
    std::sort(links_.begin(), links_.end(),
              [](const link& a, const link& b) { return a.aim < b.aim; });
    index_.build();
  }

  // ---- what is looked at ----

  // The words at an aim that are looked at by field or if the aim is reached.
  static memory_range words_of(const aim& a) noexcept {
    switch (a.what) {
      case aim::kind::channel: return {a.begin, a.begin + sizeof(detail::chan_core)};
      case aim::kind::future: return {a.end - sizeof(detail::one_shot), a.end};
      case aim::kind::context: return {a.begin, a.begin + sizeof(detail::context_node)};
      case aim::kind::ending_context: return {a.begin, a.begin + sizeof(detail::ending_node)};
      case aim::kind::stack: break;
    }
    return a;
  }

  // Of a channel and of a future the values are looked at: the words before are queues of waiters.
  void list_skipped() noexcept {
    add(skipped_, room_);
    for (rt::slab* s : rt::slabs) add(skipped_, {address_of(s), address_of(s + 1)});
    for (rt::machine* m : rt::sched.machines) add(skipped_, {address_of(m), address_of(m + 1)});
    const rt::processor* processors = rt::sched.processors;
    add(skipped_, {address_of(processors), address_of(processors + rt::sched.made_procs.read())});
    for (const parts::arena* a : rt::sched.stacks.arenas()) {
      add(skipped_, {address_of(a->start), address_of(a->start) + rt::sched.stacks.arena_bytes()});
    }
    for (const stack_range& s : stacks_) add(skipped_, memory_range(s));
    for (const aim& a : aims_) {
      if (a.what != aim::kind::stack) add(skipped_, words_of(a));
    }
    const bool is_complete = platform::visit_own_stacks(
        [](void* self, std::uintptr_t begin, std::uintptr_t end) noexcept {
          auto* s = static_cast<leak_search*>(self);
          s->add(s->skipped_, {begin, end});
          s->add(s->own_stacks_, {begin, end});
        },
        this);
    if (!is_complete) error_ = EAGAIN;
    std::sort(skipped_.begin(), skipped_.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
  }

  void look_at_roots(platform::stopped_threads& threads) noexcept {
    const bool has_registers = threads.visit_each(
        [](void* self, const platform::stopped_thread& t) noexcept {
          static_cast<leak_search*>(self)->look_at_thread(t);
        },
        this);
    if (!has_registers) error_ = EAGAIN;
    const int error = memory_.visit_mappings(
        [](void* self, const platform::memory_mapping& m) noexcept {
          static_cast<leak_search*>(self)->look_at_mapping(m);
        },
        this);
    if (error != 0) error_ = error;
    for (rt::slab* s : rt::slabs) {
      for (const rt::goroutine& g : s->records) {
        if (rt::is_alive(g) && !is_suspect(g)) look_at_goroutine(g);
      }
    }
    for (std::uint32_t i = 0; i < suspects_.size(); ++i) {
      if (!suspects_[i].is_live) continue;
      suspects_[i].is_live = false;
      make_live(i);
    }
  }

  void look_at_thread(const platform::stopped_thread& t) noexcept {
    for (const memory_range& own : own_stacks_) {
      if (t.stack_pointer - own.begin < own.end - own.begin) return;
    }
    if (t.is_first) main_stack_pointer_ = t.stack_pointer;
    see(t.words);
  }

  // The parts between the ranges that are skipped. Mappings come in ascending order.
  void look_at_mapping(const platform::memory_mapping& m) noexcept {
    std::uintptr_t at = m.begin;
    const bool runs_there = main_stack_pointer_ - m.begin < m.end - m.begin;
    if (m.is_main_stack && runs_there) at = live_part_from(main_stack_pointer_, m.begin);
    while (at < m.end) {  // ends: each round skips a range or is the last one
      while (next_skipped_ < skipped_.size() && skipped_[next_skipped_].end <= at) ++next_skipped_;
      const bool is_last = next_skipped_ == skipped_.size();
      const memory_range skip = is_last ? memory_range{m.end, m.end} : skipped_[next_skipped_];
      const std::uintptr_t until = std::min(skip.begin, m.end);
      if (until > at) memory_.visit_words({at, until}, m.is_shared, &see_words, this);
      at = std::max(until, skip.end);
    }
  }

  // ---- what is reached ----

  static void see_words(void* self, std::span<const std::uintptr_t> words) noexcept {
    static_cast<leak_search*>(self)->see(words);
  }

  void see(std::span<const std::uintptr_t> words) noexcept {
    index_.visit_found(words, [this](aim& a) {
      if (!a.is_reached) reach(a);
    });
  }

  void reach(aim& a) noexcept {
    a.is_reached = true;
    reached_.add(static_cast<std::uint32_t>(&a - aims_.begin()));
  }

  void make_live(std::uint32_t i) noexcept {
    if (suspects_[i].is_live) return;
    suspects_[i].is_live = true;
    aim* stack = index_.find(begin_of_aim(*suspects_[i].g));
    if (!stack->is_reached) reach(*stack);
  }

  // Ends: each aim is reached once.
  void go_on() noexcept {
    while (!reached_.is_empty()) {
      const aim a = aims_[reached_[reached_.size() - 1]];
      reached_.take_last();
      const auto [first, last] =
          std::equal_range(links_.begin(), links_.end(), link{a.begin},
                           [](const link& x, const link& y) { return x.aim < y.aim; });
      for (const link* l = first; l != last; ++l) make_live(l->suspect);
      if (a.what == aim::kind::context || a.what == aim::kind::ending_context) {
        look_at(words_of(a));
      } else if (a.what == aim::kind::stack) {
        suspects_[a.suspect].is_live = true;
        look_at_goroutine(*suspects_[a.suspect].g);
      }
    }
  }

  void look_at(memory_range range) noexcept { memory_.visit_words(range, false, &see_words, this); }

  static std::uintptr_t live_part_from(std::uintptr_t stack_pointer, std::uintptr_t low) noexcept {
    const std::uintptr_t from = stack_pointer - platform::red_zone_bytes;
    return std::max(low, from / sizeof(from) * sizeof(from));
  }

  // A goroutine that left its thread has all its registers on its stack, and in its record. The
  // stack of any other one is looked at whole.
  void look_at_goroutine(const rt::goroutine& g) noexcept {
    constexpr std::size_t task_words = detail::task_bytes / sizeof(std::uintptr_t);
    see({reinterpret_cast<const std::uintptr_t*>(g.task), task_words});
    if (g.stack == nullptr) return;
    memory_range stack{address_of(g.stack->low), address_of(g.stack->top)};
    const bool has_left = g.status.get() != parts::status::running && !rt::waits_on_its_thread(&g);
    if (has_left) {
      const std::uintptr_t words[] = {address_of(g.context.frame_pointer)};
      see(words);
      const std::uintptr_t at = address_of(g.context.stack_pointer);
      if (at - stack.begin < stack.end - stack.begin) stack.begin = live_part_from(at, stack.begin);
    }
    look_at(stack);
  }

  const memory_range room_;
  fixed_list<suspect> suspects_;
  fixed_list<stack_range> stacks_;
  fixed_list<link> links_;
  fixed_list<aim> aims_;
  fixed_list<std::uint32_t> reached_;  // and not yet gone on from
  fixed_list<memory_range> skipped_;
  fixed_list<memory_range> own_stacks_;
  fixed_list<std::uint64_t> leaked_;
  aim_index index_;
  platform::process_memory memory_;
  std::uintptr_t main_stack_pointer_ = 0;
  std::size_t next_skipped_ = 0;
  std::uint32_t current_ = 0;  // the suspect whose objects are looked for
  bool has_room_ = true;
  int error_ = 0;
};

std::size_t sizes::bytes() const noexcept {
  return suspects * (sizeof(suspect) + sizeof(stack_range) + sizeof(std::uint64_t)) +
         links * sizeof(link) + aims * (sizeof(aim) + sizeof(std::uint32_t)) +
         (skipped + threads) * sizeof(memory_range) + sizeof(leak_search) +
         aim_index::filter_bytes + buffer_bytes + 16 * line;
}

struct placed_search {
  placed_search(work_room& room, const sizes& s) noexcept
      : search(::new(room.take<leak_search>(1)) leak_search(room, s)) {}
  ~placed_search() { search->~leak_search(); }
  placed_search(const placed_search&) = delete;
  placed_search& operator=(const placed_search&) = delete;

  leak_search* search;
};

// ---- asking sysmon ----

struct search_request : rt::world_request {
  explicit search_request(leak_search& s) noexcept
      : world_request{&search_request::serve}, search(s) {}

  // With the world stopped, no machine is on its way to wake a goroutine that it has claimed.
  static void serve(world_request* r) noexcept {
    rt::with_world_stopped(
        [](void* arg) {
          auto* self = static_cast<search_request*>(arg);
          self->error = platform::with_process_stopped(&search_request::look, self);
        },
        static_cast<search_request*>(r));
  }
  static void look(void* arg, platform::stopped_threads& threads) noexcept {
    static_cast<search_request*>(arg)->search.run(threads);
  }

  leak_search& search;
  int error = 0;
};

std::size_t number_of_arenas() noexcept {
  std::size_t n = 0;
  for ([[maybe_unused]] const parts::arena* a : rt::sched.stacks.arenas()) ++n;
  return n;
}

}  // namespace

std::vector<std::uint64_t> find_leaked() {
  constexpr std::size_t more = 4096;  // goroutines may start until sysmon comes to it
  constexpr int most_tries = 100;
  std::size_t count = runtime::num_goroutines() + more;
  for (int tries = 0;; ++tries) {  // ends: see most_tries
    const sizes s(count, number_of_arenas() + more);
    work_room room(s.bytes());
    // In memory that is not looked at, because it has addresses.
    const placed_search place(room, s);
    leak_search& search = *place.search;
    search_request r(search);
    rt::enter();
    rt::ask_sysmon(r, rt::wait::snapshot);
    rt::leave();
    const int error = r.error != 0 ? r.error : search.error();
    if (error != 0 && (error != EAGAIN || tries == most_tries)) {
      throw std::system_error(error, std::system_category(),
                              "sley: a search for leaked goroutines");
    }
    if (error != 0) continue;
    if (!search.has_room()) {
      count *= 2;
      continue;
    }
    std::vector<std::uint64_t> result(search.leaked().begin(), search.leaked().end());
    std::ranges::sort(result);
    return result;
  }
}

}  // namespace sley::debug
