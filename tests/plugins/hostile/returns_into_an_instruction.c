// codes: nr-computed
__asm__(".text\n.hidden carrier2\n.globl carrier2\n.type carrier2,@function\ncarrier2:\n mov $0xc3050f, %ebx\n ret\n.size carrier2,.-carrier2\n"
 ".globl f\n.type f,@function\nf: mov $105, %eax\n xor %edi, %edi\n lea carrier2+1(%rip), %rdx\n push %rdx\n ret\n.size f,.-f\n");
