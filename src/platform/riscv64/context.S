// The bottom frame of a goroutine's stack, where a new one starts; and the frame below main's.
//
//   top      +---------------------------+  16-byte aligned
//   top - 8  | entry function            |
//   top - 16 | (keeps the alignment)     |  <- stack pointer of a fresh context
//
// switch_context jumps to sley_goroutine_start, which calls the entry function. It never returns.
// The unwind information says that the caller of this frame is unknown (ra undefined), so gdb, perf
// and _Unwind_Backtrace stop here cleanly, and names a personality routine: an exception that no
// frame above wants is seen by it in the search phase, with the whole stack still in place.
//
// Both call by t2, which needs no landing pad at the function (Zicfilp).

    .text
    .globl sley_goroutine_start
    .globl sley_goroutine_started
    .hidden sley_goroutine_start
    .hidden sley_goroutine_started
    .type sley_goroutine_start, @function
    .p2align 4
sley_goroutine_start:
    .cfi_startproc
    .cfi_personality 0x9b, sley_goroutine_personality_reference
    .cfi_undefined ra
    .cfi_undefined s0
    .cfi_def_cfa sp, 16
    li s0, 0
    li ra, 0
    ld t2, 8(sp)
    jalr t2
sley_goroutine_started:
    unimp
    .cfi_endproc
    .size sley_goroutine_start, . - sley_goroutine_start

// void sley_goroutine_call_main(void (*f)(void*), void* arg): calls f(arg). An exception that
// leaves f is seen by this frame's personality routine in the search phase.
    .globl sley_goroutine_call_main
    .hidden sley_goroutine_call_main
    .type sley_goroutine_call_main, @function
    .p2align 4
sley_goroutine_call_main:
    .cfi_startproc
    .cfi_personality 0x9b, sley_goroutine_main_personality_reference
    addi sp, sp, -16
    .cfi_def_cfa_offset 16
    sd ra, 8(sp)
    sd s0, 0(sp)
    .cfi_offset ra, -8
    .cfi_offset s0, -16
    addi s0, sp, 16
    .cfi_def_cfa s0, 0
    mv t2, a0
    mv a0, a1
    jalr t2
    .cfi_def_cfa sp, 16
    ld ra, 8(sp)
    ld s0, 0(sp)
    .cfi_restore ra
    .cfi_restore s0
    addi sp, sp, 16
    .cfi_def_cfa_offset 0
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
    .p2align 3
    .type sley_goroutine_personality_reference, @object
    .size sley_goroutine_personality_reference, 8
sley_goroutine_personality_reference:
    .quad sley_goroutine_personality
    .type sley_goroutine_main_personality_reference, @object
    .size sley_goroutine_main_personality_reference, 8
sley_goroutine_main_personality_reference:
    .quad sley_goroutine_main_personality

    .section .note.GNU-stack, "", @progbits
