"""A clone holds nothing of the machine it was written on, and installs the same everywhere."""

import re
import tomllib

# In halves, so that this file does not break its own rule.
HOSTS = ("pypi." + "org", "python" + "hosted", "registry." + "npmjs", "deb." + "debian", "security." + "debian")
MACHINE = re.compile(r"(?<![\w./-])/(?:work|root)/\w?|/opt/(?:wheels|pypi)")
PIN = re.compile(r"^([a-z0-9][\w.-]*)==([^\s;]+)", re.M)
NAME = re.compile(r"[\w.-]+")


def test_nothing_committed_names_a_package_registry_or_a_path_of_this_machine(repository, files):
    found = []
    for path in files:
        try:
            lines = (repository / path).read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            if any(host in line for host in HOSTS) or MACHINE.search(line):
                found.append(f"{path}:{number} {line.strip()[:80]}")
    assert found == []


def test_every_dependency_is_pinned_with_hashes_and_no_address(repository):
    for lock in ("requirements.lock", "requirements-dev.lock", "requirements-node.lock"):
        text = (repository / lock).read_text("utf-8")
        assert "://" not in text
        blocks = [block for block in re.split(r"\n(?=\S)", text) if PIN.match(block)]
        assert blocks
        assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_the_locks_hold_what_the_project_asks_for_and_agree(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))
    run = dict(PIN.findall((repository / "requirements.lock").read_text("utf-8")))
    dev = dict(PIN.findall((repository / "requirements-dev.lock").read_text("utf-8")))
    asked = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    assert {name for name in map(_name, asked) if name not in run} == set()
    tools = [line for line in project["dependency-groups"]["dev"] if isinstance(line, str)]
    assert {name for name in map(_name, tools) if name not in dev} == set()
    assert {name: version for name, version in run.items() if dev.get(name) != version} == {}


def _name(requirement: str) -> str:
    found = NAME.match(requirement)
    assert found is not None
    return found[0].lower()
