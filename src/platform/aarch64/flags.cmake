# A function uses nothing below its stack pointer (AAPCS64).
set(SLEY_CPU_FLAGS "")
