"""What Chinese words for keys, choices and units mean here; imported only for a word that is not ASCII."""

from __future__ import annotations

from unicodedata import normalize

from dsec.units import UnitProblem
from dsec_cli.contract import quantities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

WORDS: dict[str, tuple[str, ...]] = {
    # sections
    "资源基线": ("baseline",),
    "基线": ("baseline",),
    "常驻资源": ("baseline",),
    "弹性边界": ("elasticity",),
    "弹性": ("elasticity", "elastic"),
    "容错等级": ("fault_tolerance", "level"),
    "容错": ("fault_tolerance",),
    "容忍等级": ("level",),
    "依赖契约": ("dependencies",),
    "依赖关系": ("needs",),
    "依赖": ("needs", "dependencies"),
    "运行时上下文": ("runtime_context",),
    "安全策略": ("security_policy",),
    "步骤": ("steps", "step"),
    "任务": ("tasks",),
    "通信": ("communication",),
    "迭代": ("iterations",),
    "循环": ("iterations",),
    "插件": ("plugins", "plugin"),
    "令牌": ("tokens",),
    "策略": ("policies",),
    "数据源": ("data_source",),
    "网络": ("network",),
    "文件系统": ("filesystem",),
    "环境变量": ("env_vars", "env"),
    "挂载": ("mounts",),
    "资源画像": ("resources",),
    "资源": ("resources",),
    # keys
    "版本": ("version",),
    "名称": ("name",),
    "名字": ("name",),
    "编号": ("id",),
    "标识": ("id",),
    "镜像": ("base",),
    "显卡": ("gpu",),
    "处理器": ("cpu",),
    "核数": ("cpu",),
    "内存": ("memory",),
    "显存": ("memory",),
    "磁盘": ("disk",),
    "数量": ("count",),
    "次数": ("count",),
    "个数": ("count",),
    "类型": ("type",),
    "型号": ("type",),
    "显卡型号": ("type",),
    "最小数量": ("min_count",),
    "最大数量": ("max_count",),
    "最小显存": ("memory_min", "min_memory"),
    "最大显存": ("memory_max",),
    "最小带宽": ("bandwidth_min",),
    "最大带宽": ("bandwidth_max",),
    "等级": ("level",),
    "级别": ("level",),
    "宽限期": ("checkpoint_grace_period",),
    "检查点宽限期": ("checkpoint_grace_period",),
    "恢复策略": ("resume_strategy",),
    "来源": ("source",),
    "哈希": ("hash",),
    "命令": ("run",),
    "运行": ("run",),
    "调用": ("call",),
    "参数": ("args",),
    "超时": ("timeout",),
    "超时时间": ("timeout",),
    "重试": ("retries",),
    "重试次数": ("retries", "max"),
    "输入": ("inputs",),
    "输出": ("outputs",),
    "预计时长": ("expected_duration",),
    "工作目录": ("cwd",),
    "打破循环": ("break_cycle",),
    "断点": ("break_point",),
    "域名": ("domain",),
    "端口": ("ports",),
    "限流": ("rate_limit",),
    "路径": ("path",),
    "模式": ("mode",),
    "值": ("value",),
    "权限": ("permissions",),
    "签名": ("signature",),
    "描述": ("description",),
    # choices
    "不可中断": ("critical",),
    "关键": ("critical",),
    "可暂停": ("pauseable",),
    "可伸缩": ("elastic",),
    "可丢弃": ("discardable",),
    "模型": ("model",),
    "环境": ("environment", "env"),
    "数据集": ("dataset",),
    "工具": ("tool",),
    "只读": ("ro",),
    "读写": ("rw",),
    "加密只读": ("ro-encrypted",),
    "只读加密": ("ro-encrypted",),
    "独占": ("exclusive",),
    "共享": ("fraction",),
    "求和": ("sum",),
    "平均": ("mean",),
    "关闭": ("off",),
    "是": ("true",),
    "真": ("true",),
    "否": ("false",),
    "假": ("false",),
}
"""Each word, and what it may mean, the first that is legal in its place."""
UNITS = {
    "毫秒": "ms",
    "微秒": "us",
    "秒钟": "s",
    "秒": "s",
    "分钟": "m",
    "小时": "h",
    "钟头": "h",
    "天": "d",
    "日": "d",
    "分": "m",
    "时": "h",
    "摄氏度": "C",
    "度": "C",
    "千兆字节": "GB",
    "兆字节": "MB",
    "吉字节": "GB",
    "字节": "B",
    "次请求": "req",
    "请求": "req",
    "次": "req",
    "每": "/",
}
"""Longer ones first where one is part of another."""
DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_ENDINGS = ("型", "级", "类")


def meant(word: str, legal: Container[str]) -> str:
    """The legal word that a Chinese or full-width one means; "" where it means none."""
    plain = normalize("NFKC", word).strip()
    for form in (plain, plain.lower(), plain.rstrip("".join(_ENDINGS))):
        found = next((one for one in (form, *WORDS.get(form, ())) if one in legal), "")
        if found:
            return found
    return ""


def quantity(kind: str, text: str) -> str:
    """The quantity that a text with Chinese units, numbers or full-width letters is; "" where it is none."""
    plain = normalize("NFKC", text).replace(" ", "")
    if plain.startswith("半"):
        plain = f"0.5{plain[1:].removeprefix('个')}"
    for word, unit in UNITS.items():
        plain = plain.replace(word, unit)
    plain = _with_digits(plain.replace("个", ""))
    for spelt in (plain, plain.replace("/m", "/min") if "req" in plain else plain):
        try:
            quantities.read(kind, spelt)
        except UnitProblem as problem:
            if problem.nearest:
                return problem.nearest
        else:
            return spelt
    return ""


def _with_digits(text: str) -> str:
    """The text with its Chinese number, up to ninety-nine, in digits."""
    signs = "".join(sign for sign in text if sign in DIGITS or sign == "十")
    if not signs or signs not in text:
        return text
    tens, ten, ones = signs.partition("十")
    if not ten:
        number = "".join(str(DIGITS[sign]) for sign in signs)
    elif len(tens) > 1 or len(ones) > 1 or "十" in ones:
        return text
    else:
        number = str((DIGITS[tens] if tens else 1) * 10 + (DIGITS[ones] if ones else 0))
    return text.replace(signs, number)
