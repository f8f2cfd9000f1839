"""Secrets of many kinds and what only looks like them; made when asked for, so that none stands in a file."""

from __future__ import annotations

import base64
import json
import random
import string

DIGITS, LOWER, UPPER = string.digits, string.ascii_lowercase, string.ascii_uppercase
ALNUM = DIGITS + LOWER + UPPER
HEX = "0123456789abcdef"


class Made:
    """Values drawn from a seed."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)

    def __call__(self, size: int, alphabet: str = ALNUM) -> str:
        """With digits among them, as nearly all that are drawn have."""
        while True:
            value = "".join(self._chance.choice(alphabet) for _ in range(size))
            if sum(char in DIGITS for char in value) >= 3 or alphabet == UPPER + LOWER:
                return value

    def uuid(self) -> str:
        return "-".join(self(size, HEX) if size > 4 else self(8, HEX)[:size] for size in (8, 4, 4, 4, 12))


def secrets(seed: int = 1) -> list[tuple[str, str, str]]:
    """(file, text, secret) of each kind."""
    m = Made(seed)
    rows: list[tuple[str, str, str]] = []

    def bare(prefix: str, size: int, alphabet: str = ALNUM) -> None:
        """A token whose form tells it, wherever it stands."""
        value = prefix + m(size, alphabet)
        name, text = _SCENES[len(rows) % len(_SCENES)]
        rows.append((name, text.replace("@@", value), value))

    for prefix, size, alphabet in _TOKENS:
        bare(prefix, size, alphabet)
    for name, text in _BY_NAME:
        value = m(28)
        rows.append((name, text.replace("@@", value), value))
    for number, (name, text) in enumerate(_WITH_PASSWORDS):
        password = _PASSWORDS[number % len(_PASSWORDS)]
        rows.append((name, text.replace("@@", password), password))
    rows += _addresses(m) + _keys(m) + _cut(m) + _encoded(m)
    return rows


_SCENES = (
    ("a.py", 'client = connect("@@")\n'),
    ("notes.md", "use @@ for now\n"),
    ("a.ipynb", '{"source": ["login(\\"@@\\")\\n"]}'),
    ("a.yaml", "env:\n  - value: @@\n"),
    ("run.sh", "export X=@@\n"),
    ("log.txt", "2026-01-01 12:00 sent @@, got 200\n"),
    ("a.json", '{"a": ["@@"]}\n'),
    ("a.go", "const c = `@@`\n"),
)
_TOKENS = (
    ("sk-" + "proj-", 40, ALNUM),
    ("sk-" + "ant-api03-", 60, ALNUM + "-_"),
    ("sk-" + "or-v1-", 64, HEX),
    ("sk-", 48, ALNUM),
    ("gs" + "k_", 52, ALNUM),
    ("xa" + "i-", 80, ALNUM),
    ("pp" + "lx-", 48, ALNUM),
    ("r8" + "_", 37, ALNUM),
    ("tgp" + "_v1_", 43, ALNUM),
    ("jin" + "a_", 60, ALNUM),
    ("tvl" + "y-", 32, ALNUM),
    ("lsv2" + "_pt_", 32, HEX),
    ("pcs" + "k_", 60, ALNUM),
    ("nvap" + "i-", 64, ALNUM + "-_"),
    ("h" + "f_", 34, ALNUM),
    ("e2" + "b_", 40, HEX),
    ("gh" + "p_", 36, ALNUM),
    ("gh" + "s_", 36, ALNUM),
    ("github" + "_pat_", 82, ALNUM),
    ("glpa" + "t-", 20, ALNUM),
    ("glr" + "t-", 20, ALNUM),
    ("gld" + "t-", 20, ALNUM),
    ("AK" + "IA", 16, UPPER + "234567"),
    ("AS" + "IA", 16, UPPER + "234567"),
    ("AI" + "za", 35, ALNUM + "-_"),
    ("GOC" + "SPX-", 28, ALNUM),
    ("ya2" + "9.", 60, ALNUM + "-_"),
    ("LTA" + "I", 20, ALNUM),
    ("xox" + "b-", 44, ALNUM + "-"),
    ("xap" + "p-1-", 60, ALNUM + "-"),
    ("sk_" + "live_", 24, ALNUM),
    ("whse" + "c_", 32, ALNUM),
    ("shpa" + "t_", 32, HEX),
    ("np" + "m_", 36, ALNUM),
    ("pypi" + "-AgEIcHlwaS5vcmc", 70, ALNUM + "-_"),
    ("rubygem" + "s_", 48, HEX),
    ("dckr" + "_pat_", 27, ALNUM),
    ("ATA" + "TT3xFfGF0", 80, ALNUM + "-_"),
    ("S" + "G.", 66, ALNUM + "-_"),
    ("xkey" + "sib-", 64, HEX),
    ("dop" + "_v1_", 64, HEX),
    ("dap" + "i", 32, HEX),
    ("hv" + "s.", 95, ALNUM + "-_"),
    ("dp." + "pt.", 43, ALNUM),
    ("pu" + "l-", 40, HEX),
    ("PMA" + "K-", 59, HEX),
    ("lin_" + "api_", 40, ALNUM),
    ("figd" + "_", 40, ALNUM + "-_"),
    ("gls" + "a_", 41, ALNUM),
    ("NRA" + "K-", 27, UPPER + DIGITS),
    ("sntry" + "u_", 64, HEX),
    ("sbp" + "_", 40, HEX),
    ("pscale" + "_tkn_", 43, ALNUM),
    ("tske" + "y-auth-", 40, ALNUM),
    ("S" + "K", 32, HEX),
    ("dt0c" + "01.", 88, ALNUM),
)
_BY_NAME = (
    ("a.py", 'OPENAI_API_KEY = "@@"\n'),
    ("a.py", 'client = Client(api_key="@@", timeout=3)\n'),
    ("a.py", 'os.environ["WANDB_API_KEY"] = "@@"\n'),
    ("a.py", 'API_KEY_PROD = "@@"\n'),
    ("a.py", 'self.auth_token: str = "@@"\n'),
    ("a.ts", "const clientSecret = '@@';\n"),
    ("a.yaml", "database:\n  password: @@\n"),
    ("a.toml", 'secret_key = "@@"\n'),
    (".env", "ANYTHING=@@\n"),
    ("a.sh", "curl -H 'Authorization: Bearer @@' https://h\n"),
    ("a.sh", "python t.py --api-key @@ --lr 3\n"),
    ("a.xml", "<accessToken>@@</accessToken>\n"),
    ("a.ini", "session_key=@@\n"),
    ("a.tf", 'admin_password = "@@"\n'),
    ("Dockerfile", "ENV DB_PASSWORD=@@\n"),
    ("Dockerfile.gpu", "ARG API_TOKEN=@@\n"),
    ("a.bat", "set API_TOKEN=@@\n"),
    ("a.py", 'api_key = (\n    "@@"\n)\n'),
    ("a.py", "API_KEYS = [\n    '@@',\n]\n"),
    ("a.yaml", "api_key: |\n  @@\n"),
    ("a.yaml", "password: >-\r\n  @@\r\n"),
    ("a.yaml", "api_keys:\n  - first\n  - @@\n"),
    ("a.json", '{"api_key":\n  "@@"}\n'),
    ("a.py", 'u = "Server=h;User Id=joe;Password=@@;"\n'),
    ("a.sh", "mysql -ujoe -p@@ db\n"),
    ("a.sh", "docker login -u joe -p @@\n"),
    ("a.sh", "sshpass -p '@@' ssh h\n"),
    ("a.sh", "echo @@ | docker login --password-stdin\n"),
    ("a.sh", "wandb login --relogin @@\n"),
    ("a.ipynb", '{"outputs": [{"text": ["id 1\\n", "AWS_SECRET_ACCESS_KEY = @@\\n"]}]}'),
    ("a.py", "t = 'a\\n" + "gh" + "p_@@aB3dE5fG'\n"),
    ("a.json", '{"a": "id\\n' + "np" + 'm_@@aB3dE5fG\\n"}'),
    ("a.sh", "python t.py +wandb.api_key=@@ lr=1e-3\n"),
    (".envrc", "layout python\nexport SERVICE_CRED='@@'\n"),
    ("ops/.envrc", 'export DB_PASS="aB3!@@"\n'),
    (".env", "# TOKEN=@@\nX=1\n"),
    ("a.py", 'parser.add_argument("--api-key", default="@@")\n'),
    ("a.py", 'parser.add_argument("--api-key", type=str, help="a (long) one", default="@@")\n'),
    ("a.py", 'p.add_argument(\n    "-k",\n    "--auth-token",\n    type=str,\n    default="@@",\n)\n'),
    ("a.py", '@click.option("--token", envvar="T", default="@@")\n'),
    ("a.sh", "kubectl create secret generic db --from-literal=user=joe --from-literal=password=@@\n"),
    ("a.py", 'run(["kubectl", "create", "secret", "--from-literal", "password=@@"])\n'),
    ("a.sh", "helm install x ./x --set image.tag=v1,auth.password=@@\n"),
    ("a.sh", "docker run --verbose --rm -e API_KEY=@@ image\n"),
    ("a.sh", "t --verbose --password @@\n"),
    ("a.tf", 'variable "db_password" { default = "@@" }\n'),
    ("a.tf", 'variable "db_password" {\n  type        = string\n  default     = "@@"\n}\n'),
    ("a.yaml", "Parameters:\n  DBPassword:\n    Type: String\n    NoEcho: true\n    Default: @@\n"),
    ("a.yaml", "env:\n  - name: API_KEY\n    # from the vault\n    value: @@\n"),
    ("Info.plist", "<key>ApiToken</key><string>@@</string>\n"),
    ("Info.plist", "<dict>\n\t<key>Password</key>\n\t<string>@@</string>\n</dict>\n"),
    ("core-site.xml", "<name>fs.secret.key</name>\n<value>@@</value>\n"),
    ("a.py", 'API_KEYS = ["first", "@@"]\n'),
    ("a.py", "PASSWORDS: tuple[str, ...] = ('hunter2x', '@@')\n"),
    ("a.py", 'PASSWORDS = {"joe": "hunter2x", "ann": "@@"}\n'),
    ("a.yaml", "api_keys: [abc, @@]\n"),
    ("A.java", 'List<String> apiKeys = List.of("abc", "@@");\n'),
    ("a.json", '{"api_keys": ["first", "@@"]}\n'),
    ("Dockerfile", "RUN login \\\n --password=aB3\\\n@@\n"),
    ("a.yaml", 'password: "aB3dE5\\\n  @@"\n'),
    ("a.py", 'api_key = ("aB3dE5"  # one\n    # two\n    "@@")\n'),
)


_PASSWORDS = ("Tr0ub4dor&3", "xK9#mP2$vL", "s3cr3tP@ssw0rd!x", "Summer2024!q", "p4ssw0rd-Zeus7")
_WITH_PASSWORDS = (
    ("x.py", "c = connect('DRIVER={ODBC 17};SERVER=h;UID=sa;PWD=@@')\n"),
    ("x.py", 'connect("host=h dbname=app user=joe password=@@")\n'),
    ("setup.sh", "echo 'machine api.h login user password @@' >> ~/.netrc\n"),
    ("Dockerfile", "RUN printf 'machine h\\n  login x\\n  password @@\\n' > /root/.netrc\n"),
    ("init.sh", "echo 'db.corp:5432:app:joe:@@' > ~/.pgpass\n"),
    ("all.yml", "ansible_become_pass: @@\n"),
    ("hosts.ini", "h1 ansible_host=10.0.0.2 ansible_ssh_pass=@@\n"),
    ("users.csv", "user,password\njoe,@@\n"),
    ("hibernate.cfg.xml", '<property name="hibernate.connection.password">@@</property>\n'),
    ("A.java", 'ds.setPassword("@@");\n'),
    ("a.sh", "ldapsearch -D cn=admin -w '@@' -H ldap://h\n"),
    ("a.sh", "openssl rsa -in k.pem -passin pass:@@ -out x\n"),
    ("a.sh", "keytool -importkeystore -deststorepass @@ -v\n"),
    ("a.sh", "mongosh --host h -u root -p @@\n"),
    ("a.sh", "sqlcmd -S h -U sa -P '@@' -Q 'select 1'\n"),
    ("init.sql", "CREATE USER app WITH PASSWORD '@@';\n"),
    ("init.sql", "ALTER USER 'root'@'%' IDENTIFIED BY '@@';\n"),
    ("a.sh", "htpasswd -bc f joe @@\n"),
    ("a.sh", "echo 'root:@@' | chpasswd\n"),
    ("a.ps1", 'ConvertTo-SecureString "@@" -AsPlainText -Force\n'),
)


def _addresses(m: Made) -> list[tuple[str, str, str]]:
    slack, discord, telegram = f"T{m(10)}/B{m(10)}/{m(24)}", f"{m(18, '123456789')}/{m(68)}", m(33, ALNUM)
    password, feishu, dingtalk, teams, sas = m(14), m.uuid(), m(64, HEX), f"{m.uuid()}@{m.uuid()}", m(44)
    return [
        ("a.py", f"U = 'https://hooks.{'slack'}.com/services/{slack}'\n", slack),
        ("a.py", f"U = 'https://{'discord'}.com/api/webhooks/{discord}'\n", discord),
        ("a.py", f"T = '123456789:{'A' + 'A'}{telegram}'\n", telegram),
        ("a.py", f"u = 'https://api.telegram.org/bot123456789:{'A' + 'A'}{telegram}/getMe'\n", telegram),
        ("a.py", f"u = 'https://open.feishu.cn/open-apis/bot/v2/hook/{feishu}'\n", feishu),
        ("a.py", f"u = 'https://oapi.dingtalk.com/robot/send?access_token={dingtalk}'\n", dingtalk),
        ("a.py", f"u = 'https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={feishu}'\n", feishu),
        (
            "a.md",
            f"https://x.webhook.office.com/webhookb2/{teams}/IncomingWebhook/{m(32, HEX)}/{m.uuid()}\n",
            teams,
        ),
        ("a.yaml", f"url: postgresql://trainer:{password}@db:5432/x\n", password),
        ("a.yaml", f"url: redis://:{password}@cache:6379\n", password),
        ("a.py", f"u = 'mongodb+srv://joe:{password}@h.mongodb.net'\n", password),
        ("a.cfg", f"remote = https://{'gh' + 'p_'}{m(36)}@github.com/a/b.git\n", "gh" + "p_"),
        ("a.md", f"https://x.blob.core.windows.net/c?sv=2020&sig={sas}%3D&se=1\n", sas),
        ("a.py", f"C = 'AccountName=x;AccountKey={m(86)}==;EndpointSuffix=core.windows.net'\n", "=="),
    ]


def _keys(m: Made) -> list[tuple[str, str, str]]:
    lines = [m(64, ALNUM + "+/") for _ in range(6)]
    pem = "\n".join(
        [f"-----BEGIN {'RSA PRIVATE'} KEY-----", *lines, f"-----END {'RSA PRIVATE'} KEY-----", ""]
    )
    jwt = (
        ".".join(
            base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
            for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": m(10), "iat": 1_700_000_000})
        )
        + f".{m(43, ALNUM + '-_')}"
    )
    aws, private, fernet = m(40, ALNUM + "/+"), m(43, ALNUM + "-_"), f"{m(43, ALNUM + '-_')}="
    channel, ssh2 = f"jo-{m.uuid()}", f"---- BEGIN SSH2 ENCRYPTED {'PRIVATE'} KEY ----\\n{m(60)}\\n"
    return [
        ("a.py", f'K = """{pem}"""\n', lines[3]),
        ("a.json", json.dumps({"private_key": pem}), lines[3]),
        (
            "a.yaml",
            f"tls.key: {base64.b64encode(pem.encode()).decode()}\n",
            base64.b64encode(pem.encode()).decode()[60:120],
        ),
        ("id.txt", pem.replace("RSA PRIVATE", "OPENSSH PRIVATE"), lines[3]),
        ("a.py", f'fetch("{jwt}")\n', jwt),
        ("jwk.json", json.dumps({"kty": "EC", "x": m(43), "y": m(43), "d": private}), private),
        ("a.py", f"f = Fernet(b'{fernet}')\n", fernet),
        (".condarc", f"channels:\n  - https://conda.corp/t/{channel}/x\n", channel),
        ("k.txt", ssh2, ssh2[40:80]),
        ("app.service", f"[Service]\nEnvironment=SIGNING_SECRET={aws}\n", aws),
        ("users.csv", f"name,api_key,age\njoe,{private},3\n", private),
        (
            "a.cfg",
            f"aws_access_key_id = {'AK' + 'IA'}{m(16, UPPER + '234567')}\naws_secret_access_key = {aws}\n",
            aws,
        ),
        (
            "a.txt",
            f"{'AGE-SECRET' + '-KEY-1'}{m(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}\n",
            "AGE-SECRET" + "-KEY-1",
        ),
    ]


def _cut(m: Made) -> list[tuple[str, str, str]]:
    """Values that are cut into adjacent literals."""
    one, two = m(20), m(20)
    github = "gh" + "p_"
    return [
        ("a.py", f'T = "{github}{one}" "{two}"\n', one),
        ("b.py", f'T = "{github}{one}" "{two}"\n', two),
        ("a.py", f"T = (\n    '{github[:2]}'\n    '{github[2:]}{one}'\n    '{two}'\n)\n", two),
        ("a.py", f'T = "{github}{one}" + "{two}"\n', two),
        ("a.js", f"const t = '{github}' +\n  '{one}{two}';\n", two),
        ("a.py", f'api_key = "{one}" "{two}"\n', two),
        ("a.sh", f'T={github}"{one}{two}"\n', two),
    ]


def _encoded(m: Made) -> list[tuple[str, str, str]]:
    """Values within a text in base 64."""

    def code(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    github = code(f"{'gh' + 'p_'}{m(36)}")
    login = json.dumps({"auths": {"ghcr.io": {"auth": code("joe:hunter2x")}}})
    rows = [("a.py", f'x = b64decode("{github}")\n', github), ("config.json", login, code("joe:hunter2x"))]
    plains = (
        f"u={'gh' + 'p_'}{m(36)}",
        f"postgres://joe:{m(14)}@h/db",
        f"API_KEY={m(24)}\n",
        "hunter2x",
        login,
    )
    for plain in plains:
        text = f"apiVersion: v1\nkind: Secret\ndata:\n  some.entry: {code(plain)}\n"
        rows.append(("s.yaml", text, code(plain)))
    rows.append(("s.yaml", "kind: Secret\nstringData:\n  entry: hunter2x\n", "hunter2x"))
    return rows


def friends(seed: int = 2) -> list[tuple[str, str]]:
    """(file, text) of what is none."""
    m = Made(seed)
    sha, md5, commit = m(64, HEX), m(32, HEX), m(40, HEX)
    b64 = base64.b64encode(random.Random(seed).randbytes(3000)).decode()
    sri = f"sha512-{base64.b64encode(random.Random(seed).randbytes(64)).decode()}"
    return [*_files(m, sha, md5, commit, b64, sri), *_lines(m, sha, md5, commit, b64)]


def _files(m: Made, sha: str, md5: str, commit: str, b64: str, sri: str) -> list[tuple[str, str]]:
    wrapped = "\n".join(b64[at : at + 76] for at in range(0, len(b64), 76))
    return [
        ("a.ipynb", json.dumps({"outputs": [{"data": {"image/png": b64, "text/plain": ["<Figure>"]}}]})),
        ("b.ipynb", json.dumps({"outputs": [{"data": {"image/jpeg": wrapped + "\n"}}]})),
        ("c.ipynb", json.dumps({"cells": [{"id": m(8, HEX), "source": ["key = token_of(secret)\n"]}]})),
        ("a.svg", f'<svg><image key="a" href="data:image/png;base64,{b64}"/></svg>'),
        ("b.svg", f'<svg><!-- token -->\n<image xlink:href="data:image/png;base64,{wrapped}"/></svg>'),
        ("a.html", f"<script>var auth = 1; var font = 'data:font/woff2;base64,{b64}';</script>"),
        (
            "go.sum",
            f"github.com/x/go-keyring v0.7.2 h1:{m(43)}=\ngithub.com/x/token v1.0.0/go.mod h1:{m(43)}=\n",
        ),
        ("package-lock.json", f'{{"node_modules/js-tokens": {{"integrity": "{sri}"}}}}'),
        (
            "yarn.lock",
            f'js-tokens@^4:\n  resolved "https://r/js-tokens-4.0.0.tgz#{commit}"\n  integrity {sri}\n',
        ),
        ("pnpm-lock.yaml", f"  /js-tokens@4.0.0:\n    resolution: {{integrity: {sri}}}\n"),
        ("Cargo.lock", f'[[package]]\nname = "secrecy"\nchecksum = "{sha}"\n'),
        (
            "poetry.lock",
            f'[[package]]\nname = "keyring"\nfiles = [{{file = "k.whl", hash = "sha256:{sha}"}}]\n',
        ),
        ("uv.lock", f'{{ url = "https://h/aa/{sha}/passlib-1.whl", hash = "sha256:{sha}", size = 1 }}\n'),
        ("Pipfile.lock", f'{{"tokenizers": {{"hashes": ["sha256:{sha}"]}}}}'),
        ("requirements.txt", f"tokenizers==0.15 --hash=sha256:{sha}\nkeyring==1 --hash=sha256:{sha}\n"),
        ("flake.lock", f'{{"locked": {{"narHash": "sha256-{m(43)}=", "rev": "{commit}", "key": "x"}}}}'),
        ("weights.bin", f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha}\nsize 12345\n"),
        (".github/workflows/a.yml", f"      - uses: actions/create-github-app-token@{commit}  # v3\n"),
        (".pre-commit-config.yaml", f"  - repo: https://h/detect-secrets\n    rev: {commit}\n"),
        (".gitmodules", f'[submodule "keys"]\n\turl = https://h/keys.git\n\tbranch = {commit}\n'),
        ("model.safetensors.index.json", f'{{"weight_map": {{"model.layers.0.attn.key.weight": "{sha}"}}}}'),
        (
            "tokenizer_config.json",
            '{"pad_token": "<|endoftext|>", "eos_token": "</s>", "bos_token": "[BOS1]"}',
        ),
        ("vocab.json", '{"token": 1234567890123456, "key": 12, "Ġsecret": 34567, "Ġpassword": 89012}'),
        ("test_c.py", 'c = Client(api_key="123-abc", password="test1234", secret="0netw0three")\n'),
        ("tests/conftest.py", 'USER = {"name": "u", "password": "Passw0rd99"}\n'),
        (".env.example", "API_KEY=your-key-here\nTOKEN=\nSECRET_KEY=changeme\nPASSWORD=password123\n"),
    ]


def _lines(m: Made, sha: str, md5: str, commit: str, b64: str) -> list[tuple[str, str]]:
    rows = [
        ("a.sh", 'mysql -u root -p mydb1\nmysql -uroot -p"$PW1" db\nredis-cli -a "$PW2" ping'),
        ("a.sh", "docker run -p 8080:80 img\necho ${PAT2} | docker login ghcr.io --password-stdin"),
        ("a.sh", "wandb login --host=https://h1.x\nwandb login $WANDB_API_KEY"),
        ("a.yaml", "api_keys:\n  - openai\n  - mistral2"),
        ("a.yaml", "password: |\n  ${DB_PASSWORD1}\nsecretName:\n  my-secret-v2"),
        ("a.py", "special_tokens = (\n    '<|endoftext|>',\n    '<s1>',\n)"),
        ("a.py", "password = (\n    config.password_v2\n)\nif token:\n    'abc123def'"),
        ("a.py", "x = 'Server=h;User Id=sa;Password={password1};'"),
        ("a.bat", "set API_TOKEN=%1\nset TOKEN=%TOKEN2%"),
        ("a.html", f"<script integrity='sha384-{b64[:64]}' key='1'></script>"),
        ("notes.md", "client = make(\n    api_key=api_key,\n    token=GEMINI_API_KEY,\n)"),
        ("go.sh", "python -c \"import wandb; wandb.login(key='$WANDB_API_KEY')\""),
        ("a.md", "Supports Weights & Biases via ``--secret WANDB_API_KEY`` and `--secret HF_TOKEN`"),
        ("a.md", "- user: `admin`\n- password: `admin`"),
        (
            "a.yaml",
            "password: ${DB_PASSWORD}\ntoken: ${{ secrets.GITHUB_TOKEN }}\nkey: {{ .Values.apiKey1 }}",
        ),
        ("a.yaml", "api_key: vault://prod/agents/key1\nsecret: env://OPENAI_API_KEY2"),
        ("a.yaml", "api_key: EMPTY\nsecret_key: none\ntoken: null\npassword: admin123"),
        ("a.py", 'token = os.environ["HF_TOKEN_2"]\nkey = os.getenv("API_KEY1", "")'),
        ("a.py", 'client = OpenAI(api_key="sk-1234567890abcdef", base_url="http://localhost:8000/v1")'),
        ("a.py", 'client = OpenAI(api_key="token-abc123")'),
        ("a.py", 'client = OpenAI(api_key="sk-xxxxxxxxxxxxxxxxxxxxxxxx")'),
        ("a.py", 'api_key = f"{prefix}-{user_id2}"'),
        ("a.py", 'headers = {"Authorization": f"Bearer {token1}"}'),
        ("a.py", "headers = {'Authorization': 'Bearer ' + self.access_token_2}"),
        ("a.py", 'auth = "gpt-4o-2024-08-06"\ntoken = "meta-llama/Llama-3.1-8B-Instruct"'),
        ("a.py", 'layer_key = "model.layers.10.self_attn.k_proj.weight"'),
        ("a.py", 'key="transformer.h.0.attn.c_attn.weight_v2", token_type="bert-base-uncased-2"'),
        ("a.py", "tokenizer = AutoTokenizer.from_pretrained('Qwen/Qwen2.5-7B-Instruct-1M')"),
        ("a.py", "def get_password_hash2(password: str, secret_key: bytes32) -> str: ..."),
        ("a.py", "special_tokens = ['<|reserved_special_token_0|>', '<|fim_prefix|>']"),
        ("a.py", "pad_token = '<|finetune_right_pad_id|>'; mask_token = '[MASK12]'"),
        ("a.py", f'CACHE_KEY = "sha256:{sha}"'),
        ("a.py", f'key_digest = "{sha}"\nmodel_sha = "{commit}"'),
        ("a.py", f'cache_key = "{md5}"  # md5'),
        ("a.py", 'public_key = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA"'),
        ("a.pub", f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{m(43)} joe's key"),
        ("a.pem.txt", f"-----BEGIN CERTIFICATE-----\n{b64[:64]}\n{b64[64:128]}\n-----END CERTIFICATE-----"),
        ("a.md", "AWS documents AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ("a.md", "postgresql://postgres:postgres@localhost/db redis://user:password@h"),
        ("a.md", "https://<user>:<password>@host/x https://$USER:$TOKEN1@host/x"),
        ("a.sh", 'export API_KEY="$(cat /run/secrets/key1)"\nexport TOKEN=`cat token2`'),
        ("a.sh", 'curl -u "$USER:$PASSWORD1" -H "Authorization: Bearer ${TOKEN2}" https://h'),
        ("a.sh", "docker run --user 1000:1000 -e API_KEY -e HF_TOKEN=$HF_TOKEN image"),
        ("a.ts", "const token = await getToken(user2.id); const apiKey = process.env.API_KEY_1;"),
        ("a.ts", "import { SecretKeyProvider2 } from './keys'; type AuthToken2 = string;"),
        ("a.rs", 'let key = "blk.0.attn_k.weight"; let token = Token::new(TokenKind::Ident42);'),
        ("a.css", ".token.keyword1 { color: #0a1b2c } .key-a1b2c3 { width: 12px }"),
        ("a.csv", f"key,token,id\n1,2,{m.uuid()}\n"),
        ("a.jsonl", f'{{"id": "{m.uuid()}", "key": "{m.uuid()}", "tokens": [1, 2, 3]}}'),
        ("a.tf", "password = var.db_password_1\nsecret = data.vault_secret.db2.value"),
        ("a.md", "The secret is kept in step2; password: see below. The token is 128-bit-long2."),
        ("Dockerfile", f"RUN apt-key adv --keyserver h --recv-keys 0x{commit.upper()}"),
        (
            "Dockerfile",
            f"RUN gpg --recv-keys {commit.upper()} 0x{commit[:16].upper()}\nENV GPG_KEY={commit.upper()}",
        ),
        ("a.md", f"key id 0x{commit[:16].upper()}, PGP key {commit}"),
        (".gitconfig", f"[user]\n\tsigningkey = 0x{commit.upper()}"),
        (
            ".envrc",
            "export PATH=$PWD/bin:$PATH\nexport PYTHONPATH=src2\nexport TOKEN=$(cat t1)\nPATH_add bin",
        ),
        (".envrc", "export AWS_REGION=us-east-1\nexport AUTH=none\nexport KEY_FILE=~/.ssh/k1"),
        ("a.py", 'p.add_argument("--api-key", default="EMPTY")\np.add_argument("--n", default="gpt4turbo")'),
        ("a.py", 'p.add_argument("--api-key")\np.add_argument("--model", default="Qwen2.5aB7")'),
        ("a.py", 'p.add_argument("--tokenizer", type=str, default="meta-llama/Llama-3.1-8B")'),
        ("a.tf", 'variable "db_password" {}\nvariable "image" {\n  default = "nginx1x27"\n}'),
        ("a.yaml", "DBPassword:\n  Type: String\nInstance:\n  Default: t3micro4x"),
        ("a.yaml", "- name: API_KEY\n  valueFrom: {}\n- name: MODEL\n  value: gpt4turbo1x"),
        (
            "Info.plist",
            "<key>Token</key>\n<string>$(TOKEN1)</string>\n<key>A</key>\n<string>b1c2d3e4</string>",
        ),
        ("a.py", 'API_KEYS = ["OPENAI_API_KEY", "HF_TOKEN_2"]\nstop_tokens = ["<|im_end|>", "a1b2c3"]'),
        ("a.sh", "docker run -e API_KEY=$API_KEY1 -e TOKEN=${TOKEN2} --set tokens=[a1] image"),
        ("s.yaml", "kind: Secret\ndata:\n  username: YWRtaW4=\n  host: ZGItMS5leGFtcGxlLmNvbQ=="),
        ("a.yaml", f"password: ENC[AES256_GCM,data:{b64[:24]},iv:{b64[24:68]},tag:{b64[70:94]},type:str]"),
        ("auth.spec.ts", "it('x', () => {{ const password = 'Passw0rd!'; }});"),
        ("a.md", f"- fix token refresh ({commit[:12]}), see {commit}"),
        ("a.md", "Authorization: Basic dXNlcjpwYXNzd29yZA=="),
        ("jwks.json", json.dumps({"keys": [{"kty": "RSA", "n": m(342), "e": "AQAB", "kid": m(27)}]})),
        ("a.csv", "token,key,loss\n128,1e-3,0.123456789"),
        ("a.py", "password = password.encode('latin1')\ntoken = decode('utf_8x1')"),
        ("a.sql", "CREATE TABLE t1 (id INT PRIMARY KEY, api_key VARCHAR(64), password CHAR(60));"),
        ("a.yaml", "password:\n  type: string\n  example: password123"),
        ("a.py", "x.set_token('model.layers.31.o_proj2')\nforward_pass = 'fp16x'"),
        ("a.sh", "openssl rsa -passin pass:$PASS1 -in k\nmachine x login y password $PASSWORD2"),
        ("s.yaml", f"kind: SealedSecret\nspec:\n  encryptedData:\n    a: {b64[:200]}"),
        ("a.js.map", base64.b64encode(b"function token(key2) { return secret[key2] }").decode()),
        ("a.yaml", "max_tokens: 128000000000\ntoken_budget: 1e12\nkeys: [a1, b2]\nsecretName: my-secret-v2"),
    ]
    return [(name, f"{text}\n") for name, text in rows]
