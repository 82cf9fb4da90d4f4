"""A second host on this machine: a network namespace, joined to this one by a pair of virtual cards; gone with the block."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class SecondHost:
    """`address` is that of this host, as the second one reaches it; nothing else is reached from there."""

    address: str
    name: str
    program: str

    def command(self, *command: str) -> list[str]:
        """The command that runs another one there, as the same process."""
        return [self.program, "netns", "exec", self.name, *command]


@contextmanager
def second_host() -> Iterator[SecondHost]:
    """Make one. Skips the test where there is no `ip`, or where the user may not."""
    program = shutil.which("ip", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if program is None:
        pytest.skip("no ip: apt-get install iproute2")
    number = os.getpid()
    name, card, network = f"tasuki-{number}", f"tsk{number}", f"10.213.{number // 64 % 256}"
    here, there = f"{network}.{number % 64 * 4 + 1}", f"{network}.{number % 64 * 4 + 2}"
    _ip(program, f"netns add {name}")
    try:
        _ip(program, f"link add {card} type veth peer name {card}p netns {name}")
        _ip(program, f"address add {here}/30 dev {card}")
        _ip(program, f"link set {card} up")
        _ip(program, f"-n {name} address add {there}/30 dev {card}p")
        _ip(program, f"-n {name} link set {card}p up")
        yield SecondHost(here, name, program)
    finally:
        subprocess.run([program, "netns", "del", name], check=True)
        subprocess.run([program, "link", "del", card], capture_output=True, check=False)  # it goes with its pair, a little later


def _ip(program: str, arguments: str) -> None:
    done = subprocess.run([program, *arguments.split()], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        pytest.skip(f"no second host here: ip {arguments.split()[0]}: {done.stderr.strip()}")
