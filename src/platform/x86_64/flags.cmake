# The compiler does not know that the switch's assembly leaves a stack: without a red zone nothing that
# is still needed is below the saved stack pointer.
set(SLEY_CPU_FLAGS -mno-red-zone)
