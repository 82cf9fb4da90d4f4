"""What an agent has of a session that went on elsewhere is known again, also what our writers leave out."""

from dataclasses import replace

from adapters.continued import continued
from adapters.dsh.reader import read
from adapters.dsh.writer import write
from adapters.session import Session
from adapters.target import Target

META = {"agent_source": "opencode", "native_session_id": "s", "cwd": "/home/ann"}


def said(name, role="user", agent="opencode", **metadata):
    told = {"agent_source": agent, "native_id": name, **metadata}
    return {"role": role, "content": name, "append_id": f"{agent}:{name}", "metadata": told}


def test_what_the_agents_own_harness_said_is_not_new_when_others_went_on():
    before = [said("one"), said("two", "assistant")]
    written = write(Session(META, tuple(before)), Target(session_id="there"))
    conversion = read(list(written.records))
    template = conversion.messages[-1]
    own = [said("context", agent="dsh", origin="harness"), said("three", agent="dsh")]
    added = [replace(template, native_id=one["metadata"]["native_id"], body=one) for one in own]
    has = replace(conversion, entries=(*conversion.entries, *added))
    assert [one.append_id for one in continued(has, "there", META, before).new] == ["dsh:context", "dsh:three"]
    hub = [*before, *own, said("four", agent="hermes")]
    assert continued(has, "there", META, hub).new == ()
