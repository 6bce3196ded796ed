// void sley_test_look_as(const std::uint64_t* registers, void (*look)(void*), void* arg): see
// unwind_oracle.cpp.
    .text
    .globl sley_test_look_as
    .type sley_test_look_as, @function
sley_test_look_as:
    .cfi_startproc
    pushq %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset rbx, -16
    movq %rdi, %rbx
    movq %rsi, %rax
    movq %rdx, %rdi
    .cfi_remember_state
    .cfi_escape 0x0f, 3, 0x73, 0x38, 0x06
    .cfi_escape 0x10, 0, 2, 0x73, 0x00
    .cfi_escape 0x10, 1, 2, 0x73, 0x08
    .cfi_escape 0x10, 2, 2, 0x73, 0x10
    .cfi_escape 0x10, 3, 2, 0x73, 0x18
    .cfi_escape 0x10, 4, 2, 0x73, 0x20
    .cfi_escape 0x10, 5, 2, 0x73, 0x28
    .cfi_escape 0x10, 6, 2, 0x73, 0x30
    .cfi_escape 0x10, 8, 3, 0x73, 0xc0, 0x00
    .cfi_escape 0x10, 9, 3, 0x73, 0xc8, 0x00
    .cfi_escape 0x10, 10, 3, 0x73, 0xd0, 0x00
    .cfi_escape 0x10, 11, 3, 0x73, 0xd8, 0x00
    .cfi_escape 0x10, 12, 3, 0x73, 0xe0, 0x00
    .cfi_escape 0x10, 13, 3, 0x73, 0xe8, 0x00
    .cfi_escape 0x10, 14, 3, 0x73, 0xf0, 0x00
    .cfi_escape 0x10, 15, 3, 0x73, 0xf8, 0x00
    .cfi_escape 0x10, 16, 3, 0x73, 0x80, 0x01
    call *%rax
    .cfi_restore_state
    popq %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size sley_test_look_as, . - sley_test_look_as

    .section .note.GNU-stack, "", @progbits
