# Boost's headers, for src/http: Boost.Beast parses HTTP. Nothing of Boost is linked, installed or
# seen by users of sley. 1.74 and later.
find_path(SLEY_BOOST_INCLUDE_DIR boost/beast/http/basic_parser.hpp)
mark_as_advanced(SLEY_BOOST_INCLUDE_DIR)
set(has_boost OFF)
if(SLEY_BOOST_INCLUDE_DIR)
  set(has_boost ON)
endif()
option(SLEY_HTTP "HTTP servers: <sley/http.hpp>; needs the headers of Boost 1.74 to build" ${has_boost})
if(SLEY_HTTP AND NOT has_boost)
  message(FATAL_ERROR "sley: SLEY_HTTP needs the headers of Boost 1.74 or later")
elseif(NOT SLEY_HTTP)
  message(STATUS "sley: without <sley/http.hpp> (SLEY_HTTP is off, or Boost's headers are not there)")
endif()
