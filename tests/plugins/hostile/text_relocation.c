// flags: -Wl,-z,notext
// codes: text-relocation
__asm__(
    ".text\n.globl ds_step_run\n.type ds_step_run,@function\nds_step_run:\n"
    "  movabs $ds_word, %rax\n  mov (%rax), %eax\n  ret\n"
    ".size ds_step_run, .-ds_step_run\n"
    ".data\nds_word: .long 7\n.section .note.GNU-stack,\"\",@progbits\n");
