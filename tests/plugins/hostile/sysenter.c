// codes: gate-sysenter
int ds_step_run(void) {
    __asm__ volatile("mov $20, %eax; sysenter");
    return 0;
}
