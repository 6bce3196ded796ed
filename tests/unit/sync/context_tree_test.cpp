// Aim: a context's list holds its children. A context that ends leaves its parent's list, though it
// is still held, and a context whose parent ends has left it as well. Method: the lists themselves,
// under their locks.
#include "sync/context_tree.hpp"

#include "support/harness.hpp"

#include <chrono>
#include <mutex>
#include <vector>

using sley::context;
using sley::detail::context_access;
using sley::detail::ending_node;
using namespace std::chrono_literals;

namespace {

using children = std::vector<const ending_node*>;

children children_of(const context& parent) {
  ending_node* n = context_access::ends_with(parent);
  const std::lock_guard lock(n->guard);
  children found;
  for (const ending_node* c = n->first_child; c != nullptr; c = c->next) found.push_back(c);
  return found;
}

bool is_linked(const context& ctx) {
  ending_node* n = context_access::ends_with(ctx);
  const std::lock_guard lock(n->above->guard);
  return n->is_linked();
}

// J7, XTestChildFinishesFirst, XTestCancelRemoves
GO_TEST(context_tree, a_child_that_ends_leaves_its_parents_list) {
  auto [parent, cancel] = sley::with_cancel(context::background());
  EXPECT_TRUE(children_of(parent).empty());
  const context value = sley::with_value(parent, "k", 1);
  for (int kind = 0; kind < 3; ++kind) {
    const auto [child, cancel_child] = kind == 0   ? sley::with_cancel(parent)
                                       : kind == 1 ? sley::with_timeout(parent, 1h)
                                                   : sley::with_cancel(value);
    EXPECT_EQ(children_of(parent), children{context_access::ends_with(child)});
    cancel_child();
    EXPECT_TRUE(children_of(parent).empty());
    EXPECT_FALSE(is_linked(child));
    EXPECT_TRUE(child.error());
  }
  EXPECT_FALSE(parent.error());
}

// J7: ... a moment after its channel closes, if its deadline ends it.
GO_TEST(context_tree, a_child_that_is_late_leaves_its_parents_list) {
  auto [parent, cancel] = sley::with_cancel(context::background());
  const context late = sley::with_timeout(parent, 1ms).first;
  late.done().receive();
  EXPECT_TRUE(sley_test::eventually([&above = parent] { return children_of(above).empty(); }));
  EXPECT_FALSE(is_linked(late));
}

// J2, XTestParentFinishesChild
GO_TEST(context_tree, a_parent_that_ends_has_no_children_left) {
  auto [parent, cancel] = sley::with_cancel(context::background());
  const context live = sley::with_cancel(parent).first;
  const context with_deadline = sley::with_timeout(sley::with_value(parent, "k", 1), 1h).first;
  const context below = sley::with_cancel(live).first;
  EXPECT_EQ(children_of(parent).size(), 2U);
  EXPECT_EQ(children_of(live).size(), 1U);
  cancel();
  EXPECT_TRUE(children_of(parent).empty());
  EXPECT_TRUE(children_of(live).empty());
  for (const context& ctx : {live, with_deadline, below}) EXPECT_FALSE(is_linked(ctx));
  const context late = sley::with_cancel(parent).first;
  EXPECT_TRUE(children_of(parent).empty()) << "a later child does not join";
}

}  // namespace
