# libbacktrace, from which dumps have their source lines (SLEY_BACKTRACE), as one object file that
# becomes part of libsley.a and libsley.so:
#   SLEY_BACKTRACE_OBJECT   the file
#   sley_backtrace_object   the target that makes it
#
# It is a part and not a library that programs link as well, because not every machine that has sley
# installed has libbacktrace, and because references that may stay open take nothing out of an
# archive. Its functions are renamed: a program may have another libbacktrace beside ours.

set(SLEY_BACKTRACE_OBJECT "${CMAKE_CURRENT_BINARY_DIR}/backtrace.o")

set(take "")
# Which files it reads is told by sley (src/platform/line_tables.cpp), not by the dynamic loader.
set(rename --redefine-sym dl_iterate_phdr=sley_backtrace_dl_iterate_phdr)
foreach(function IN ITEMS create_state pcinfo syminfo)
  list(APPEND take -Wl,-u,backtrace_${function})
  # binutils asks which ones to keep by their new names, LLVM by the old ones.
  list(APPEND rename
    --redefine-sym backtrace_${function}=sley_backtrace_${function}
    --keep-global-symbol=backtrace_${function}
    --keep-global-symbol=sley_backtrace_${function})
endforeach()

# By the compiler, which knows for which machine to link when there is no object that says it. The
# linker that CMAKE_EXE_LINKER_FLAGS asks for may be the only one there that links for that machine.
separate_arguments(linker_flags NATIVE_COMMAND "${CMAKE_EXE_LINKER_FLAGS}")
list(FILTER linker_flags INCLUDE REGEX "^(-fuse-ld=|--ld-path=|-B|--target=|--sysroot=|--gcc-toolchain=|-m)")
add_custom_command(OUTPUT "${SLEY_BACKTRACE_OBJECT}"
  COMMAND ${SLEY_LINK_COMMAND} ${linker_flags} -nostdlib -r ${take} "${SLEY_BACKTRACE_LIBRARY}"
    -o "${SLEY_BACKTRACE_OBJECT}"
  COMMAND "${CMAKE_OBJCOPY}" ${rename} "${SLEY_BACKTRACE_OBJECT}"
  DEPENDS "${SLEY_BACKTRACE_LIBRARY}"
  COMMENT "Taking out of libbacktrace what sley needs"
  VERBATIM)
add_custom_target(sley_backtrace_object DEPENDS "${SLEY_BACKTRACE_OBJECT}")
