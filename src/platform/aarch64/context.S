// The bottom frame of a goroutine's stack, where a new one starts; and the frame below main's.
//
//   top      +---------------------------+  16-byte aligned
//   top - 8  | entry function            |
//   top - 16 | (keeps the alignment)     |  <- stack pointer of a fresh context
//
// switch_context jumps to sley_goroutine_start, which calls the entry function. It never returns.
// The unwind information says that the caller of this frame is unknown (x30 undefined), so gdb,
// perf and _Unwind_Backtrace stop here cleanly, and names a personality routine: an exception that
// no frame above wants is seen by it in the search phase, with the whole stack still in place.
//
// The hints are `bti jc`, `paciasp` and `autiasp`, which older assemblers do not know by name.

    .text
    .globl sley_goroutine_start
    .globl sley_goroutine_started
    .hidden sley_goroutine_start
    .hidden sley_goroutine_started
    .type sley_goroutine_start, %function
    .p2align 4
sley_goroutine_start:
    .cfi_startproc
    .cfi_personality 0x9b, sley_goroutine_personality_reference
    .cfi_undefined x30
    .cfi_undefined x29
    .cfi_def_cfa sp, 16
    hint #38
    mov x29, #0
    mov x30, #0
    ldr x16, [sp, #8]
    blr x16
sley_goroutine_started:
    brk #1
    .cfi_endproc
    .size sley_goroutine_start, . - sley_goroutine_start

// void sley_goroutine_call_main(void (*f)(void*), void* arg): calls f(arg). An exception that
// leaves f is seen by this frame's personality routine in the search phase.
    .globl sley_goroutine_call_main
    .hidden sley_goroutine_call_main
    .type sley_goroutine_call_main, %function
    .p2align 4
sley_goroutine_call_main:
    .cfi_startproc
    .cfi_personality 0x9b, sley_goroutine_main_personality_reference
    hint #25
    .cfi_negate_ra_state
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov x16, x0
    mov x0, x1
    blr x16
    ldp x29, x30, [sp], #16
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    hint #29
    .cfi_negate_ra_state
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
    .section .data.rel.local, "aw", %progbits
    .p2align 3
    .type sley_goroutine_personality_reference, %object
    .size sley_goroutine_personality_reference, 8
sley_goroutine_personality_reference:
    .quad sley_goroutine_personality
    .type sley_goroutine_main_personality_reference, %object
    .size sley_goroutine_main_personality_reference, 8
sley_goroutine_main_personality_reference:
    .quad sley_goroutine_main_personality

// All of this file may be linked into a program that has branch targets (1) and return addresses
// (2) protected: GNU_PROPERTY_AARCH64_FEATURE_1_AND.
    .section .note.gnu.property, "a", %note
    .p2align 3
    .word 4, 16, 5
    .asciz "GNU"
    .word 0xc0000000, 4, 3, 0

    .section .note.GNU-stack, "", %progbits
