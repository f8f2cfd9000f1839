// codes: code-gen
// permissions: code-gen
#include <string.h>
#include <sys/mman.h>
long ds_step_run(const void *code, unsigned long size) {
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, size);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    return ((long (*)(void))page)();
}
