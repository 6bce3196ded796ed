// The bottom frame of a goroutine's stack, where a new one starts; and the frame below main's.
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
    .globl sley_goroutine_started
    .hidden sley_goroutine_start
    .hidden sley_goroutine_started
    .type sley_goroutine_start, @function
    .align 16
sley_goroutine_start:
    .cfi_startproc
    .cfi_personality 0x9b, sley_goroutine_personality_reference
    .cfi_undefined rip
    .cfi_undefined rbp
    .cfi_def_cfa rsp, 16
    endbr64
    xorl %ebp, %ebp
    call *8(%rsp)
sley_goroutine_started:
    ud2
    .cfi_endproc
    .size sley_goroutine_start, . - sley_goroutine_start

// void sley_goroutine_call_main(void (*f)(void*), void* arg): calls f(arg). An exception that
// leaves f is seen by this frame's personality routine in the search phase.
    .globl sley_goroutine_call_main
    .hidden sley_goroutine_call_main
    .type sley_goroutine_call_main, @function
    .align 16
sley_goroutine_call_main:
    .cfi_startproc
    .cfi_personality 0x9b, sley_goroutine_main_personality_reference
    endbr64
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    movq %rdi, %rax
    movq %rsi, %rdi
    call *%rax
    popq %rbp
    .cfi_def_cfa rsp, 8
    ret
    .cfi_endproc
    .size sley_goroutine_call_main, . - sley_goroutine_call_main

// The references are global, so that the unwind tables refer to them by name. Where they refer to a
// place in a section, GNU ld may take the tables of the two frames for the same, and a goroutine's
// frame has the personality routine of main's.
    .hidden sley_goroutine_personality
    .hidden sley_goroutine_main_personality
    .globl sley_goroutine_personality_reference
    .globl sley_goroutine_main_personality_reference
    .hidden sley_goroutine_personality_reference
    .hidden sley_goroutine_main_personality_reference
    .section .data.rel.local, "aw", @progbits
    .align 8
    .type sley_goroutine_personality_reference, @object
    .size sley_goroutine_personality_reference, 8
sley_goroutine_personality_reference:
    .quad sley_goroutine_personality
    .type sley_goroutine_main_personality_reference, @object
    .size sley_goroutine_main_personality_reference, 8
sley_goroutine_main_personality_reference:
    .quad sley_goroutine_main_personality

    .section .note.GNU-stack, "", @progbits
