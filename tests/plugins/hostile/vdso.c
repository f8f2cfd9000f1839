// codes: vdso-walk
#include <sys/auxv.h>
long ds_step_run(long n) {
    const unsigned char *p = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    for (int i = 0; i < 8192; i++)
        if (p[i] == 0x0f && p[i + 1] == 0x05) return ((long (*)(long))(p + i))(n);
    return -1;
}
