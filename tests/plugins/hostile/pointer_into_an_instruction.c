// codes: overlap-bytes
// flags: -O1
__asm__(".text\n.globl carrier\n.type carrier,@function\ncarrier:\n mov $0x050f6958, %eax\n ret\n.size carrier,.-carrier\n"
 ".section .data.rel.ro,\"aw\"\n.globl hidden_way\nhidden_way: .quad carrier+3\n.previous\n");
extern long (*const hidden_way)(void);
long f(void) { return hidden_way(); }
