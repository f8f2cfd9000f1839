// codes: exec-stack
// flags: -z execstack
int f(void) { return 1; }
