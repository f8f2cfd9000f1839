// codes: code-gen
// permissions: code-gen
#include <string.h>
#include <sys/mman.h>
long ds_step_run(const void *code, unsigned long size) {
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, size);
    return ((long (*)(void))page)();
}
