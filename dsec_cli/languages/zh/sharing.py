"""How runs share the GPUs of one machine."""

TEXTS: dict[str, str] = {
    "a Step of another run must not wait; it did not save its state within {ms} ms": "另一个任务的 Step 不能等待；它没有在 {ms} ms 内保存状态",
    "a Step of another run must not wait": "另一个任务的 Step 不能等待",
    "this run does not share its GPUs with the other runs of this machine: {why}": "本任务不与本机的其他任务共享 GPU：{why}",
    "the broker (process {pid}) did not answer and was ended: another one takes over": "仲裁进程 {pid} 没有应答，已被终止；另一个接替它",
    "this run shares its GPUs with the other runs of this machine again": "本任务重新与本机的其他任务共享 GPU",
    "it waits for {many} GPUs; other runs have some: {names}": "等待 {many} 个 GPU；其他任务占用着一些：{names}",
    "  run {job} has {gpus} GPUs ({path})": "  任务 {job} 占用 {gpus} 个 GPU（{path}）",
    "  {gpus} GPUs come back when nothing is left of run {job} ({path})": "  任务 {job} 的进程全部结束后归还 {gpus} 个 GPU（{path}）",
    "  it has waited {time}; {before} runs that have had less GPU time come first": "  已等待 {time}；{before} 个用过的 GPU 时间更少的任务排在它前面",
    "  it has waited {time} and comes next": "  已等待 {time}，下一个轮到它",
    "remove it, or name another folder in {name}": "请删除它，或用 {name} 指定另一个文件夹",
    "there is a broker already: process {pid} ({folder})": "已有一个仲裁进程：{pid}（{folder}）",
    "process {pid} shares the GPUs of this machine ({folder})": "进程 {pid} 在各任务之间分配本机的 GPU（{folder}）",
    "no broker: no run of yours uses GPUs here": "没有仲裁进程：您在本机没有使用 GPU 的任务",
    "broker: process {pid}, runs: {runs} ({folder})": "仲裁进程：{pid}，任务数：{runs}（{folder}）",
    "GPUs: {gpus}": "GPU 数：{gpus}",
    "{hours} GPU-hours on its account": "已记 {hours} GPU 小时",
    "has waited {time} for {gpus}": "等待 {gpus} 个，已等 {time}",
    "{job}: {facts} ({path})": "{job}：{facts}（{path}）",
}
