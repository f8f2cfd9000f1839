"""Chinese for policies and metrics."""

TEXTS: dict[str, str] = {
    "{second} changes {key} by {two}, {first} by {one}": "{second} 把 {key} 改变 {two}，{first} 却改变 {one}",
    "while both conditions hold, each undoes what the other has done": "两个条件同时成立时，各自都会抵消对方的动作",
    "let one policy change {key}, or make their conditions exclude each other": "只让一条策略改变 {key}，或让两者的条件互斥",
    "{policy} changes it by {amount}": "{policy} 把它改变 {amount}",
    "write {metric}": "写成 {metric}",
    "{metric} is no metric of DSec": "{metric} 不是 DSec 的指标",
    "a condition on what nobody reports never holds": "没有人上报的指标，其条件永远不会成立",
}
