// The bottom frame of a goroutine's stack, where a new one starts; and a look at the frames of one
// that has left.
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
    .cfi_personality 0x9b, personality_reference
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

// look_from() of context.hpp. Its unwind information takes everything about its caller from the
// copy of the context that it makes, so the caller is whatever has left there.
//
//   rbp      | the caller's rbp          |
//   rbp - 8  | resume address            |  the caller's rip
//   rbp - 16 | frame pointer             |  the caller's rbp
//   rbp - 24 | stack pointer             |  the CFA: the caller's rsp

    .globl sley_look_from
    .hidden sley_look_from
    .type sley_look_from, @function
    .align 16
sley_look_from:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    pushq 16(%rdi)
    pushq 8(%rdi)
    pushq 0(%rdi)
    subq $8, %rsp
    movq %rsi, %rax
    movq %rdx, %rdi
    .cfi_remember_state
    // DW_CFA_def_cfa_expression, 3 bytes: DW_OP_breg6 (rbp) -24, DW_OP_deref.
    .cfi_escape 0x0f, 3, 0x76, 0x68, 0x06
    // DW_CFA_expression, the place of register 16 (rip), 2 bytes: DW_OP_breg6 -8; of 6 (rbp): -16.
    .cfi_escape 0x10, 16, 2, 0x76, 0x78
    .cfi_escape 0x10, 6, 2, 0x76, 0x70
    call *%rax
    .cfi_restore_state
    leave
    .cfi_def_cfa rsp, 8
    ret
    .cfi_endproc
    .size sley_look_from, . - sley_look_from

// void sley_goroutine_call_main(void (*f)(void*), void* arg): calls f(arg). An exception that
// leaves f is seen by this frame's personality routine in the search phase.
    .globl sley_goroutine_call_main
    .hidden sley_goroutine_call_main
    .type sley_goroutine_call_main, @function
    .align 16
sley_goroutine_call_main:
    .cfi_startproc
    .cfi_personality 0x9b, main_personality_reference
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

    .hidden sley_goroutine_personality
    .hidden sley_goroutine_main_personality
    .section .data.rel.local, "aw", @progbits
    .align 8
    .type personality_reference, @object
    .size personality_reference, 8
personality_reference:
    .quad sley_goroutine_personality
    .type main_personality_reference, @object
    .size main_personality_reference, 8
main_personality_reference:
    .quad sley_goroutine_main_personality

    .section .note.GNU-stack, "", @progbits
