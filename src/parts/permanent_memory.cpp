#include "parts/permanent_memory.hpp"

#include "platform/os.hpp"

namespace sley::parts {

void* permanent_memory::allocate(std::size_t bytes) noexcept {
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (bytes > chunk_bytes / 4) {  // it would waste much of a chunk
    const std::size_t page = platform::page_bytes();
    return platform::map_memory((bytes + page - 1) / page * page, false);
  }
  detail::lock_guard guard(lock_);
  if (left_ < bytes) {
    auto* chunk = static_cast<char*>(platform::map_memory(chunk_bytes, false));
    if (chunk == nullptr) return nullptr;
    next_ = chunk;
    left_ = chunk_bytes;
  }
  char* result = next_;
  next_ += bytes;
  left_ -= bytes;
  return result;
}

}  // namespace sley::parts
