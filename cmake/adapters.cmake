# The libraries that <sley/redis.hpp>, <sley/postgres.hpp>, <sley/curl.hpp> and <sley/nats.hpp>
# adapt, for tests and examples: sley itself does not need them. Each target is there if its library
# is found.
find_path(HIREDIS_INCLUDE_DIR hiredis/hiredis.h)
find_library(HIREDIS_LIBRARY hiredis)
mark_as_advanced(HIREDIS_INCLUDE_DIR HIREDIS_LIBRARY)
if(HIREDIS_INCLUDE_DIR AND HIREDIS_LIBRARY)
  add_library(sley_hiredis INTERFACE)
  target_include_directories(sley_hiredis SYSTEM INTERFACE "${HIREDIS_INCLUDE_DIR}")
  target_link_libraries(sley_hiredis INTERFACE "${HIREDIS_LIBRARY}")
endif()

find_package(CURL 7.68 QUIET)
if(CURL_FOUND)
  add_library(sley_curl INTERFACE)
  target_link_libraries(sley_curl INTERFACE CURL::libcurl)
endif()

# Pipelines came with libpq 14.
find_path(LIBPQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql)
find_library(LIBPQ_LIBRARY pq)
mark_as_advanced(LIBPQ_INCLUDE_DIR LIBPQ_LIBRARY)
if(LIBPQ_INCLUDE_DIR AND LIBPQ_LIBRARY)
  file(STRINGS "${LIBPQ_INCLUDE_DIR}/libpq-fe.h" libpq_has_pipelines REGEX "LIBPQ_HAS_PIPELINING")
endif()
if(libpq_has_pipelines)
  add_library(sley_libpq INTERFACE)
  target_include_directories(sley_libpq SYSTEM INTERFACE "${LIBPQ_INCLUDE_DIR}")
  target_link_libraries(sley_libpq INTERFACE "${LIBPQ_LIBRARY}")
endif()

# The newest status that <sley/nats.hpp> names.
find_path(LIBNATS_INCLUDE_DIR nats/nats.h)
find_library(LIBNATS_LIBRARY nats)
mark_as_advanced(LIBNATS_INCLUDE_DIR LIBNATS_LIBRARY)
if(LIBNATS_INCLUDE_DIR AND LIBNATS_LIBRARY)
  file(STRINGS "${LIBNATS_INCLUDE_DIR}/nats/status.h" libnats_is_new REGEX "NATS_MISSED_HEARTBEAT")
endif()
if(libnats_is_new)
  add_library(sley_libnats INTERFACE)
  target_include_directories(sley_libnats SYSTEM INTERFACE "${LIBNATS_INCLUDE_DIR}")
  target_link_libraries(sley_libnats INTERFACE "${LIBNATS_LIBRARY}")
endif()
