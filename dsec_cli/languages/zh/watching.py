"""Chinese for what the monitor sees: attempts that make no progress, memory that climbs."""

from __future__ import annotations

TEXTS = {
    "  {step}: {detail}": "  {step}：{detail}",
    "  {detail}": "  {detail}",
    "made no progress and was stopped": "没有进展，已被停止",
    "{rank} of {count} stopped first": "{count} 个中最先停下的是 {rank}",
    "{rank} of {count} stopped first, its stacks are in {folder}": "{count} 个中最先停下的是 {rank}，其堆栈在 {folder}",
    "its stacks are in {folder}": "其堆栈在 {folder}",
    "no sign of progress for {quiet}, {limit} is allowed, and nothing works: stacks are in {folder}": "已有 {quiet} 没有任何进展的迹象（允许 {limit}），处理器和 GPU 都空闲：堆栈在 {folder}",
    "no sign of progress for {quiet}, {limit} is allowed, though something works: stacks are in {folder}": "已有 {quiet} 没有任何进展的迹象（允许 {limit}），但仍有东西在运算：堆栈在 {folder}",
    "it is ended and starts again": "将其结束并重新开始",
    "it is ended: the run can do without it": "将其结束：没有它运行也能继续",
    "it is critical, so it is left alone": "它的等级是 critical，因此不去动它",
    "it has no retries left, so it is left alone": "它已没有剩余的重试次数，因此不去动它",
    "how long it takes is not known, so it is left alone": "不知道它通常需要多久，因此不去动它",
    "it starts again with {remedy}, as the contract asks": "按契约的要求，带着 {remedy} 重新开始",
    "where GPUs wait for each other {remedy} may mend it: DSEC_STALL_REMEDY in its environment asks for that": "如果是 GPU 之间互相等待，{remedy} 可能有用：在其环境中用 DSEC_STALL_REMEDY 提出要求",
    "main memory grows by {rate} an execution: it reaches the {limit} that it states in about {ahead} executions": "内存每次执行增长 {rate}：大约再执行 {ahead} 次就会达到它声明的 {limit}",
    "main memory grows by {rate} a minute: it reaches the {limit} that it states in about {ahead}": "内存每分钟增长 {rate}：大约 {ahead} 后就会达到它声明的 {limit}",
    "main memory grows by {rate} an execution: it reaches the {limit} that this machine has for it in about {ahead} executions": "内存每次执行增长 {rate}：大约再执行 {ahead} 次就会达到本机能给它的 {limit}",
    "main memory grows by {rate} a minute: it reaches the {limit} that this machine has for it in about {ahead}": "内存每分钟增长 {rate}：大约 {ahead} 后就会达到本机能给它的 {limit}",
    "GPU memory grows by {rate} an execution: it reaches the {limit} that it states in about {ahead} executions": "显存每次执行增长 {rate}：大约再执行 {ahead} 次就会达到它声明的 {limit}",
    "GPU memory grows by {rate} a minute: it reaches the {limit} that it states in about {ahead}": "显存每分钟增长 {rate}：大约 {ahead} 后就会达到它声明的 {limit}",
    "GPU memory grows by {rate} an execution: it reaches the {limit} that the GPU has for it in about {ahead} executions": "显存每次执行增长 {rate}：大约再执行 {ahead} 次就会达到该 GPU 能给它的 {limit}",
    "GPU memory grows by {rate} a minute: it reaches the {limit} that the GPU has for it in about {ahead}": "显存每分钟增长 {rate}：大约 {ahead} 后就会达到该 GPU 能给它的 {limit}",
    "it holds {held} of GPU memory and states {stated}: its worker is asked to empty its cache": "它占用 {held} 显存，声明的是 {stated}：已请其常驻进程清空缓存",
    "it holds {held} of GPU memory and states {stated}: it is no worker that could be asked": "它占用 {held} 显存，声明的是 {stated}：它不是常驻进程，无法请求",
    "this machine has {left} of main memory left, and no Step exceeds what it states": "本机只剩 {left} 内存，而没有 Step 超出其声明",
    "this machine has {left} of main memory left: it holds {held} and states {stated}": "本机只剩 {left} 内存：它占用 {held}，声明的是 {stated}",
}
