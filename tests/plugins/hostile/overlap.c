// codes: overlap-bytes
__asm__(
    ".globl ds_step_run\n.type ds_step_run,@function\nds_step_run:\n"
    "  xor %eax, %eax\n"
    "  mov $0x3b, %al\n"
    "  jmp 1f+1\n"
    "1: .byte 0xb8\n"
    "  .byte 0x0f, 0x05\n"
    "  .byte 0xc3, 0x90\n"
    "  ret\n"
    ".size ds_step_run, .-ds_step_run\n"
    ".section .note.GNU-stack,\"\",@progbits\n");
