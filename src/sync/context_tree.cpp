#include "sync/context_tree.hpp"

#include <sley/go.hpp>

#include <mutex>
#include <new>

namespace sley::detail {

context_node::context_node(const context& below, const char* made_by) noexcept
    : parent(context_access::node(below)),
      ends_with(context_access::ends_with(below)),
      name(made_by) {
  if (parent != nullptr) parent->retain();
}

bool context_node::try_retain() noexcept {
  std::uint32_t seen = references.load_relaxed();  // the cas decides
  while (seen != 0) {  // ends: each failure means that another thread succeeded
    if (references.cas_relaxed(seen, seen + 1)) return true;
  }
  return false;
}

void context_node::release(context_node* node) noexcept {
  while (node != nullptr && node->references.sub_acq_rel(1, "CX-1") == 1) {
    node->leave_tree();
    context_node* above = node->parent;
    delete node;
    node = above;
  }
}

ending_node::ending_node(const context& below, const char* made_by) noexcept
    : context_node(below, made_by),
      above(ends_with),
      deadline_ns(above == nullptr ? no_deadline : above->deadline_ns) {
  ends_with = this;
}

void ending_node::leave_tree() noexcept {
  if (above == nullptr || has_left.load_acquire("CX-4")) return;
  const std::lock_guard lock(above->guard);
  if (is_linked()) unlink();
}

ending_node::~ending_node() {
  while (callbacks != nullptr) {  // of stop tokens: others would hold this node
    context_callback_node* c = callbacks;
    c->unlink();
    c->self.reset();
  }
}

namespace {

// ---- ending a tree ----

// Requires n's lock, and that it is live.
void mark(ending_node* n, context_errc code, const std::exception_ptr& cause) noexcept {
  const auto state = static_cast<std::uint32_t>(code);
  n->cause = cause;
  n->state.store_release(state | ending_node::closing, "CX-2");
  if (n->channel) n->channel.close();
  n->state.store_release(state, "CX-2");
  n->has_ended();
}

// The last step of a walk at a node that it has locked.
void let_go(ending_node* n) noexcept {
  n->guard.unlock();
  n->has_left.store_release(true, "CX-4");  // it may be gone now
}

// Ends the live children of n. A child with children or callbacks of its own stays locked and goes
// behind `last`. Returns the last node of the walk then.
ending_node* mark_children(ending_node* n, ending_node* last) noexcept {
  const context_errc code = ending_node::code_of(n->state.load_relaxed());  // locked
  while (n->first_child != nullptr) {
    ending_node* child = n->first_child;
    child->guard.lock();
    child->unlink();
    // Another call has ended a child that is not live, and all below that child.
    if (child->state.load_relaxed() == ending_node::live) mark(child, code, n->cause);
    if (child->first_child == nullptr && child->callbacks == nullptr) {
      let_go(child);
      continue;
    }
    child->last_marked = last;
    last->next_marked = child;
    last = child;
  }
  return last;
}

// The functions registered with n go in front of the others.
context_callback_node* gather_callbacks(ending_node* n, context_callback_node* others) noexcept {
  while (n->callbacks != nullptr) {
    context_callback_node* c = n->callbacks;
    c->unlink();
    c->next = others;
    others = c;
  }
  return others;
}

void call(context_callback_node* c) noexcept {
  if (!c->in_goroutine) return c->function();
  try {
    go(c->function);
  } catch (const std::bad_alloc&) {
    c->function();  // there is no memory for a goroutine
  }
}

void call_all(context_callback_node* first) noexcept {
  while (first != nullptr) {
    context_callback_node* c = first;
    first = c->next;
    const std::shared_ptr<context_callback_node> self = std::move(c->self);
    call(c);
    c->keeper = context();
  }
}

}  // namespace

void end(ending_node* n, context_errc code, const std::exception_ptr& cause) noexcept {
  n->guard.lock();
  if (n->state.load_relaxed() != ending_node::live) return n->guard.unlock();
  mark(n, code, cause);
  ending_node* last = n;
  context_callback_node* callbacks = nullptr;
  for (ending_node* at = n; at != nullptr; at = at->next_marked) {
    last = mark_children(at, last);
    callbacks = gather_callbacks(at, callbacks);
  }
  while (last != nullptr) {
    ending_node* marked = last;
    last = last->last_marked;
    if (marked != n) let_go(marked);
  }
  n->guard.unlock();
  n->leave_tree();
  call_all(callbacks);
}

context join_tree(ending_node* n) noexcept {
  context handle = context_access::adopt(n);
  if (n->above == nullptr) return handle;
  const std::lock_guard lock(n->above->guard);
  const std::uint32_t state = n->above->state.load_relaxed();  // locked
  if (state == ending_node::live) {
    n->push_to(n->above->first_child);
  } else {
    mark(n, ending_node::code_of(state), n->above->cause);
  }
  return handle;
}

}  // namespace sley::detail
