// The tree of contexts: what a handle of <sley/context.hpp> names.
//
// A node is counted: handles and nodes below hold it. The nodes that can end form a tree of their
// own. In it each node lists its children without holding them. From Go's context.go, except that a
// walk uses a list instead of recursion, so the depth of a tree does not matter.
//
// A thread that ends a node locks it, and then all nodes below it, downwards. It unlocks them from
// the bottom up when all have ended. So
//   - locks are taken from parents to children only;
//   - a thread that finds a node ended and gets its lock knows that all below have ended;
//   - a walk may touch a node without references: before the node goes, it leaves its parent's list
//     under the parent's lock, unless it has been told that no walk will touch it any more.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/atomic.hpp>
#include <sley/mutex.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace sley::detail {

// A place in a list whose owner and neighbours are found from it.
template <class T>
struct sibling {
  T* next = nullptr;
  T** link = nullptr;  // what points to this; null: in no list

  bool is_linked() const noexcept { return link != nullptr; }
  void push_to(T*& first) noexcept {
    next = first;
    if (next != nullptr) next->link = &next;
    link = &first;
    first = static_cast<T*>(this);
  }
  void unlink() noexcept {
    *link = next;
    if (next != nullptr) next->link = link;
    link = nullptr;
  }
};

struct ending_node;

struct context_node {
  context_node(const context& below, const char* made_by) noexcept;
  virtual ~context_node() = default;
  context_node(const context_node&) = delete;
  context_node& operator=(const context_node&) = delete;

  void retain() noexcept { references.add_relaxed(1); }  // the caller holds one
  bool try_retain() noexcept;
  // Also releases the parent, if this was the last reference to the node.
  static void release(context_node* node) noexcept;

  virtual const void* find(std::string_view, const std::type_info&) const noexcept {
    return nullptr;
  }
  virtual std::string describe() const { return name; }
  // No reference is left; the node is still whole.
  virtual void leave_tree() noexcept {}

  // CX-1  All use through other references is over when the last one frees the node: sub_acq_rel in
  //       release.
  atomic<std::uint32_t> references{1};  // [atomic CX-1]
  context_node* parent;                 // [const] held
  ending_node* ends_with;               // [const] the nearest at or above that can end, or null
  const char* name;                     // [const] of the function that made it
};

// A registered function. Its list holds it by `self`.
struct context_callback_node : sibling<context_callback_node> {
  std::function<void()> function;               // [const]
  bool in_goroutine = false;                    // [const]
  atomic<bool> is_stopped;                      // relaxed: of a context that never ends
  context keeper;                               // [lock: that context's] while it is in the list
  std::shared_ptr<context_callback_node> self;  // [lock: likewise]
};

struct ending_node : context_node, sibling<ending_node> {
  ending_node(const context& below, const char* made_by) noexcept;
  ~ending_node() override;

  void leave_tree() noexcept override;
  virtual void has_ended() noexcept {}  // just now; it is locked

  static constexpr std::uint32_t live = 0;
  static constexpr std::uint32_t closing = 4;  // besides the code: the channel is about to close
  static context_errc code_of(std::uint32_t state) noexcept {
    return static_cast<context_errc>(state & ~closing);
  }

  mutex guard;
  // CX-2  A thread that sees the end sees the cause, and finds the channel closed unless `closing`
  //       tells it to wait for the lock: store_release in mark <-> load_acquire in error, cause,
  //       end.
  atomic<std::uint32_t> state{live};           // [lock: guard] [atomic CX-2]
  std::exception_ptr cause;                    // [lock: guard] const once it has ended
  ending_node* above;                          // [const] whose list it is in
  std::int64_t deadline_ns;                    // [const] its own or an earlier one from above
  ending_node* first_child = nullptr;          // [lock: guard]
  context_callback_node* callbacks = nullptr;  // [lock: guard]
  // CX-3  The channel is there: store_release in done <-> load_acquire in done.
  atomic<bool> has_channel;                 // [lock: guard] [atomic CX-3]
  chan<void> channel{nullptr};              // [lock: guard] const once has_channel is set
  std::stop_source stop{std::nostopstate};  // [lock: guard]
  // CX-4  The node is out of the parent's list, and no walk will touch it: store_release in let_go
  //       <-> load_acquire in leave_tree.
  atomic<bool> has_left;               // [atomic CX-4]
  ending_node* next_marked = nullptr;  // [lock: guard] of the walk that ends it
  ending_node* last_marked = nullptr;  // [lock: guard] likewise
};

struct context_access {
  static context_node* node(const context& c) noexcept { return c.node_; }
  static context adopt(context_node* n) noexcept { return context(n); }
  static ending_node* ends_with(const context& c) noexcept {
    return c.node_ == nullptr ? nullptr : c.node_->ends_with;
  }
  static context_callback callback(const std::shared_ptr<context_callback_node>& node,
                                   const context& ctx) {
    context_callback made;
    made.node_ = node;
    made.ctx_ = ctx;
    return made;
  }
};

// Ends a live node and all below it. The caller holds it.
void end(ending_node* n, context_errc code, const std::exception_ptr& cause) noexcept;

// A new node takes its place below its parent, or shares its end. The handle holds it.
context join_tree(ending_node* n) noexcept;

}  // namespace sley::detail
