// codes: exec-data-hit
__asm__(
    ".section .rodata.x,\"ax\",@progbits\n.align 16\n  .quad 1, 2\n"
    "  .byte 0xb8, 0x3b, 0, 0, 0, 0x0f, 0x05, 0xc3\n  .quad 3\n.text\n"
    ".globl ds_step_run\n.type ds_step_run,@function\nds_step_run:\n"
    "  call 1f\n1: pop %rax\n  add %rdi, %rax\n  jmp *%rax\n.size ds_step_run, .-ds_step_run\n"
    ".section .note.GNU-stack,\"\",@progbits\n");
