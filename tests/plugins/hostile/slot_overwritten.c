// codes: loader-walk
// flags: -Wl,-z,norelro,-z,lazy
__asm__(".text\n.globl f\n.type f,@function\nf: add %rdi, _GLOBAL_OFFSET_TABLE_+24(%rip)\n jmp getppid@PLT\n.size f,.-f\n");
