// codes: overlap-bytes nr-computed
// any:
__asm__(".text\n.type carrier,@function\ncarrier:\n mov $0x050f6958, %eax\n ret\n.size carrier,.-carrier\n"
 ".globl g\n.type g,@function\ng: jmp carrier\n.size g,.-g\n"
 ".section .data.rel.ro,\"aw\"\nway: .quad carrier+3\n.globl f\n.text\n.type f,@function\nf: mov $105,%eax\n jmp *way(%rip)\n.size f,.-f\n");
