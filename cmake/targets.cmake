# Helpers that the folders of this repository use to declare their targets.

# What a public header needs in order to compile. The definitions change inline code in the headers, so
# a program that links a library built with them must have them too (link_check.hpp). The stack clash
# protection makes a large frame touch every page on its way, so it meets the guard page of a
# goroutine's stack instead of jumping over it: the code of programs needs it as well. Stacks are read by
# the index of the unwind tables, which the linker makes of a program that is linked with -static only if
# it is told to.
function(sley_public_usage target scope)
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${sley_BINARY_DIR}/include>"
    "$<BUILD_INTERFACE:${sley_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(${target} ${scope} cxx_std_20)
  target_compile_options(${target} ${scope}
    $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,IntelLLVM>:${SLEY_PROBE_FLAG}>
    $<$<COMPILE_LANG_AND_ID:C,GNU,Clang,IntelLLVM>:${SLEY_PROBE_FLAG}>)
  target_link_options(${target} ${scope} -Wl,--eh-frame-hdr)
  target_link_libraries(${target} ${scope} Threads::Threads)
  if(SLEY_CHECKS)
    target_compile_definitions(${target} ${scope} SLEY_DEBUG_CHECKS=1)
  endif()
  if(SLEY_CHAOS)
    target_compile_definitions(${target} ${scope} SLEY_CHAOS=1)
  endif()
  if(NOT SLEY_FP_CONTROL)
    target_compile_definitions(${target} ${scope} SLEY_NO_FP_CONTROL=1)
  endif()
endfunction()

# sley_precompile(target group headers...)   the headers are compiled once for all targets of a group,
# which have the same flags. A file still includes what it uses.
function(sley_precompile target group)
  get_property(owner GLOBAL PROPERTY sley_precompiled_${group})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY sley_precompiled_${group} ${target})
  endif()
endfunction()

# sley_unity(target)   with SLEY_UNITY its files are compiled a dozen at a time. What clang then says of
# names that two of them have does not matter; g++ says nothing of such names, and -Wshadow stays on.
function(sley_unity target)
  if(SLEY_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# sley_add_example(name sources... [LIBRARY library])   a program against the public interface, at
# examples/<name>, linked with sley::sley unless another library is named
function(sley_add_example name)
  cmake_parse_arguments(PARSE_ARGV 1 example "" "LIBRARY" "")
  if(NOT example_LIBRARY)
    set(example_LIBRARY sley::sley)
  endif()
  add_executable(example_${name} ${example_UNPARSED_ARGUMENTS})
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${sley_BINARY_DIR}/examples")
  target_link_libraries(example_${name} PRIVATE ${example_LIBRARY})
  sley_own_code(example_${name})
  sley_unity(example_${name})
  if(example_LIBRARY STREQUAL "sley::sley")  # the others have other flags
    sley_precompile(example_${name} programs <sley/sley.hpp>)
  endif()
endfunction()

# sley_add_bench(name sources...)   a benchmark program, at bench/<name>
function(sley_add_bench name)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${sley_BINARY_DIR}/bench")
  target_link_libraries(${name} PRIVATE sley::sley)
  sley_own_code(${name})
  sley_precompile(${name} programs <sley/sley.hpp>)
endfunction()
