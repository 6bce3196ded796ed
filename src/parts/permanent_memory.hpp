// Memory that is never freed, for records, machines and processors. It is cut from large mappings
// so that the runtime never calls malloc. Where much of it is needed it is in huge pages, because
// page faults for 4 KiB each would take as long as the work with the records.
#pragma once

#include <sley/detail/lock.hpp>

#include <cstddef>

namespace sley::parts {

class permanent_memory {
 public:
  // Zeroed bytes aligned to 64; null if there is no memory.
  void* allocate(std::size_t bytes) noexcept;

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
  static constexpr std::size_t huge_chunk_bytes = std::size_t{8} << 20;
  static constexpr int small_chunks = 8;
  static constexpr std::size_t alignment = 64;

  detail::lock lock_{detail::lock_rank::memory};
  char* next_ = nullptr;  // [lock: lock_]
  std::size_t left_ = 0;  // [lock: lock_]
  int chunks_ = 0;        // [lock: lock_]
};

}  // namespace sley::parts
