"""Chinese for what is refused because somebody else may have made it: links, foreign folders, hostile names."""

TEXTS: dict[str, str] = {
    "the name holds a NUL": "名称中含有 NUL 字符",
    "it lies outside of {folder}": "它位于 {folder} 之外",
    "it is no ordinary file": "它不是普通文件",
    "it is a hard link: the same file has another name": "它是硬链接：同一文件还有别的名称",
    "it is a symbolic link": "它是符号链接",
    "{part} is a symbolic link": "{part} 是符号链接",
    "{where}output {file!r}: {why}": "{where}output {file!r}：{why}",
    "{where}output {file!r}: a configuration writes no hidden file, and into no hidden folder": "{where}output {file!r}：配置文件不能写隐藏文件，也不能写入隐藏目录",
    "{where}output {file!r}: a configuration writes reports, whose names end in {suffixes}": "{where}output {file!r}：配置文件只能写报告，其文件名须以 {suffixes} 结尾",
    "name it on the command line: --output {format}:FILE": "请在命令行上指定：--output {format}:FILE",
    "{where}{path} could not be written: {why}": "{where}无法写入 {path}：{why}",
    "{path} is a symbolic link that leads out of its project, to {target}": "{path} 是符号链接，指向项目之外的 {target}",
    "remove the link, or name {target} itself": "请删除该链接，或直接指定 {target}",
}
