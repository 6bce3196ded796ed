// void sley_test_look_as(const std::uint64_t* registers, void (*look)(void*), void* arg): see
// unwind_oracle.cpp.
    .text
    .globl sley_test_look_as
    .type sley_test_look_as, @function
sley_test_look_as:
    .cfi_startproc
    addi sp, sp, -16
    .cfi_def_cfa_offset 16
    sd s1, 0(sp)
    sd ra, 8(sp)
    .cfi_offset s1, -16
    .cfi_offset ra, -8
    mv s1, a0
    mv a0, a2
    .cfi_remember_state
    .cfi_escape 0x0f, 3, 0x79, 0x10, 0x06
    .irp x, 0,1,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    .cfi_escape 0x10, \x, 3, 0x79, ((8 * \x) & 0x7f) | 0x80, (8 * \x) >> 7
    .endr
    jalr a1
    .cfi_restore_state
    ld s1, 0(sp)
    ld ra, 8(sp)
    addi sp, sp, 16
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size sley_test_look_as, . - sley_test_look_as

    .section .note.GNU-stack, "", @progbits
