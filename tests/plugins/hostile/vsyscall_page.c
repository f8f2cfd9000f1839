// codes: computed-call
long f(void) { return ((long (*)(void *))0xffffffffff600000ul)(0); }
