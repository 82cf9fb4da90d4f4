"""What is recognised, in its usual surroundings, and what looks like it and stays; by our own rules and with the package."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from madeup import JWT, ROTATED, SYMBOLS, basic, made, pem

from eventstore.redact import HAS_PACKAGE, Redactor

MARKER = re.compile(r"\[redacted:[a-z0-9_]+\]")

# the text around, {} where the secret stands; the secret
SECRETS = {
    "anthropic": ("export ANTHROPIC_API_KEY={}\n", "sk-" + "ant-api03-" + made(93)),
    "anthropic in a word": ("x{}", "sk-" + "ant-api03-" + made(95)),
    "openai project": ("client = OpenAI(api_key='{}')", "sk-" + "proj-" + made(120)),
    "openai": ("key {} was used", "sk-" + made(48)),
    "openrouter": ("{}", "sk-" + "or-v1-" + made(64, "x")),
    "deepseek": ("DEEPSEEK: {}", "sk-" + made(32, "x")),
    "github classic": ("remote: https://{}@github.com/o/r", "gh" + "p_" + made(36)),
    "github oauth": ("Authorization: token {}", "gh" + "o_" + made(36)),
    "github server": ("'{}'", "gh" + "s_" + made(36)),
    "github fine": ("git clone with {} done", "github" + "_pat_" + made(22) + "_" + made(59)),
    "github in colours": ("\x1b[32m{}\x1b[0m", "gh" + "p_" + made(36)),
    "github behind an escape": ("line\\n{}\\n", "gh" + "p_" + made(36)),
    "github in a query": ("?token%3D{}", "gh" + "p_" + made(36)),
    "gitlab": ("PRIVATE-TOKEN: {}", "gl" + "pat-" + made(20)),
    "aws key id": ("aws configure: {}", "AK" + "IA" + made(16, "A")),
    "aws session key id": ("{}", "AS" + "IA" + made(16, "A")),
    "aws secret": ("aws_secret_access_key = {}", made(40, "b")),
    "aws secret in json": ('{{"SecretAccessKey": "{}"}}', made(40, "b")),
    "slack bot": ("SLACK={}", "xo" + "xb-" + made(12, "0") + "-" + made(13, "0") + "-" + made(24)),
    "slack hook": ("curl https://hooks.slack" + ".com/services/{}", "T" + made(8, "A") + "/B" + made(8, "A") + "/" + made(24)),
    "discord hook": ("https://discord.com/api/web" + "hooks/123456789012345678/{}", made(68)),
    "stripe live": ("Stripe({})", "sk" + "_live_" + made(24)),
    "stripe restricted": ("{}", "rk" + "_live_" + made(24)),
    "google": ("https://maps.googleapis.com/js?key={}&v=3", "AI" + "za" + made(35)),
    "google oauth": ("client_secret={}", "GOC" + "SPX-" + made(28)),
    "npm": ("//npm.example.org/:_authToken={}", "np" + "m_" + made(36)),
    "pypi": ("twine -p {}", "py" + "pi-AgEIcHlwaS5vcmc" + made(150)),
    "hugging face": ("login(token='{}')", "h" + "f_" + made(34)),
    "docker": ("{}", "dck" + "r_pat_" + made(27)),
    "sendgrid": ("{}", "S" + "G." + made(22) + "." + made(43)),
    "groq": ("{}", "gs" + "k_" + made(52)),
    "telegram": ("https://api.telegram.org/bot{}/getMe", made(9, "0") + ":A" + "A" + made(33)),
    "age": ("{}", "AGE-SECRET-" + "KEY-1" + made(58, "A")),
    "tasuki": ("Authorization: Bearer {}", "ts" + "k_" + made(43)),
    "tasuki alone": ("join with {} now", "ts" + "k_" + made(43)),
    "jwt": ("session={}; path=/", JWT),
    "rsa": ("$ cat id\n{}\n$", pem("RSA PRIVATE KEY")),
    "ssh": ("{}", pem("OPENSSH PRIVATE KEY", 7)),
    "pem with escaped breaks": ("key={}", pem("PRIVATE KEY", 5, "\\n")),
    "pem escaped twice": ("key={}", pem("EC PRIVATE KEY", 3, "\\\\n")),
    "pem in a numbered listing": ("     1\t{}", pem("PRIVATE KEY", 4, "\n     2\t")),
    "pem cut short": ("{}\n[...]", pem("PRIVATE KEY", 4).rpartition("\n-----END")[0]),
    "pem in base64": ("client-key-data: {}", base64.b64encode(pem("RSA PRIVATE KEY").encode()).decode()),
    "url": ("git push https://bob:{}@git.example.com/r.git", "s3cr3t" + "pw"),
    "dsn": ("DATABASE_URL=postgres://app:{}@db:5432/app?sslmode=require", "p4s$" + "w0rd!"),
    "redis": ("redis://:{}@cache:6379/0", made(24)),
    "mongo": ("mongodb+srv://root:{}@c0.mongodb.net", made(16)),
    "api key in a url": ("GET /v1/data?apikey={}&limit=5", made(24)),
    "token in a url": ("https://x.example/cb?state=1&access_token={}#done", made(32)),
    "sas": ("https://a.blob.core.windows.net/c?sv=2024&sig={}&se=2", made(40) + "%3D"),
    "presigned": ("?X-Amz-Expires=60&X-Amz-Signature={}", made(64, "x")),
    "bearer": ('curl -H "Authorization: Bearer {}" https://x', made(40)),
    "basic": ("authorization: Basic {}", basic("alice:" + ROTATED)),
    "npm basic": ("_auth={}", basic("alice:" + ROTATED)),
    "header": ("x-api-key: {}\r\n", made(32)),
    "env": ("PASSWORD={}\n", SYMBOLS),
    "env quoted": ("DB_PASSWORD='{}'\n", SYMBOLS),
    "env short": ("SMTP_PASS={}\n", "ab12"),
    "env letters only": ("API_KEY={}\n", "qwmxzjtvbplkrhgd"),
    "export": ("export GITEA_TOKEN={} && make", made(20, "x")),
    "yaml": ("db:\n  password: {}\n  port: 5432", ROTATED),
    "yaml quoted": ('  secret: "{}"', made(20)),
    "toml": ('password = "{}"', SYMBOLS),
    "ini": ("[db]\npassword = {}\n", ROTATED),
    "json": ('{{"user": "bob", "password": "{}"}}', SYMBOLS),
    "json in a word": ('echo "{{\\"api_key\\": \\"{}\\"}}"', made(24)),
    "javascript": ("const client = new C({{ apiKey: '{}' }})", made(24)),
    "camel": ("clientSecret: `{}`,", made(24)),
    "typed": ('let password: String = "{}";', ROTATED),
    "flag": ("login --user bob --password {} --quiet", ROTATED),
    "curl": ("curl -u bob:{} https://x.example", ROTATED),
    "mysql": ("mysql -uroot -p{} app", ROTATED),
    "sshpass": ("sshpass -p '{}' ssh -p 2222 host", SYMBOLS),
    "netrc": ("machine x login bob password {}\n", ROTATED),
    "xml": ("<password>{}</password>", ROTATED),
    "ado": ("Server=db;User Id=sa;Password={};Encrypt=yes", SYMBOLS),
    "libpq": ("host=db user=app password={} dbname=app", ROTATED),
    "azure": ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=core", made(86, "b") + "=="),
    "said": ("The password is {}, try it", ROTATED),
    "chinese": ("数据库密码：{}，请保密", ROTATED),
    "chinese said": ("口令是 {}。", ROTATED),
    "chinese key": ("密钥={}", made(24)),
}  # fmt: skip

HARMLESS = r"""
if (apiKey == "") {
sk-ant-...
sk-ant-api03-xxxxxxxxxxxxxxxx
Authorization: Bearer <TOKEN>
token=$(cmd --print 12345678)
password=${DB_PASSWORD}
PASSWORD=$PASSWORD
os.environ["API_KEY"]
api_key = os.environ["OPENAI_API_KEY"]
API_KEY=your-api-key
api_key: xxxxxxxxxxxxxxxx
password: ********
password=[redacted:password]
token: [redacted:github_token] more
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
password = get_password(user)
token = tokenizer.next()
secret = config.secret
const token = await getToken(1);
self.password2 = password2
password: str | None = None
password: z.string().min(8)
if password == 'hunter2':
max_tokens=4096
tokens: 123456
"total_tokens": 1234567
key: value
cache_key = 'user_123456789012'
PRIMARY_KEY=id_1234567890123456
public_key: abcdefghijklmnop1234
monkey = banana1234
keyboard: qwerty123
next_page_token: abcdef1234567890
"password": "string"
"password": "Enter your password"
label: Password (min 8 characters)
the password is required
The token is base64-encoded
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
550e8400-e29b-41d4-a716-446655440000
toolu_01A09q90qw90lq917835lq9
msg_01XFDUDYJgAACzvnptvVoYEL
http://localhost:8080/@scope/pkg
git@github.com:o/r.git
https://user@example.com/x
postgres://user:password@localhost/db
postgres://user:${PASS}@localhost/db
ssh://git@host:22/r.git
https://example.com/?q=a@b.c
ssh -p 2222 host
docker run -u 1000:1000 x
mkdir -p /srv/data1
curl -u "$USER:$PASS" x
basic authentication is off
Bearer authentication
bearer tokens
"-----BEGIN PRIVATE KEY-----" in text
x.startswith("-----BEGIN RSA PRIVATE KEY-----\n")
PWD=/home/me/project1
SECRET_FILE=/run/secrets/db1
TOKEN_PATH=./t/1
secretName: db-credentials-1
secretKeyRef: {name: x1}
private_key: Ed25519PrivateKey
token: access_token_v2
task-sk-learn
AKIAlike words
hf_hub_download(repo_id)
密码：请输入
密码长度为 8
the pass rate is 97
bypass=1
pass: 12 tests
author: Bob1234
secretary: Alice99
passage=lorem1ipsum
token % 2 == 0
key=lambda x: x[1]
a `token` of 1
npm_config_cache=/tmp/x1
""".strip().splitlines()
HARMLESS += [
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "",
]


@pytest.fixture(
    params=[
        "own",
        pytest.param("package", marks=pytest.mark.skipif(not HAS_PACKAGE, reason="redact-secret has no wheel for this platform")),
    ]
)
def redactor(request):
    return Redactor(package=request.param == "package")


@pytest.mark.parametrize("name", SECRETS)
def test_the_secret_goes_and_what_stands_around_it_stays(redactor, name):
    around, secret = SECRETS[name]
    cleaned, hits = redactor.clean_text(around.format(secret))
    assert MARKER.sub("{}", cleaned) == around.format("{}")
    assert sum(hits.values()) == 1
    assert redactor.clean_text(cleaned) == (cleaned, {})


@pytest.mark.parametrize("line", HARMLESS)
def test_what_is_no_secret_stays(redactor, line):
    assert redactor.clean_text(line) == (line, {})


def test_the_tables_are_large_enough():
    assert len(SECRETS) >= 60
    assert len(HARMLESS) >= 60


@pytest.mark.skipif(not HAS_PACKAGE, reason="redact-secret has no wheel for this platform")
def test_the_package_sees_a_window_at_a_time():
    """A token across the border of two windows is found once, wherever it stands."""
    redactor = Redactor(package=True)
    for before in range(3500, 3700, 7):
        token = "ATA" + "TT3" + made(180)
        assert redactor.clean_text("." * before + " " + token + " ." * 5000)[1] == {"atlassian_token": 1}


# --- other interpreters

REPOSITORY = Path(__file__).resolve().parents[2]
CLEAN = (
    "import json, sys; from eventstore.redact import Redactor; clean = Redactor(package=False).clean_text;"
    " print(json.dumps([sys.version_info >= (3, 11)] + [clean(text) for text in json.load(sys.stdin)]))"
)


def interpreters() -> list[str]:
    """This one, and what other ones the machine has: of what version they are only they know."""
    names = [f"python3.{minor}" for minor in range(11, 20)]
    found = [shutil.which("python3", path=os.defpath), *(shutil.which(name) for name in names)]
    return [sys.executable, *{os.path.realpath(path) for path in found if path}]


def test_every_python_of_this_machine_finds_the_same():
    texts = [around.format(secret) for around, secret in SECRETS.values()] + list(HARMLESS)
    expected = [list(Redactor(package=False).clean_text(text)) for text in texts]
    compared = 0
    for path in interpreters():
        run = subprocess.run(
            [path, "-B", "-c", CLEAN],
            input=json.dumps(texts),
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(REPOSITORY)},
            check=False,
        )
        if run.returncode and path != sys.executable:  # an older one, which cannot read our program
            continue
        is_ours, *cleaned = json.loads(run.stdout)
        if is_ours:
            assert cleaned == expected, path
            compared += 1
    assert compared
