"""Chinese for `ds-plugin-scan`; what its reports say is English for now."""

TEXTS: dict[str, str] = {
    "--exact-mb {count}: 1 or more": "--exact-mb {count}：应为 1 或更大",
    "--sysroot {path} is not a folder": "--sysroot {path} 不是文件夹",
    "--libc {path} is not a file": "--libc {path} 不是文件",
    "--diff prints text or json, not {format}": "--diff 只输出 text 或 json，不能是 {format}",
    "{path} is no report of a scan: {why}": "{path} 不是扫描报告：{why}",
    "give a .so, or what --format json wrote ({format})": "请给出 .so，或 --format json 写出的文件（{format}）",
    "a seccomp profile needs the system calls, which are not determined here": "seccomp 配置需要系统调用，而这里无法得出",
    "{path} is larger than {most} GiB": "{path} 大于 {most} GiB",
    "no plugin is; refuse it": "没有插件会这么大；请拒绝它",
    "{path} is not a regular file": "{path} 不是普通文件",
    "name a shared object (.so)": "请指定一个共享库（.so）",
    "refuse the file, or give it more on a machine that you can spare": "请拒绝该文件，或在一台可以腾出的机器上给它更多资源",
    "{path} could not be scanned within {cpu} s of processor time": "{path} 无法在 {cpu} 秒处理器时间内完成扫描",
    "{path}: the scan was ended by signal {number}": "{path}：扫描被信号 {number} 终止",
    "{path} could not be scanned within {most} MiB": "{path} 无法在 {most} MiB 内存内完成扫描",
    "{path} cannot be scanned: it is {why}": "{path} 无法扫描：它是 {why}",
    "pip install 'dsec[scan]'": "pip install 'dsec[scan]'",
    "name a 64-bit shared object (.so)": "请指定一个 64 位共享库（.so）",
}
