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
set(rename "")
foreach(function IN ITEMS create_state pcinfo syminfo)
  list(APPEND take -Wl,-u,backtrace_${function})
  # binutils asks which ones to keep by their new names, LLVM by the old ones.
  list(APPEND rename
    --redefine-sym backtrace_${function}=sley_backtrace_${function}
    --keep-global-symbol=backtrace_${function}
    --keep-global-symbol=sley_backtrace_${function})
endforeach()

# By the compiler, which knows for which machine to link when there is no object that says it.
add_custom_command(OUTPUT "${SLEY_BACKTRACE_OBJECT}"
  COMMAND "${CMAKE_CXX_COMPILER}" -nostdlib -r ${take} "${SLEY_BACKTRACE_LIBRARY}"
    -o "${SLEY_BACKTRACE_OBJECT}"
  COMMAND "${CMAKE_OBJCOPY}" ${rename} "${SLEY_BACKTRACE_OBJECT}"
  DEPENDS "${SLEY_BACKTRACE_LIBRARY}"
  COMMENT "Taking out of libbacktrace what sley needs"
  VERBATIM)
add_custom_target(sley_backtrace_object DEPENDS "${SLEY_BACKTRACE_OBJECT}")
