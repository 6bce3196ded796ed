// The bottom frame of a goroutine's stack, and where a new one starts.
//
//   top      +---------------------------+  16-byte aligned
//   top - 8  | entry function            |
//   top - 16 | (keeps the alignment)     |  <- stack pointer of a fresh context
//
// switch_context jumps to sley_goroutine_start, which calls the entry function. It never returns.
// The unwind information says that the caller of this frame is unknown (rip undefined), so gdb,
// perf and _Unwind_Backtrace stop here cleanly, and names a personality routine: an exception that
// no frame above wants is seen by it in the search phase, with the whole stack still in place.

    .text
    .globl sley_goroutine_start
    .hidden sley_goroutine_start
    .type sley_goroutine_start, @function
    .align 16
sley_goroutine_start:
    .cfi_startproc
    .cfi_personality 0x9b, personality_reference
    .cfi_undefined rip
    .cfi_undefined rbp
    .cfi_def_cfa rsp, 16
    endbr64
    xorl %ebp, %ebp
    call *8(%rsp)
    ud2
    .cfi_endproc
    .size sley_goroutine_start, . - sley_goroutine_start

    .hidden sley_goroutine_personality
    .section .data.rel.local, "aw", @progbits
    .align 8
    .type personality_reference, @object
    .size personality_reference, 8
personality_reference:
    .quad sley_goroutine_personality

    .section .note.GNU-stack, "", @progbits
