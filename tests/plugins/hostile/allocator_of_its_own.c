// codes: interposition
void *malloc(unsigned long n) { return 0; }
int open(const char *p, int f, ...) { return -1; }
