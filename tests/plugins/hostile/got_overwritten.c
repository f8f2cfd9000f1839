// codes: loader-walk
// flags: -Wl,-z,norelro,-z,lazy
__asm__(".text\n.globl f\n.type f,@function\nf: lea _GLOBAL_OFFSET_TABLE_(%rip), %rax\n add %rdi, 24(%rax)\n jmp getppid@PLT\n.size f,.-f\n");
