"""Chinese for `dsec sim-gpu`."""

TEXTS: dict[str, str] = {
    "which command is to see the simulated GPUs?": "要让哪个命令看到模拟的 GPU？",
    "write it last: dsec sim-gpu --profile 8xh100 -- dsec inventory": (
        "把命令写在最后：dsec sim-gpu --profile 8xh100 -- dsec inventory"
    ),
    "dsec sim-gpu: the rules in {path} are read again while the command runs": (
        "dsec sim-gpu：命令运行期间会重新读取 {path} 中的规则"
    ),
    "Boxes (--profile), and COUNTxTYPE:": "机器（--profile），以及 数量x型号：",
    "Scenarios (--scenario), and files:": "场景（--scenario），以及文件：",
    "memory is the host's: the driver says of its own that it is not supported": (
        "显存就是主机内存：驱动称不支持单独的显存"
    ),
    "GPU 0 heats up from 45 to 95 degrees in a minute, and slows itself down at the end": (
        "GPU 0 在一分钟内从 45 度升到 95 度，最后自行降频"
    ),
    "GPU 0 falls off the bus after 10 s": "GPU 0 在 10 秒后从总线上掉线",
    "GPU 0 is cut into three MIG instances": "GPU 0 被切分成三个 MIG 实例",
    "the library and the loaded driver differ in version": "库与已加载的驱动版本不同",
    "the driver is not loaded": "驱动未加载",
    "the driver runs, but has no GPU": "驱动在运行，但没有 GPU",
    "the user may not use the driver": "用户无权使用驱动",
    "a driver that lacks the versioned questions": "缺少带版本号接口的旧驱动",
    "the driver's files are replaced after 10 s: who has begun goes on, nobody else can begin": (
        "10 秒后驱动文件被替换：已经开始的继续运行，其他程序无法开始"
    ),
    "Linux on Windows: neither how busy a GPU is nor how much a process holds is told": (
        "Windows 上的 Linux：既不告知 GPU 有多忙，也不告知进程占用多少显存"
    ),
    "a program on GPU 0 touches memory that is not its own, after 10 s": (
        "10 秒后 GPU 0 上的程序访问了不属于它的内存"
    ),
    "no box is called {name!r}": "没有名为 {name!r} 的机器",
    "there are {names}, and COUNTxTYPE up to {most}": "有 {names}，以及 数量x型号（最多 {most}）",
    "there is no scenario {name}": "没有场景 {name}",
    "name a file, or one of {names}": "请给出文件，或其中之一：{names}",
    "one rule a line, as in: {example}": "每行一条规则，例如：{example}",
    "{line} is no rule": "{line} 不是规则",
    "{text} is no rule": "{text} 不是规则",
    "{value} is no value of {key}": "{value} 不是 {key} 的取值",
    "{key} is a rule {place}": "{key} 是{place}规则",
    "of the machine": "整台机器的",
    "of a GPU (gpu N)": "某个 GPU（gpu N）的",
    "there is no rule {key}; did you mean {near}?": "没有规则 {key}；是否指 {near}？",
    "there is no rule {key}": "没有规则 {key}",
    "write [gpu=N,]KEY[=VALUE][@FROM[-UNTIL]], for example gpu=3,lost@10s": (
        "请写成 [gpu=N,]KEY[=VALUE][@FROM[-UNTIL]]，例如 gpu=3,lost@10s"
    ),
    "free some space, or name another folder in {name}": "释放一些空间，或在 {name} 中指定另一个文件夹",
    "simulated GPUs need a C compiler, and there is no {names}": "模拟 GPU 需要 C 编译器，但没有 {names}",
    "install one (Debian: apt install gcc libc6-dev), or name it in CC": (
        "请安装一个（Debian：apt install gcc libc6-dev），或在 CC 中指定"
    ),
    "{compiler} did not end within {limit} s": "{compiler} 在 {limit} 秒内没有结束",
    "name another compiler in CC": "在 CC 中指定另一个编译器",
    "{compiler} could not build the library: {said}": "{compiler} 无法构建该库：{said}",
    "install the C library's headers (Debian: libc6-dev), or name another compiler in CC": (
        "请安装 C 库头文件（Debian：libc6-dev），或在 CC 中指定另一个编译器"
    ),
    "{text}: {reason}": "{text}：{reason}",
    "{name}:{number}: {reason}": "{name}:{number}：{reason}",
    "--set {text}: the box has no GPU {number}": "--set {text}：这台机器没有 GPU {number}",
    "it has {count}, counted from 0; --profile names another box": "它有 {count} 张，从 0 数起；用 --profile 指定另一台机器",
}
