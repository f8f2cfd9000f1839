// codes: borrowed-code
__asm__(".section .data.rel.ro,\"aw\"\nway: .quad getppid+5\n.text\n.globl f\n.type f,@function\nf: mov %edi,%eax\n jmp *way(%rip)\n.size f,.-f\n");
