// codes: nr-computed overlap-bytes exec-data-hit
// any: yes
__asm__(
    ".text\n.globl ds_step_run\n.type ds_step_run,@function\nds_step_run:\n"
    "  lea 1f(%rip), %rax\n  add $5, %rax\n  jmp *%rax\n"
    "1: .byte 0x48, 0xb8, 0xcc, 0xcc, 0xcc\n"
    "  .byte 0xb0, 0x39, 0x0f, 0x05, 0xc3\n  ret\n"
    ".size ds_step_run, .-ds_step_run\n.section .note.GNU-stack,\"\",@progbits\n");
