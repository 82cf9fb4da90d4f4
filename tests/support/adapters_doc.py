"""The tables of docs/adapters.md, made of what the code says.

What becomes of a field on the way out is asked of the writers themselves: each is given a session in which that field
stands, and its mapping report is read. What an agent's own fields become on the way in is in the tables of its reader:
every `…_FIELDS` and `KEPT` of its module `fields`, so an agent that is in the registry is in the document.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType

from field_probes import META, PROBES, Probe, written

from adapters.registry import READERS, WRITERS

NAMES = {
    "claude-code": "Claude Code",
    "codex": "Codex CLI",
    "dsh": "DeepSeek Harness",
    "hermes": "Hermes",
    "opencode": "OpenCode",
    "gemini": "Gemini CLI",
}
FIELDS: Mapping[str, ModuleType] = {
    agent: import_module(f"adapters.{agent.replace('-', '_')}.fields") for agent in READERS if agent != "messages"
}
WORDS = {"converted": "kept", "degraded": "less well", "kept_native": "stays behind", "dropped": "**lost**"}
RANKS = tuple(WORDS)
_block = re.compile(r"(<!-- made of the code: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(document: str) -> str:
    """Return the document with its tables as the code has them."""
    made = {"out": _out, "added": _added, "in": _in}
    return _block.sub(lambda match: f"{match[1]}\n{made[match[2]]()}\n{match[3]}", document)


def _agents() -> list[str]:
    return [agent for agent in FIELDS if agent in WRITERS]


def _name(agent: str) -> str:
    return NAMES.get(agent, agent.capitalize())


def _out() -> str:
    """For each agent that a session comes from, what the others make of each thing that its messages say."""
    agents = _agents()
    fates = {(probe, agent): _fate(probe, agent) for probe in PROBES for agent in agents}
    sections = []
    for source in agents:
        said = _places_of(source)
        others = [agent for agent in agents if agent != source]
        rows = [
            [probe.what, *(_cell(*fates[probe, agent]) for agent in others)]
            for probe in PROBES
            if probe.is_always or any(place in said for place in probe.places)
        ]
        rows += [[what, *("kept" if _is_kept_meta(what, agent) else "**lost**" for agent in others)] for what in META]
        sections.append(f"### From {_name(source)}\n\n{_table(['', *(f'to {_name(agent)}' for agent in others)], rows)}")
    return "\n".join(sections)


def _fate(probe: Probe, agent: str) -> tuple[str, str]:
    """What becomes of the probe's field: the worst of what becomes of its leaves, with the reason."""
    _, report = written(agent, probe.messages)
    names = [f"fields/{probe.role}.{path}" for path in probe.paths]
    found: list[tuple[str, str]] = []
    for kind in ("degraded", "kept_native", "dropped"):
        for item in report[kind]:
            is_whole = item["path"] in (f"fields/{probe.role}", f"entries/{probe.role}")
            if is_whole or any(item["path"] == name or item["path"].startswith((f"{name}.", f"{name}[")) for name in names):
                found.append((kind, item["reason"]))
    return max(found, key=lambda fate: RANKS.index(fate[0]), default=("converted", ""))


def _is_kept_meta(what: str, agent: str) -> bool:
    return META[what][1] in written(agent, PROBES[0].messages, dict(META.values()))[0]


def _cell(kind: str, reason: str) -> str:
    return f"{WORDS[kind]}: {reason}" if reason else WORDS[kind]


def _added() -> str:
    """What each writer adds where a session lacks what the agent needs."""
    rows: dict[tuple[str, str], set[str]] = {}
    for agent in _agents():
        for probe in PROBES:
            for item in written(agent, probe.messages)[1]["synthesised"]:
                rows.setdefault((agent, item["reason"]), set()).add(item["path"])
    return _table(
        ["in", "what", "why"], [[_name(agent), ", ".join(sorted(paths)), why] for (agent, why), paths in sorted(rows.items())]
    )


def _in() -> str:
    """Where each field of an agent's own records goes."""
    return "\n".join(
        f"### {_name(agent)}\n\n{_table(['in', 'its field', 'becomes'], _fields_of(module))}" for agent, module in FIELDS.items()
    )


def _fields_of(module: ModuleType) -> list[list[str]]:
    rows = [[part, f"`{name}`", _place(place)] for part, name, place in _said_by(module)]
    return rows + [["", f"`{name}`", f"stays behind: {why}"] for name, why in getattr(module, "KEPT", {}).items()]


def _said_by(module: ModuleType) -> Iterator[tuple[str, str, str]]:
    for table, fields in vars(module).items():
        if not table.endswith("_FIELDS"):
            continue
        part = table.removesuffix("_FIELDS").lower()
        for name, place in fields.items():
            if isinstance(place, str):
                yield part, name, place
            else:
                yield from ((f"{part} {name}", inner, to) for inner, to in place.items())


def _places_of(agent: str) -> set[str]:
    """The fields of a standard message that an agent's records fill."""
    return {place for _, _, told in _said_by(FIELDS[agent]) for place in re.findall(r"[a-z_]+[a-z_.\[\]]*", told)}


def _place(told: str) -> str:
    return (
        f"`{told}`" if re.fullmatch(r"[\w.\[\]]+", told) and ("." in told or "_" in told or told in ("role", "content")) else told
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '∣').replace('<', '&lt;') for cell in line)} |\n" for line in lines)
