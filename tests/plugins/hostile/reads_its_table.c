// codes: loader-walk
__asm__(
    ".text\n.globl ds_step_run\n.type ds_step_run,@function\nds_step_run:\n"
    "  mov _GLOBAL_OFFSET_TABLE_+8(%rip), %rax\n  mov 24(%rax), %rax\n  ret\n"
    ".size ds_step_run, .-ds_step_run\n.section .note.GNU-stack,\"\",@progbits\n");
