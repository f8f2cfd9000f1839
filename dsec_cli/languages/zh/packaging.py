"""Chinese for packages of snapshots, their keys and signatures."""

TEXTS: dict[str, str] = {
    "sealing needs the package cryptography, which is not installed": "加封需要 cryptography 包，但未安装它",
    "{path} holds no key of age": "{path} 中没有 age 密钥",
    "{path} is no signing key: it must be 64 hexadecimal digits": "{path} 不是签名密钥：必须是 64 位十六进制数字",
    "put it back, or remove it, and a new key is made; what was sealed for it stays sealed": (
        "请恢复它，或将其删除以生成新密钥；为旧密钥加封的内容将无法打开"
    ),
    "remove it, and a new key is made; what was signed with it stays signed": (
        "删除它即会生成新密钥；用旧密钥签名的内容仍保持签名"
    ),
    "{path} can be read by others, and holds a key": "{path} 中有密钥，却可被他人读取",
    "{path}, line {number} is no key with its owner": "{path} 第 {number} 行不是密钥及其所有者",
    "keys are kept there; HOME names another folder": "密钥保存在该处；可用 HOME 指定其他文件夹",
    "it must be 64 hexadecimal digits, a space and a name; mend or remove the line": (
        "必须是 64 位十六进制数字、一个空格和一个名称；请修正或删除该行"
    ),
    "{path} says that it holds {size:,} bytes": "{path} 声称其内容为 {size:,} 字节",
    "{name} is damaged: {why}": "{name} 已损坏：{why}",
    "{name} lacks {id}": "{name} 缺少 {id}",
    "if that is so, allow it with --most": "若确实如此，请用 --most 放行",
    "not signed": "未签名",
    "{path} {why}": "{path} {why}",
    "the signature is wrong: it was changed after {label} signed it": "签名不符：在 {label} 签名之后被改动过",
    "signed by you, key {key}": "由您签名，密钥 {key}",
    "signed by {label}, key {key}, which you trust": "由 {label} 签名，密钥 {key}，您信任该密钥",
    "signed as {label}, but the key {key} is not the one that you trust for that name": (
        "以 {label} 之名签名，但密钥 {key} 并非您为该名称信任的密钥"
    ),
    "signed by {label}, key {key}, which you do not know yet": "由 {label} 签名，密钥 {key}，您尚不认识该密钥",
    "{what}; {name} is in there": "{what}；其中有 {name}",
    "{path} is there, and is not a package": "{path} 已存在，且不是快照包",
    "{path} is whole, but its folder could not be synced: {why}": "{path} 已完整写入，但其目录无法同步到磁盘：{why}",
    "if the machine stops now the file may be gone; write it again to be sure": "若机器此刻断电，该文件可能丢失；请再写一次以确保安全",
    "remove it, or name another place with --output": "请将其删除，或用 --output 指定其他位置",
    "nothing was left there; name another place with --output": "那里没有留下任何内容；请用 --output 指定其他位置",
    "--recipient {text!r} is no public key of age": "--recipient {text!r} 不是 age 公钥",
    "it begins with age1; dsec snapshot keys prints the one of who is to open it": (
        "它以 age1 开头；由要打开它的人运行 dsec snapshot keys 即可得到"
    ),
    "{words} (hint: if that is right, take the old line out of ~/.ds/keys/trusted first)": (
        "{words}（提示：若无误，请先从 ~/.ds/keys/trusted 中删除旧行）"
    ),
    "{words} (hint: compare the key with its owner, then say --trust)": (
        "{words}（提示：与其所有者核对密钥后，再使用 --trust）"
    ),
    "letters, digits, '.', '_' and '-', at most 128": "字母、数字、'.'、'_' 和 '-'，最多 128 个",
    "--most {text!r} is no size: {why}": "--most {text!r} 不是大小：{why}",
    "there is another snapshot named {name}": "已有另一个名为 {name} 的快照",
    "you sign as {label}, key {key}": "您以 {label} 之名签名，密钥 {key}",
    "for you is sealed with --recipient {key}": "为您加封请用 --recipient {key}",
    "nothing can be sealed: {why}": "无法加封：{why}",
    "trusted: {label}, key {key}": "已信任：{label}，密钥 {key}",
    "nobody else is trusted yet": "尚未信任其他任何人",
    "{path} is being written by somebody else": "{path} 正由他人写入",
    "name this one with --name": "请用 --name 为它命名",
}
