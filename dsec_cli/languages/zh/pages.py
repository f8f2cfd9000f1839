"""Chinese for the pages of rules: what each finds, and why it exists."""

TEXTS: dict[str, str] = {
    "A list in which an entry counts once names it twice.": "列表中每个条目只算一次，却把同一个写了两次。",
    "The second entry changes nothing, so it was meant to be another one, or it was left behind when lists were joined. Where two entries differ, a reader does not know which of them counts.": "第二个条目不起作用：要么本来想写别的，要么是合并列表时留下的。如果两个条目内容不同，读者无法知道以哪一个为准。",
    "The file is of another kind: an inventory, a plan, a compose file, a workflow, a program.": "这是另一种文件：资源清单、执行计划、compose 文件、工作流或程序。",
    "Said once, it tells more than a list of all that such a file lacks of a contract. Some have a command of their own, which the finding names.": "说明一次，胜过列出这种文件缺少的契约的每一部分。有些文件有专门的命令，结果中会给出。",
    "The contract states keys that `dsec run` does not apply yet.": "契约写了 `dsec run` 尚未执行的键。",
    "Whoever reads `security_policy` in a contract takes it for enforced. These keys are read, checked and kept, and some are used by other commands (`ds-netcheck` judges flows by `latency_cap`), but a run does not obey them yet. One finding names all of them, so that nobody relies on a limit that does not hold.": "读到契约中的 `security_policy`，人们会以为它已生效。这些键会被读取、检查并保留，有些还被其他命令使用（`ds-netcheck` 按 `latency_cap` 判定数据流），但运行时尚不受其约束。一条结果列出全部此类键，以免有人依赖并未生效的限制。",
    "A task asks for a rate that no card of its type gives.": "任务要求的速率，该型号的任何一张卡都达不到。",
    "`fp16_throughput` and `memory_bandwidth` choose the cards that will do. A rate above the data sheet's is most often a slip of units (GB/s for TB/s) or another card's figure, and the task would wait for ever. For cards that have it, the rate of sparse matrices counts, as data sheets print it; 5 % are left for rounding.": "`fp16_throughput` 和 `memory_bandwidth` 用来筛选可用的卡。高于数据手册的速率多半是单位写错（GB/s 与 TB/s），或是另一张卡的数据，任务会一直等待。支持稀疏计算的卡按数据手册所印的稀疏速率计；允许 5 % 的取整误差。",
    "A contract and the `ds_config.yaml` beside it both state Steps.": "契约和它旁边的 `ds_config.yaml` 都写了 Step。",
    "`ds_config.yaml` holds the Steps of a contract that states none. Where both do, a reader cannot know which Steps run, and a merge of the two lists would order Steps that were never written for each other. So plan and run refuse the pair, too.": "契约没有写 Step 时，由 `ds_config.yaml` 提供。两处都写，读者就无从知道运行的是哪些 Step，把两个列表合并又会排列并非为彼此而写的 Step。因此 plan 和 run 也拒绝这样的组合。",
    # DS001
    "The file's bytes are not text in UTF-8 (or UTF-16 with a byte order mark).": "文件的字节不是 UTF-8 文本（也不是带字节序标记的 UTF-16 文本）。",
    "A contract that cannot be decoded cannot be read at all, and guessing an encoding from the machine's locale would make the same file mean different things on different machines.": "无法解码的契约根本读不了；按机器的区域设置去猜编码，又会让同一个文件在不同机器上有不同的含义。",
    # DS002
    "The text is not YAML.": "文本不是 YAML。",
    "The contract is a YAML file. Everything before the place that breaks is still read, and what it holds is still checked, so one slip does not hide the rest.": "契约是一个 YAML 文件。出错位置之外的内容照样读取，并照样检查，因此一处笔误不会掩盖其余的问题。",
    # DS003
    "The same key stands twice in one mapping.": "同一映射中有两个相同的键。",
    "Readers of YAML keep one of the two and drop the other without a word, and not all keep the same one. What the author meant is not knowable, so nobody may guess.": "YAML 读取器会保留其中一个而悄悄丢掉另一个，而且各家保留的并不相同。作者的本意无从得知，谁也不该去猜。",
    # DS004
    "A merge key `<<` stands twice in one mapping, or a merged key is written over.": "同一映射中合并键 `<<` 出现两次，或合并来的键被覆盖。",
    "Two `<<` keys are read differently by different readers, and an override hides what the anchor says from whoever reads the anchor. `<<: [*a, *b]` says the order; the first wins.": "两个 `<<` 键在不同读取器中的读法不同；覆盖则会让查看锚点的人看不到实际的值。`<<: [*a, *b]` 写明了先后：以靠前的为准。",
    # DS005
    "A character that looks like another one, or breaks lines only for some programs.": "看起来像另一个字符的字符，或只被部分程序当作换行的字符。",
    "U+2028, U+0085, zero-width, no-break and ideographic spaces come in by copy and paste and by input methods. Some programs see a line break or a separator there, others do not, so the same file has different lines in different tools. The quotes of word processors are letters to YAML. Where such a character makes an error of a key or value, it is one itself, and the only one that is told.": "U+2028、U+0085、零宽空格、不换行空格和全角空格往往来自复制粘贴和输入法。有的程序把它们当作换行或分隔符，有的不当，于是同一个文件在不同工具中的行并不一样。文字处理软件的引号在 YAML 中只是普通字符。如果这样的字符使键或值出错，它本身就是错误，并且只报告它。",
    # DS006
    "A value without quotes that YAML 1.1 and YAML 1.2 read differently.": "不带引号、而 YAML 1.1 与 YAML 1.2 读法不同的值。",
    "`no` is false to one reader and the text `no` to the other, `010` is eight or ten, `1_000` a number or a text, `22:30` is 1350 or a text. DSec reads YAML 1.2; PyYAML, and much of what is built upon it, reads 1.1. Only values are told whose reading can hurt: numbers of the contract, environment variables, and what is handed to calls, plugins and actions. There, too, `1e-4` and dates are read as they look, so they are left alone.": "`no` 在一个读取器中是假，在另一个中是文本 `no`；`010` 是八或十；`1_000` 是数或文本；`22:30` 是 1350 或文本。DSec 按 YAML 1.2 读取；PyYAML 以及许多基于它的工具按 1.1 读取。只报告读法不同会造成危害的值：契约中的数、环境变量，以及传给调用、插件和动作的内容。即便在那里，`1e-4` 和日期的读法与字面一致，因此不报告。",
    # DS007
    "A byte order mark, line ends of two kinds, or no line end after the last line.": "带有字节序标记、混用两种换行符，或最后一行没有换行符。",
    "None of them changes what the contract says, and each makes some tool stumble: a mark before the first key, lines that differ where nobody edited them, a last line to which the next one is joined. One remark per file.": "它们都不改变契约的内容，却各会绊住某些工具：第一个键之前的标记、没人改过却显示不同的行、会与后续内容连成一行的末行。每个文件只提示一次。",
    # DS008
    "An alias `*name` names no anchor, or an anchor that contains the alias itself.": "别名 `*name` 没有对应的锚点，或对应的锚点包含该别名自身。",
    "There is nothing to put in its place.": "它的位置上没有任何内容可以填入。",
    # DS009
    "The text holds template braces `{{ ... }}`: it is the template of a contract, not a contract.": "文本中有模板的花括号 `{{ ... }}`：这是契约的模板，而不是契约。",
    "Unquoted, the braces are a YAML mapping inside a mapping and the file means something nobody wrote. Render the template first and lint the result, or quote the value if the braces belong to it.": "不加引号时，这些花括号在 YAML 中是映射套映射，文件的含义谁也没有写过。请先渲染模板再检查结果；如果花括号本来就属于值，就给值加上引号。",
    # DS010
    "The text is larger, nests deeper, or expands to more nodes, than any contract needs.": "文本的大小、嵌套深度或展开后的节点数超过任何契约所需。",
    "Two hundred bytes of aliases can expand without end. Reading stops at a budget instead of taking the machine's memory: 250,000 values and comments, as many as 100,000 lines have, 32 bytes and two lines for each of them, 256 levels and 10,000 aliases. DSEC_MAX_NODES=1000000 allows more values.": "两百字节的别名就可以无限展开。读取在达到限额时停止，而不是占满机器的内存：250,000 个值和注释（100,000 行约有这么多），每个另有 32 字节和两行，以及 256 层、10,000 个别名。DSEC_MAX_NODES=1000000 放宽值的个数。",
    # DS011
    "An anchor `&name` that no alias uses.": "锚点 `&name` 没有被任何别名使用。",
    "An anchor is there to be used again. One that nobody uses is left over from an edit, or the alias that should use it is misspelt or was written out by hand, and the copy will drift.": "锚点是为了重复使用。没有人用的锚点，要么是修改时遗留的，要么本该使用它的别名写错了或被手工展开了，而手工的副本迟早会不一致。",
    # DS101
    "A key that the contract language does not have at this place.": "契约语言在这个位置没有的键。",
    "A misspelt key that is ignored looks like success: the run starts, for hours, on defaults nobody chose. So every key must be known, at every depth.": "写错的键如果被忽略，看上去就像成功了：任务会用谁也没有选择过的默认值跑上几个小时。因此每一层的每个键都必须是已知的。",
    # DS102
    "One of the four mandatory dimensions is missing.": "缺少四个必填维度之一。",
    "Every contract states its baseline, its elasticity, its fault tolerance and its dependencies; without one of them resources can be neither granted nor taken back safely.": "每份契约都要写明资源基线、弹性边界、容错等级和依赖契约；缺少其中之一，资源就既不能安全地给出，也不能安全地收回。",
    # DS103
    "A version without quotes that YAML reads as a number.": "不带引号、会被 YAML 读成数的版本。",
    "To a YAML reader `1.10` without quotes is the number 1.1, and `1.2` is a number and not a text. DSec takes the text as it is written, but other tools that read the same file do not.": "对 YAML 读取器来说，不带引号的 `1.10` 是数 1.1，`1.2` 也是数而不是文本。DSec 按字面读取，但读取同一文件的其他工具不会。",
    # DS104
    "A value of the wrong kind: a list where a mapping is wanted, text where a number is wanted.": "值的类型不对：该是映射的地方写了列表，该是数的地方写了文本。",
    "The statement cannot be understood, so what it was meant to ask for would silently not apply.": "这条声明无法理解，它本来要申请的内容就会悄悄失效。",
    # DS105
    "A value that is not one of the choices of its key.": "值不在该键的可选范围之内。",
    "The key has a closed list of meanings; any other word means nothing to the scheduler.": "该键的含义是一个封闭的集合；其他任何词对调度器都没有意义。",
    # DS106
    "A quantity without a unit, or with a unit that does not fit.": "数量没有单位，或单位不合适。",
    "`24`, `24G` and `24GB` are three different amounts to three different readers. Every amount carries a unit, and only units with one meaning are accepted.": "`24`、`24G` 和 `24GB` 对三个读者来说是三个不同的量。每个数量都要带单位，而且只接受含义唯一的单位。",
    # DS107
    "A version that is not semantic (SemVer).": "版本不是语义化版本（SemVer）。",
    "Whether a loaded model or environment fits is decided by its version alone: 1.3.0 is not satisfied by 1.2.9. A version that cannot be ordered cannot be checked, and an old model is loaded without anybody noticing.": "加载的模型或环境是否合适，只由版本决定：1.2.9 不能满足 1.3.0。不能排序的版本也就不能校验，于是旧模型会在无人察觉的情况下被加载。",
    # DS108
    "The version of a Python package is no PEP 440 version or range, or a range that nothing satisfies.": "Python 包的版本不是 PEP 440 的版本或范围，或是无法满足的范围。",
    "The environment is built from this text. A range that cannot be read installs nothing, or worse, whatever is newest.": "环境按这段文本来构建。读不懂的范围什么也装不上，更糟的是装上当时最新的版本。",
    # DS109
    "A key that its section cannot do without is missing.": "缺少所在部分必不可少的键。",
    "A Step without an id cannot be needed by others, a dependency without a name cannot be loaded: the rest of the entry has nothing to refer to.": "没有 ID 的 Step 无法被其他 Step 依赖，没有名称的依赖无法加载：条目的其余内容没有可以指代的对象。",
    # DS110
    "Two packages that can never be installed together.": "两个永远不能一起安装的包。",
    "One of them, or a package that it brings along, wants versions of the other that the contract rules out. The environment cannot be built, or is built with one of the two broken, which shows when a Step has been running for a while.": "其中一个，或它带来的某个包，要求另一个包的版本，而契约排除了这些版本。环境要么构建不出来，要么构建出来时有一个是坏的，等 Step 运行了一阵才会暴露。",
    # DS111
    "An installed package is not what the contract wants, or rules out what it wants.": "已安装的包与契约要求的不同，或与契约要求的内容相冲突。",
    "The contract was checked against one environment and would run in another. This is looked at only where an environment is named: dsec packages --environment.": "契约是对照一个环境检查的，却会在另一个环境中运行。只有指定了环境时才检查：dsec packages --environment。",
    # DS112
    "A package or a version that the index does not offer, or that its publisher has taken back.": "索引没有提供的包或版本，或已被发布者撤回的版本。",
    "The environment cannot be built from it, or only as long as somebody keeps an old copy. This is looked at only where an index is asked: dsec packages --resolve.": "用它构建不出环境，或者只有在有人保留旧副本时才可以。只有查询索引时才检查：dsec packages --resolve。",
    # DS201
    "The baseline asks for more than the least that elasticity allows.": "资源基线的申请超过弹性边界允许的最小值。",
    "The baseline is what the job always holds, elasticity is the range in which it may be moved. A job whose standing demand lies above the lower bound could be shrunk below what it says it needs, so admission refuses it: the baseline must be at or below `min_count` and `memory_min`.": "资源基线是任务始终持有的资源，弹性边界是资源可以伸缩的范围。如果常驻需求高于下限，任务就可能被缩到它自称所需的资源以下，因此准入检查会拒绝：资源基线必须不高于 `min_count` 和 `memory_min`。",
    # DS202
    "A lower bound lies above its upper bound.": "下限高于上限。",
    "No amount satisfies both, so the range is empty and the job could never be placed.": "没有任何取值能同时满足两者，区间是空的，任务永远无法安排。",
    # DS203
    "`max_count` is more than twice the baseline: the contract promises more than it is likely to need.": "`max_count` 超过资源基线的两倍：契约承诺的超出实际可能的需要。",
    "A wide upper bound is really asked for. Elastic GPUs then lie about in pieces, and several contracts that grow at the same time starve each other. Twice the baseline leaves room for every normal peak.": "宽松的上限是真的会去申请的。弹性 GPU 因此变得零散，几份契约同时扩容时还会互相饿死。两倍于基线足以应对一切正常的高峰。",
    # DS204
    "Nothing says which type of GPU the job is for.": "没有写明任务需要哪种型号的 GPU。",
    "The type is matched exactly, so that a job built for an A100 never lands on a V100. Without it the most common type is assumed, and once those are taken the job waits for ever.": "型号按硬匹配处理，因此为 A100 准备的任务不会落到 V100 上。不写型号时按集群中最常见的型号处理，一旦该型号被占满，任务就会无限等待。",
    # DS205
    "A GPU type that nobody knows, or that the given machines do not have.": "没有人认识的 GPU 型号，或指定的机器中没有的型号。",
    "The type is matched exactly. A misspelt one matches nothing, and the job waits for a GPU that will never come.": "型号按硬匹配处理。写错的型号匹配不到任何 GPU，任务会等待一张永远不会来的卡。",
    # DS206
    "The contract, or all contracts linted together, may grow by more GPUs than 30 % of the inventory.": "契约（或一起检查的全部契约合计）可能增长的 GPU 超过资源拓扑图的 30 %。",
    "GPUs for growth come from one elastic pool, at most 30 % of what is physically there, so that growing jobs cannot push out the standing ones. What lies beyond the pool is never granted, and several contracts that each fit it can still ask for more together. Asked only with `--inventory`; the sum is told once, at the contract that may grow most.": "扩容用的 GPU 来自同一个弹性池，至多占物理总量的 30 %，以免扩容的任务挤掉常驻的任务。超出弹性池的部分永远得不到；几份各自没有超出的契约，合计起来仍可能超出。只在给出 `--inventory` 时检查；合计只在可能增长最多的契约处报告一次。",
    # DS207
    "`max_gpu_hours` is less than the Steps are expected to take, or `min_gpu_hours` more than they can.": "`max_gpu_hours` 少于各 Step 预计所需，或 `min_gpu_hours` 多于它们可能所用。",
    "GPU-hours are what a run is settled by. Below what the plan needs at the very least, the upper bound is passed in every run and all beyond it is charged extra. Above what the Steps could take even if each ran into its timeout, the lower bound is charged in every run and never used.": "任务按 GPU 小时清算。上限若低于执行计划最少所需，则每次运行都会超出，超额部分另外计费。下限若高于每个 Step 都跑到超时的用量，则每次运行都要为从未使用的部分付费。",
    # DS208
    "A Step asks for more than elasticity or the baseline ever gives the job.": "Step 的申请超过弹性边界或资源基线所能给任务的。",
    "Elasticity's upper bounds are the most that is granted. A Step that wants more waits for ever, or takes what the contract promised not to take. For processor cores and main memory there is no upper bound but the baseline itself, so a Step beyond it is a warning.": "弹性边界的上限就是最多能给出的资源。要得更多的 Step 会无限等待，或拿走契约承诺不拿的资源。CPU 核和内存除资源基线之外没有上限，因此超出时是警告。",
    # DS209
    "More than two GPUs behind NVLink switches, and no `nvlink_mode`.": "NVLink 交换芯片之后有两张以上的 GPU，却没有写 `nvlink_mode`。",
    "By default every pair of GPUs talks directly. With many GPUs behind NVSwitches all pairs together want more than the switches carry: one eight-GPU job asked for 800 GB/s of 600 GB/s, links lost packets, and the loss went up in the thousandth step. `switched` lets the switches decide; with two GPUs, or on PCIe cards joined in pairs, there is nothing to decide.": "默认情况下所有 GPU 两两直连。NVSwitch 之后 GPU 较多时，各对的流量合计超过交换芯片的承载能力：一个八卡任务要 800 GB/s，而只有 600 GB/s，链路丢包，到第一千步时 loss 升高。`switched` 交给交换芯片决定；只有两张 GPU，或成对相连的 PCIe 卡，则没有什么需要决定。",
    # DS210
    "A demand that no device can meet.": "没有任何设备能满足的申请。",
    "Nominal sizes lie. A card sold with 80 GB has 79.65 GiB, one sold with 24 GB may have 23.99 GiB, so a contract that asks for `80Gi` or `24Gi` waits for ever. With `--inventory` the given machines decide; without it, the true sizes of the card table. `80GB-class` asks for a card by its name. A type that names a family (`h100`) is warned of when only its larger cards are left.": "标称容量并不真实。按 80 GB 出售的卡有 79.65 GiB，按 24 GB 出售的卡可能只有 23.99 GiB，因此申请 `80Gi` 或 `24Gi` 的契约会无限等待。给出 `--inventory` 时以指定的机器为准；否则以显卡表中的实际容量为准。`80GB-class` 表示按标称档位申请。如果写的是系列（`h100`），而只剩其中较大的卡可用，则给出警告。",
    # DS211
    "Elasticity's `memory_max` is more than any card of the type has.": "弹性边界的 `memory_max` 超过该型号任何一张卡的显存。",
    "GPU memory cannot grow beyond the card. A bound above it reads like room that is there, and the plan is made with it; what really happens at the card's edge is an out-of-memory error.": "显存不可能增长到超过显卡本身。高于它的上限看上去像是有余量，执行计划也会据此制定；而真正到达显卡的极限时，就是显存不足（OOM）。",
    # DS301
    "`checkpoint_grace_period` is under 10 seconds.": "`checkpoint_grace_period` 不足 10 秒。",
    "The grace period is all the time a Step has to save itself before it is stopped. Writing some GiB of weights takes longer than a few seconds on most disks; a checkpoint cut off in the middle is lost work.": "宽限期是 Step 被停止之前可以用来保存自己的全部时间。在多数磁盘上，写出几 GiB 的权重需要的时间不止几秒；写到一半被切断的检查点等于白做。",
    # DS303
    "A discardable Step writes over its own input.": "可丢弃的 Step 会覆盖自己的输入。",
    "A discardable Step is given up and started again with the data that came from upstream. If its first attempt has begun to write over that file, nobody can send it again: the second attempt reads what the first one left.": "可丢弃的 Step 会被放弃，再用上游给的数据重新开始。如果第一次尝试已经开始覆盖那个文件，就没有人能重发它：第二次尝试读到的是第一次留下的内容。",
    # DS304
    "`checkpoint_grace_period` on a discardable Step.": "可丢弃的 Step 上写了 `checkpoint_grace_period`。",
    "A discardable Step is given up without saving anything, so there is nothing to wait for. The grace period only delays the moment at which its resources are free.": "可丢弃的 Step 被放弃时什么也不保存，因此没有什么可等。宽限期只会推迟其资源的释放。",
    # DS305
    "`snapshot_interval` is so short that snapshots eat the run, or longer than the whole run.": "`snapshot_interval` 短到快照吃掉运行时间，或长过整个任务。",
    "A state snapshot was measured at 47 ms. Every 90 s that is nothing; every 500 ms it is nearly a tenth of the run. An interval longer than the run can last means that no snapshot is ever taken, and a run that breaks begins again.": "一次状态快照实测为 47 ms。每 90 s 一次可以忽略；每 500 ms 一次就占去将近十分之一的运行时间。间隔若长过任务所能持续的时间，就一次快照也不会做，任务中断后只能从头再来。",
    # DS306
    "`latency_cap` is 50 ms or less.": "`latency_cap` 不超过 50 ms。",
    "The cap slows a worker down whenever one synchronisation takes longer. Set too tight, ordinary jitter under load trips it again and again: one team's 50 ms made all workers melt down at every peak, and training lost 40 % of its speed. The same team ran well with 65 to 75 ms.": "每当一次同步超过该上限，worker 就会被降速。设得太紧时，负载下的正常抖动会反复触发它：某团队设为 50 ms，每到高峰所有 worker 都会熔断，训练速度下降 40 %。同一团队设为 65 到 75 ms 时运行良好。",
    # DS307
    "`bandwidth_cap` is above elasticity's `bandwidth_max`.": "`bandwidth_cap` 高于弹性边界的 `bandwidth_max`。",
    "The cap is there to slow a worker down before it takes the network from others. Above the rate that the contract gets at most it can never be reached, so it protects nobody. Byte rates count eightfold: 100MB/s are 800 Mbps.": "该上限是为了在 worker 抢占他人的网络之前让它降速。如果它高于契约最多能得到的带宽，就永远达不到，也就什么都保护不了。字节速率要乘以八：100MB/s 就是 800 Mbps。",
    # DS310
    "A pauseable job with GPUs: pausing stops the processes but does not give their GPU memory back.": "带 GPU 的可暂停任务：暂停会停住进程，但不会归还显存。",
    "A stopped process keeps its CUDA context and every byte it has allocated. Whoever pauses a job to make room for another gains GPU time, not GPU memory. The memory is free only when the Step saves itself and leaves (the SDK's save and restore), or where the driver can move a process's memory out by itself.": "被停住的进程仍保留 CUDA 上下文和它已分配的每一个字节。为了给别的任务腾地方而暂停它，得到的是 GPU 时间，而不是显存。只有 Step 自行保存并退出（SDK 的 save 和 restore），或驱动能够自行把进程的显存移出时，显存才会空出来。",
    # DS401
    "The source of a dependency, or of the data, has a scheme that nobody knows, or is malformed.": "依赖或数据的来源用了没有人认识的协议，或格式有误。",
    "What a job loads is fetched before the first Step. A source that no one can look for stops the run only then, on a machine that already holds its GPUs.": "任务要加载的内容在第一个 Step 之前获取。没有人能查找的来源，要到那时才会让任务停下，而机器此时已经占着 GPU。",
    # DS402
    "A dependency whose content may change under the same name: a git branch, or a URL without a hash.": "内容可能变化而名称不变的依赖：git 分支，或没有哈希的 URL。",
    "Hashes are checked before the first Step, so that yesterday's result can be had again today. A branch is whatever was pushed last; a URL or an object without a hash is whatever lies there now. A full commit, a version tag, a `hash`, and `ds://` (a registry keeps one content per version) are fixed.": "哈希在第一个 Step 之前校验，好让昨天的结果今天还能重现。分支指最近推送的内容；没有哈希的 URL 或对象指此刻放在那里的内容。完整的提交、版本标签、`hash` 和 `ds://`（仓库对每个版本只保留一份内容）都是固定的。",
    # DS403
    "The base is whatever image is newest, or is built for another CUDA than what runs in it.": "基础镜像总是指最新的镜像，或与其中运行的内容所用的 CUDA 不同。",
    "`latest` is another image tomorrow, so the environment that worked cannot be had again. A package built for one CUDA in an image with another one may load, and fail in the middle of a run. A DSec base whose CUDA is not the certified 12.1 is only mentioned.": "`latest` 明天就是另一个镜像，曾经能用的环境再也得不到。为一个 CUDA 版本构建的包放进另一个 CUDA 版本的镜像，也许能加载，却会在运行途中失败。DSec 基础镜像的 CUDA 不是经认证的 12.1 时，只作提示。",
    # DS404
    "`include-code` does not leave out `.git`.": "`include-code` 没有排除 `.git`。",
    "A snapshot takes the whole folder. One project of 50 MB made snapshots of 2.3 GB, of which 2.1 GB were the history in `.git/objects`.": "快照会带上整个目录。一个 50 MB 的项目做出了 2.3 GB 的快照，其中 2.1 GB 是 `.git/objects` 中的历史。",
    # DS405
    "Object storage is mounted without `cache_ttl`.": "挂载了对象存储，却没有写 `cache_ttl`。",
    "A mounted bucket looks like a folder, and the kernel keeps an entry for every object ever seen. Without a limit these fill its memory: 10 TB of objects took 45 GB, and reading slowed from 1.2 to 0.3 GB/s after ten hours.": "挂载的存储桶看上去像目录，内核会为见过的每个对象保留一条记录。不加限制时，这些记录会占满内存：10 TB 的对象占去 45 GB，十小时后读取速度从 1.2 GB/s 降到 0.3 GB/s。",
    # DS501
    "A Step that no one has defined is waited for, carried from, or sent to.": "等待、跨轮次读取或通信的对象，是没有人定义的 Step。",
    "A Step that waits for a name nobody has waits for ever. Usually the name is misspelt.": "等待一个不存在的名称，会永远等下去。通常是名称写错了。",
    # DS502
    "Two Steps have the same id.": "两个 Step 的 ID 相同。",
    "An id is how others wait for a Step, how its log is named and how a run is resumed. With two of them, whoever says the id may mean either.": "其他 Step 靠 ID 来等待它，日志以 ID 命名，任务恢复时也靠 ID。若有两个相同的 ID，无论谁引用它，两个都有可能。",
    # DS503
    "Steps wait for each other in a circle, and nothing says where to break it.": "各 Step 互相等待成环，而没有写明在哪里切断。",
    "No Step of the circle can ever start. Running them one after the other anyway would quietly change what the job computes, so the contract must say which edge reads the result of the iteration before: `break_cycle: true` with the Step it breaks from. Circles also come about through files, without any `needs`.": "环上的 Step 谁也无法开始。若仍旧一个接一个地运行，就会悄悄改变任务所计算的内容，因此契约必须写明哪条边读取上一轮循环的结果：`break_cycle: true` 以及从哪个 Step 切断。即使没有写 `needs`，也可能因文件而成环。",
    # DS504
    "`break_cycle` or `break_point` has no circle to break, or does not say where.": "`break_cycle` 或 `break_point` 没有可切断的环，或没有写明在哪里切断。",
    "The pair turns one edge of a circle into a read from the iteration before. Where there is no such edge the Step would seem to be safe and is not, or would read stale data for no reason.": "这两个键把环上的一条边变成读取上一轮循环的结果。如果没有这样的边，该 Step 看上去安全其实不然，或会无故读取过期的数据。",
    # DS505
    "A Step has no `timeout`.": "Step 没有 `timeout`。",
    "A Step that hangs (a collective that waits for a lost peer, a download that stalls) holds its GPUs until somebody looks. With a timeout it is stopped, its neighbours go on, and a retry can begin.": "挂起的 Step（等待失联对端的集合通信、停住的下载）会一直占着 GPU，直到有人发现。有了超时，它会被停止，其他 Step 继续运行，也可以开始重试。",
    # DS506
    "More than 12 Steps in one contract.": "一份契约中的 Step 超过 12 个。",
    "Each Step costs a decision, a start and a hand-over. Splitting pays where the resource profile changes (disk to CPU to GPU), not everywhere a function ends; one team's finer split cost 15 %. DSec's own scheduler does not slow down here: in graphs of 1,000 and of 5,000 Steps it took 1.2 to 1.3 ms of CPU per Step started as a process, and 0.1 ms per call into a warm worker (`docs/explanation/scheduling.md`, `benchmarks/RESULTS.md`). So this is a remark, with the bill.": "每个 Step 都要花费一次决策、一次启动和一次交接。在资源画像变化的地方（磁盘到 CPU 到 GPU）拆分才划算，而不是每个函数结束处都拆；某团队拆得过细，损失了 15 %。DSec 自己的调度器在这里不会变慢：在 1,000 和 5,000 个 Step 的图中，以进程启动的 Step 每个耗 1.2 到 1.3 ms 的 CPU，调用常驻 worker 每次 0.1 ms（`docs/explanation/scheduling.md`、`benchmarks/RESULTS.md`）。因此这只是提示，并附上代价。",
    # DS507
    "Two Steps in a row want the same resources: splitting them brings nothing.": "相邻的两个 Step 资源需求相同：拆开没有好处。",
    "Steps are worth their cost where the resource profile changes, for then one can run while the other's resources are taken. Where a Step is followed by just one, with the same demand and the same tolerance level, the split only adds a start and a hand-over; one team's finer split cost 15 %. Calls to a warm worker cost next to nothing and are left alone, and so are Steps that are tried again apart.": "在资源画像变化的地方，Step 的开销才值得，因为一个 Step 可以在另一个的资源被占用时运行。如果一个 Step 之后只跟着一个需求和容错等级都相同的 Step，拆开只是多了一次启动和一次交接；某团队拆得过细，损失了 15 %。调用常驻 worker 几乎没有开销，因此不报告；需要分别重试的 Step 也不报告。",
    # DS508
    "A need that changes nothing: the Step waits for the other one anyway, and reads none of its files.": "不起作用的依赖关系：该 Step 本来就会等待另一个，也不读取它的任何文件。",
    "A graph with edges that say nothing hides the ones that do, and every edge is a reason not to start. Needs are left alone where a file flows along them, and where either Step does not say what it reads or writes.": "图中什么也没有说明的边会掩盖真正起作用的边，而每条边都是一个不能开始的理由。有文件沿着流动的依赖关系不报告；任一 Step 没有写明读写什么时，也不报告。",
    # DS509
    "A communication whose protocol the two ends cannot speak.": "两端都无法使用的通信协议。",
    "NVLink joins GPUs of NVIDIA's that have it, in one machine. Between a card without it and any other, between tasks of which one has no GPU, or with `nvlink_mode: off`, there is no such way, and an all-to-all that waits for it hangs. Cards of two generations have no NVLink between them either; as the seeds leave the choice of a bridge to DSec, that is only mentioned here, and refused where a plan is made. With `--inventory` the links of the given machines decide. Without a `protocol` DSec takes the best there is where both ends are placed.": "NVLink 连接的是同一台机器中带有 NVLink 的 NVIDIA GPU。没有 NVLink 的卡与任何卡之间、有一方没有 GPU 的 task 之间，或 `nvlink_mode: off` 时，都没有这样的通路，等待它的 all-to-all 会挂起。不同代的卡之间也没有 NVLink；由于种子文档把桥接方式交给 DSec 选择，这里只作提示，而在做执行计划时会被拒绝。给出 `--inventory` 时，由所给机器的连接决定。不写 `protocol` 时，DSec 会按两端所在的位置选用现有的最佳通路。",
    # DS510
    "A Step is expected to take so little that starting it is much of its time.": "Step 的预计用时太短，启动占去了其中很大一部分。",
    "A fresh Python with numpy costs 0.13 to 0.18 CPU seconds before its first useful line, so half a second is little for one. DSec itself takes 1.3 ms of CPU to start a process and 0.1 ms for a call into a warm worker (`benchmarks/RESULTS.md`): of Steps shorter than a hundred times that, 130 ms and 10 ms, more than one per cent goes there.": "新启动带 numpy 的 Python，在执行第一行有用的代码之前就要 0.13 到 0.18 CPU 秒，因此半秒对它来说很短。DSec 自身启动一个进程要 1.3 ms CPU，调用一次已启动的 worker 要 0.1 ms（`benchmarks/RESULTS.md`）：短于其一百倍（130 ms 和 10 ms）的 Step，有超过百分之一的时间花在这上面。",
    # DS511
    "Shell syntax in a `run` that no shell reads.": "`run` 中写了 shell 语法，却没有 shell 来解释。",
    "`run: command` is split into words and started as it is, so that arguments arrive unchanged and signals reach the program itself. A pipe, a redirection, `&&`, `$NAME` or `*` then is a plain word that the program gets as an argument. A block (`run: |`) is a script for a shell.": "`run: command` 会被拆成单词并直接启动，这样参数原样传递，信号也直达程序。管道、重定向、`&&`、`$NAME` 或 `*` 因此只是普通的单词，会作为参数传给程序。块（`run: |`）才是交给 shell 的脚本。",
    # DS512
    "A placeholder where none is filled in.": "占位符写在不会替换它的地方。",
    "Only `inputs` and `outputs` have `{run}`, `{iteration}` and `{previous}` filled in. A command gets them as they are, and writes into a folder called `{run}`; what it needs stands in its environment (`DSEC_RUN_DIR`, `DSEC_ITERATION`, `DSEC_CARRIED`), and a call's in its context. Any other name in braces is filled in nowhere.": "只有 `inputs` 和 `outputs` 中的 `{run}`、`{iteration}` 和 `{previous}` 会被替换。命令得到的是原样文本，会写进名为 `{run}` 的目录；它所需的内容在环境变量中（`DSEC_RUN_DIR`、`DSEC_ITERATION`、`DSEC_CARRIED`），调用则在其上下文中。花括号中的其他名称在任何地方都不会被替换。",
    # DS513
    "Two Steps write the same file, and nothing says which one first.": "两个 Step 写同一个文件，而没有写明谁先谁后。",
    "Steps that do not wait for each other run side by side, in an order that differs from run to run. What stands in the file then is the work of whoever came last, or half of each; who reads it cannot tell. One Step that rewrites what another wrote is fine when it waits for it.": "互不等待的 Step 会并行运行，先后次序每次都可能不同。文件里留下的是最后一个的结果，或者两者各一半，读取它的人无从分辨。一个 Step 重写另一个 Step 的文件，只要等它完成就没有问题。",
    # DS514
    "An input in the run's folder is one that no Step writes.": "运行目录中的某个输入没有 Step 写入。",
    "The run's folder is empty when the run begins, so what a Step reads there is another Step's output. An input with the same name makes it wait for that Step; a misspelt one makes it wait for nobody, and it starts before its file is there, or reads what an earlier iteration left.": "运行目录在任务开始时是空的，因此 Step 从中读取的是其他 Step 的输出。名称相同的输入使它等待那个 Step；写错的名称则使它谁也不等，在文件出现之前就开始，或读到上一轮循环留下的内容。",
    # DS515
    "The port at which the processes of a job meet is fixed.": "任务各进程会合的端口是固定的。",
    "The second run on the same machine finds the port taken and dies, or worse, joins the first run. Port 0, or a port that the launcher finds for itself, never collides.": "同一台机器上的第二个任务会因端口被占用而退出，更糟的是误入第一个任务。端口 0 或由启动器自己找到的端口永远不会冲突。",
    # DS516
    "A Step is expected to take longer than its timeout, or its grace period is longer than that.": "Step 的预计时长超过其超时，或宽限期超过超时。",
    "The timeout ends an attempt whatever it has done. A Step that is expected to need more is stopped in every attempt, and each retry is stopped again. A grace period as long as the timeout gives a Step as much time to leave as to work.": "无论做到哪里，超时都会结束这次尝试。预计需要更久的 Step 每次尝试都会被停止，每次重试也一样。宽限期若与超时一样长，Step 用来收尾的时间就与工作的时间一样多。",
    # DS517
    "A launcher starts more processes than the Step has GPUs.": "启动器启动的进程多于该 Step 的 GPU。",
    "Each process of `torchrun`, `deepspeed` or `accelerate` takes a GPU of its own. With fewer GPUs two of them meet on one, which NCCL refuses after everything has been loaded; a tensor-parallel server fails the same way. A Step that states no GPU at all gets none.": "`torchrun`、`deepspeed` 或 `accelerate` 的每个进程独占一张 GPU。GPU 不够时，会有两个进程落在同一张上，而 NCCL 在一切加载完成之后才拒绝；张量并行的服务也会同样失败。完全没有写明 GPU 的 Step 一张也得不到。",
    # DS518
    "A Step chooses its GPUs itself, by `CUDA_VISIBLE_DEVICES`.": "Step 通过 `CUDA_VISIBLE_DEVICES` 自行选择 GPU。",
    "A Step gets the GPUs of its lease, and DSec sets `CUDA_VISIBLE_DEVICES` to their UUIDs when it starts it. A value in `env` is overwritten, so it has no effect; one in the command wins, and the Step runs on GPU 0 while its lease is for another: two Steps meet on one card, and the second is out of memory.": "Step 得到的是租赁给它的 GPU，DSec 启动它时会把 `CUDA_VISIBLE_DEVICES` 设为这些 GPU 的 UUID。写在 `env` 中的值会被覆盖，因此不起作用；写在命令中的值则会生效，于是 Step 运行在 GPU 0 上，而租赁给它的是另一张：两个 Step 落在同一张卡上，后来的显存不足。",
    # DS519
    "A Step states layers by which it cannot be split.": "Step 所写的 layers 无法用来切分。",
    "Layers are stated so that a Step which fits no single device is cut into parts, whose outputs an AllReduce Step makes into one. That takes a Step on one GPU, outputs that can be put together, and memory that its layers fit in; else the plan is refused on the first machine whose devices are too small.": "写 layers，是为了在没有单个设备放得下该 Step 时把它切成几部分，再由一个 AllReduce Step 把各部分的输出合为一个。这要求 Step 只用一个 GPU、输出能够合并、显存放得下各层；否则，一到设备太小的机器上，执行计划就会被拒绝。",
    # DS520
    "Sizes that a command gives to its training framework do not go together.": "命令交给训练框架的各个大小彼此不相容。",
    "Batches must fall into whole groups and whole shares of a GPU, and where policy and inference engines share their GPUs both must ask for as many. The framework works that out when models are loaded, minutes into the run, or not at all. Looked at are options and `key=value` words of verl, SkyRL and TRL; what a command does not state is not guessed.": "批次必须能整除成组，并能平均分到每张 GPU；策略与推理引擎共用 GPU 时，两者要求的数量必须相同。框架要到模型加载时（运行几分钟之后）才算出来，甚至根本不算。这里查看的是 verl、SkyRL 和 TRL 的选项以及 `key=value` 形式的词；命令没有写明的不作猜测。",
    # DS601
    "A secret is written out in the contract.": "密钥以明文写在契约中。",
    # DS602
    "An egress rule with a wildcard, or without ports.": "带通配符或没有写端口的出站规则。",
    "What an agent's tool may call is listed so that a tool that goes astray, or is led astray, reaches nothing else. A wildcard allows names that nobody has thought of; a rule without ports allows every service on the host.": "列出智能体的工具可以访问什么，是为了让出错的或被诱导的工具到达不了别处。通配符会放行没有人想到过的名称；不写端口的规则会放行该主机上的所有服务。",
    # DS603
    "Egress is allowed by name, but the job may not read what names are resolved with.": "按名称放行了出站访问，任务却不可读取解析域名所需的文件。",
    "Before a name can be called it is looked up, and the look-up begins by opening `/etc/resolv.conf`. A sandbox that refuses this file makes nine of ten calls time out, although a test by hand from outside works.": "访问一个域名之前要先解析，而解析首先要打开 `/etc/resolv.conf`。沙箱若拒绝这个文件，十次调用有九次会超时，而从外部手工测试却一切正常。",
    # DS604
    "`write_allowed` covers the root, somebody's home or the system.": "`write_allowed` 包括了根目录、用户主目录或系统目录。",
    "What may be written may be destroyed, and what starts at the next login or boot may be changed. A job writes to its output and to `/tmp`; whoever lists `/` has switched the sandbox off.": "可写的内容就可能被破坏，下次登录或开机时启动的内容也可能被改动。任务写的是自己的输出和 `/tmp`；列出 `/` 就等于关闭了沙箱。",
    # DS605
    "A plugin asks for root, or for everything of a kind.": "插件申请 root 权限，或某一类的全部权限。",
    "A plugin is somebody else's code in your job. It gets what it declares, so it declares what it needs: `read:redis`, `write:s3`. One that asks for root is refused by the sandbox, and the job waits for ever.": "插件是你的任务中别人的代码。它会得到它声明的权限，因此应只声明所需的：`read:redis`、`write:s3`。申请 root 的插件会被沙箱拒绝，任务则会无限等待。",
    # DS606
    "A plugin's manifest names no signature, or an entry point that is no shared object.": "插件清单没有写签名，或入口不是共享库。",
    "A plugin's signature is checked before it is loaded, so that it comes from somebody you trust. Without one there is nothing to check. Its Steps are executed by a shared object; a script in its place cannot be loaded. Whether the files are really there is for `ds-plugin-scan` to see.": "插件的签名在加载之前校验，以确认它来自你信任的人。没有签名就没有可校验的内容。它的 Step 由共享库执行；换成脚本则无法加载。文件是否真的存在，由 `ds-plugin-scan` 检查。",
    # DS607
    "`heap_protection` is on, and nothing says whether the job may shrink its heap.": "启用了 `heap_protection`，却没有写明任务可否收缩堆。",
    "The C library gives memory back by `malloc_trim`, which moves the program break. Heap protection before version 1.3.5 takes that for an attack and kills the tool: its pipe closes, and the caller reads an empty answer.": "C 库通过 `malloc_trim` 归还内存，这会移动 program break。1.3.5 之前的堆保护会把它当作攻击而杀掉工具：管道关闭，调用方读到空的结果。",
    # DS608
    "A secret is fetched from a vault, and nothing says how long it stays valid.": "密钥取自 vault，却没有写明有效多久。",
    "What is fetched at the start of a run is a copy. Without a `ttl` it is used until the run ends, days after the vault has changed or withdrawn it.": "任务开始时取到的是一份副本。没有 `ttl` 时，它会一直用到任务结束，而 vault 可能早在几天前就已更换或收回了它。",
    # DS609
    "A folder is mounted that the job may not read, or mounted for writing and may not be written.": "挂载了任务不可读的目录，或以可写方式挂载了不可写的目录。",
    "Mounts and file rules are two lists that must agree: what is not listed is refused. A mount that is missing in the rules is there, and every attempt to open something in it fails.": "挂载和文件规则是必须一致的两张清单：没有列出的会被拒绝。规则中漏掉的挂载虽然存在，但打开其中任何文件都会失败。",
    # DS701
    "A policy's condition names a metric that DSec does not have.": "策略的条件使用了 DSec 没有的指标。",
    "A condition on a metric that nobody reports never holds, so what the policy was meant to prevent happens. Names that begin with `dsec_` are ours; a misspelt one is found here. What your own Steps report has other names, and is only doubted when it is nearly one of ours.": "没有人上报的指标，其条件永远不会成立，策略本要防止的事就会发生。以 `dsec_` 开头的名称是 DSec 的指标，写错的会在这里发现。你自己的 Step 上报的指标另有名称，只有与 DSec 的某个指标极为相近时才会提出疑问。",
    # DS702
    "Two policies change the same threshold in opposite directions.": "两条策略把同一个阈值往相反的方向改变。",
    "When both conditions hold, each undoes what the other has just done, and the threshold swings to and fro for as long as they do: the worst of both, with a history that nobody can read.": "两个条件同时成立时，各自都会抵消对方刚做的动作，阈值就会来回摆动：两头都不讨好，留下的记录也没有人看得懂。",
    # DS801
    "The agent's code calls a host that the contract does not allow.": "智能体的代码访问了契约没有放行的主机。",
    "What `security_policy.network.egress` does not list is refused, so the call fails when the job has run for an hour, or the policy is opened for everything to make it work. The code says what it calls; the fix is the entry that allows that and no more.": "`security_policy.network.egress` 没有列出的都会被拒绝，于是任务运行一小时后调用失败，或者为了让它能用而把策略全部放开。代码说明了它访问什么；修复就是恰好放行它的那一条。",
    # DS802
    "The agent's code reads an environment variable that the contract does not give.": "智能体的代码读取了契约没有提供的环境变量。",
    "The variable is set on the machine of whoever wrote the code, and nowhere else. A secret that the contract names by reference is there on every machine, expires, and is never written down.": "这个变量只在写代码的人的机器上设置过。契约以引用写明的密钥则在每台机器上都有，会过期，而且从不落到文件里。",
    # DS803
    "The agent's code touches files outside what the contract allows.": "智能体的代码访问了契约允许范围之外的文件。",
    "What `security_policy.filesystem` does not list is refused, and a write into a read-only mount fails. Both show only when the code gets there.": "`security_policy.filesystem` 没有列出的都会被拒绝，写入只读挂载会失败。这两种情况都要等代码运行到那里才会暴露。",
    # DS804
    "The agent's code starts programs, or runs text or data as code.": "智能体的代码会启动程序，或把文本、数据当作代码执行。",
    "A program that is started has the job's rights, and what it calls is not in the Python that was read. Where a model chooses the command or the text, whoever can talk to the model can run what they like.": "被启动的程序拥有任务的全部权限，而它又调用什么，不在已读取的 Python 之中。如果命令或文本由模型决定，那么凡能与模型对话的人，都可以运行他想运行的内容。",
    # DS805
    "The contract allows a host, a path or a secret that the agent's code does not use.": "契约放行了智能体的代码并不使用的主机、路径或密钥。",
    "A permission that is not needed only helps whoever breaks in, and the next reader takes it for needed.": "用不到的权限只会方便入侵者，后来的人还会以为它是必需的。",
    # DS806
    "Something that the agent's code needs could not be known by reading it.": "智能体代码的某项需求，仅靠阅读代码无法得知。",
    "What is computed while the code runs cannot be held against the contract. That is said, with the places and the reason, so that nobody takes silence for a proof.": "运行时才计算出来的内容无法与契约对照。这里会说明位置和原因，以免有人把沉默当作证明。",
    # DS807
    "The agent's code listens on a fixed port.": "智能体的代码监听固定的端口。",
    "Two runs on one machine cannot both have the port, and the second fails or talks to the first. On `0.0.0.0` every machine that reaches this one can call it.": "同一台机器上的两个任务不能同时占用这个端口，第二个会失败，或连到第一个上。监听 `0.0.0.0` 时，凡能连到本机的机器都可以调用它。",
    # DS901
    "A suppression comment that suppresses nothing.": "不起作用的豁免注释。",
    "The finding it was written for is gone, or the comment stands where it binds to something else. Left there, it would silently swallow the next real finding at its place.": "它所针对的问题已经消失，或注释所在的位置对应的是别的内容。留在那里，它会悄悄吞掉此处下一个真正的问题。",
    # DS902
    "A suppression comment that names no code, or one that no rule has.": "豁免注释没有写规则代码，或写了不存在的代码。",
    "It suppresses nothing, while its author believes that it does. A comment without a code would suppress everything, also what nobody has seen yet, so a code must be named.": "它不起作用，而作者以为它起作用。不写代码的注释会豁免一切，包括还没有人见过的问题，因此必须写明代码。",
    # DS903
    "A suppression comment that does not say why.": "豁免注释没有写明原因。",
    "Whoever meets it later cannot know whether it still holds. The reason stands behind the code, in one line.": "后来的人无法判断它是否仍然成立。原因写在代码之后，一行即可。",
    # DS904
    "A suppression whose last day is over, or is no day at all; what it hid is shown again.": "豁免已过最后一天，或写的根本不是日期；它所隐藏的问题会重新显示。",
    "Who writes `until=` means to come back. From the day after, the comment suppresses nothing, so that the exception does not outlive its reason unseen.": "写 `until=` 的人是打算回来处理的。过了那一天，注释就不再起作用，以免例外在无人察觉的情况下比它的理由活得更久。",
    # DS905
    "A suppression that is not read: it stands inside a text, or says something that DSec does not know.": "没有生效的豁免：它写在文本之内，或写了 DSec 不认识的内容。",
    "In YAML a `#` inside a block of text, or right behind a value, is part of that text and no comment. What stands there suppresses nothing, while its author believes that it does; so does a comment with a misspelt order.": "在 YAML 中，文本块之内的或紧跟在值后面的 `#` 是文本的一部分，而不是注释。写在那里的豁免不起作用，而作者以为它起作用；指令写错的注释也是如此。",
    # DS998
    "A rule took too long on this file and was stopped; all other rules have been run.": "某条规则在这个文件上耗时过长而被停止；其他规则都已运行。",
    "A linter that hangs stops everything that waits for it. A rule has 2 seconds of processor time per file; what one that was stopped would have said about this file is not known. It is a fault of DSec, not of the contract.": "挂起的检查器会让等待它的一切都停下来。每条规则在每个文件上有 2 秒的 CPU 时间；被停止的规则对这个文件会报告什么，无从得知。这是 DSec 的错误，与契约无关。",
    # DS999
    "A rule of the linter failed on this file; all other rules have been run.": "某条规则在这个文件上出错；其他规则都已运行。",
    "One broken rule must not hide what the others find. The finding says which rule it was and how it failed; what that rule would have said about this file is not known. It is a fault of DSec, not of the contract.": "一条坏的规则不应掩盖其他规则的发现。这里会写明是哪条规则、怎样出错；该规则对这个文件会报告什么，无从得知。这是 DSec 的错误，与契约无关。",
    "A contract has no interpolation. `OPENAI_API_KEY: ${OPENAI_API_KEY}` hides the real key behind these letters, and the Step is refused by the service an hour later. A variable of the environment that a run is started in is named by its source; in a script (`run: |`) the shell expands it. The same holds for `$(command)`, for `%NAME%`, and for the `{{ ... }}` of templates.": "契约没有变量插值。`OPENAI_API_KEY: ${OPENAI_API_KEY}` 会用这串字符盖住真正的密钥，一小时后 Step 才被服务拒绝。启动运行的环境中的变量用 source 指明；在脚本（`run: |`）中由 shell 展开。`$(command)`、`%NAME%` 和模板的 `{{ ... }}` 也是如此。",
    "A contract is committed, copied, logged and put into snapshots. A secret in it is known to everyone who ever reads one of those, and stays in the history when the line is gone. A reference (`source: vault://...`, `source: env://NAME`) names where it is, and is never stored.": "契约会被提交、复制、写入日志、放进快照。其中的密钥会被每个看到过它们的人得到，即使删掉那一行，也仍留在历史中。引用（`source: vault://...`、`source: env://NAME`）只说明密钥在哪里，密钥本身从不保存。",
    "A variable in a place where nothing is expanded: the Step gets the letters `${NAME}`.": "变量写在了不做展开的地方：Step 得到的就是 `${NAME}` 这几个字符。",
    "An import left something open that is not settled yet.": "导入时留下的待处理项尚未处理。",
    "`dsec import` writes what the other file says. What a run cannot do without and the file does not say (a command that only the image has, a variable whose value is elsewhere, a server that others wait for) stands in a comment at the top, and the contract would fail without it. Write what is missing, then take the line out.": "`dsec import` 写下原文件所说的内容。运行必需而原文件没有说明的（只在镜像里的命令、值在别处的变量、别人等待的服务）写在文件开头的注释里，缺了它契约就会失败。补上所缺的内容后，删除那一行。",
    "A Step asks for a GPU type that the baseline excludes.": "某个 Step 要求的 GPU 型号被基线排除在外。",
    "GPU types are matched strictly. The baseline says which cards the job holds; a Step that wants another type gets none of them, and waits for cards that the job never asked for.": "GPU 型号按硬匹配处理。基线说明任务持有哪些卡；要求另一种型号的 Step 一张也得不到，只能等待任务从未申请过的卡。",
    "A Step gets the GPUs that its `resources` state, and none if they state none: the baseline only says what the job holds. Such a job runs on the processor, or fails at the first CUDA call, while its GPUs idle.": "Step 得到的是其 `resources` 写明的 GPU，没有写明就没有：基线只说明任务持有什么。这样的任务会在 CPU 上运行，或在第一次调用 CUDA 时失败，而它的 GPU 一直闲置。",
    "The baseline holds GPUs, but no Step asks for one.": "基线持有 GPU，但没有一个 Step 申请 GPU。",
    "A Step holds more GPUs than its command uses.": "Step 占用的 GPU 多于其命令所用。",
    "A launcher starts as many processes as it is told, and each uses one GPU. The other GPUs of the Step are held, paid for and idle, and no other Step gets them.": "启动器按给定的数目启动进程，每个进程用一张 GPU。该 Step 的其余 GPU 被占用、计费却闲置，别的 Step 也得不到。",
    "A Step holds tokens that the contract does not declare, or more than there are.": "Step 占用契约没有声明的令牌，或多于现有的令牌。",
    "`tokens` counts what only so many Steps may hold at a time: licences, seats, calls of a service. A Step that asks for a token nobody declared, or for more than the contract has, can never start.": "`tokens` 统计同一时间只能由有限个 Step 占用的东西：许可证、席位、服务调用。要求未声明的令牌，或要求多于契约所有的 Step，永远无法启动。",
    "A file holds more than one contract.": "一个文件中有多份契约。",
    "`dsec plan` and `dsec run` read one contract of a file. The others would be checked, and then left out in silence.": "`dsec plan` 和 `dsec run` 只读取文件中的一份契约。其余的会被检查，然后被悄悄忽略。",
    "The next iteration overwrites a file while this one may still use it.": "本轮循环可能还在使用某个文件，下一轮就把它覆盖了。",
    "Iterations overlap as far as edges, `max_staleness` and `in_flight` permit. A file without `{iteration}` in its name is one file for all of them: a Step of the next iteration writes it again before the readers of this one have finished, and they compute with the wrong data. Nothing fails.": "只要依赖边、`max_staleness` 和 `in_flight` 允许，各轮循环就会重叠。名称中没有 `{iteration}` 的文件由各轮共用：下一轮的 Step 在本轮的读取者完成之前就再次写入，读取者于是用错误的数据计算，而没有任何报错。",
    "A command whose program is a misspelt interpreter or launcher, or `-m` with a file in place of a module.": "命令的程序是拼错的解释器或启动器，或 `-m` 后面写的是文件而不是模块。",
    'The Step ends at once with "not found" or "No module named", after the Steps before it have used their hours.': "前面的 Step 已经用去数小时，这个 Step 却立即以“not found”或“No module named”结束。",
    "A script that no shell can read: a word that opens something and is not closed, or a quote without its end.": "任何 shell 都读不懂的脚本：有开头的词没有闭合，或引号没有结尾。",
    "A shell reads a script as it goes. It runs all commands before the fault, for hours perhaps, and then ends the Step with a syntax error.": "shell 边读脚本边执行：它先执行出错处之前的全部命令，也许要几个小时，然后以语法错误结束该 Step。",
    "A script for bash is read by sh, which does not understand it.": "bash 的脚本由不认识它的 sh 读取。",
    "`[[ ... ]]`, `source`, arrays or `set -o pipefail` are bash. Where /bin/sh is dash, as on Debian and Ubuntu, the Step ends at the first of them, with a message that names neither the shell nor the line. Scripts are read by bash where it is installed; `shell: sh` says otherwise, and a `checkpoint_cmd` is always read by sh.": "`[[ ... ]]`、`source`、数组、`set -o pipefail` 都是 bash 的写法。/bin/sh 是 dash 时（如 Debian 和 Ubuntu），Step 会停在第一处，而错误信息既不提 shell，也不提行号。装有 bash 时脚本由 bash 读取；写了 `shell: sh` 则不然，`checkpoint_cmd` 总是由 sh 读取。",
    "A Step works in a folder outside the contract's.": "Step 在契约文件夹之外的文件夹中工作。",
    "Snapshots take along the contract's folder, and a plan is moved with it. A Step that works in `../other` runs code that no snapshot holds, and does not run at all where that folder is missing.": "快照带上的是契约所在的文件夹，计划也随它移动。在 `../other` 中工作的 Step 运行的是快照中没有的代码，而在没有该文件夹的机器上根本无法运行。",
    "A script of several commands stands below `run: >`, which folds its lines into one.": "多条命令的脚本写在 `run: >` 之下，各行被折叠成一行。",
    "`>` joins lines by blanks, so the second command becomes arguments of the first one. `|` keeps the lines.": "`>` 用空格把各行连起来，于是第二条命令成了第一条的参数。`|` 保留换行。",
}
