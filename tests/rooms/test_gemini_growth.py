"""How a session of Gemini CLI is told while its log grows: all that a record says at once, nothing of it twice."""

from gemini_records import SHELL, bodies, call, lines, reply, response, user

from adapters.gemini.reader import read


def seen_growing(*records: dict) -> list[list[dict]]:
    """What a follower finds new after each record."""
    seen: set[str] = set()
    new: list[list[dict]] = []
    for end in range(len(records) + 1):
        new.append([body for body in bodies(*records[:end], is_final=False) if body["append_id"] not in seen])
        seen |= {body["append_id"] for body in new[-1]}
    assert [body for step in new for body in step] == bodies(*records), "what a whole push would send, in its order"
    return new[1:]


def outline(messages: list[dict]) -> list[tuple[object, ...]]:
    return [(body["role"], body["content"], [made["id"] for made in body.get("tool_calls", ())]) for body in messages]


def test_the_words_of_a_reply_are_told_while_its_calls_still_run():
    """Its record is written when all words have come, and again when the calls are done, which may be much later."""
    thought = {"thoughts": [{"subject": "Plan", "description": "first"}], "tokens": {"input": 3, "output": 1}, "model": "m"}
    words = reply("b", "I look.", **thought)
    done = words | {"toolCalls": [call("c1", response("c1", "1")), call("c2", response("c2", "2"))]}
    steps = seen_growing(user("a", "go"), words, {"$set": {"lastUpdated": "x"}}, done, user("r", response("c1", "1")))
    asked, said, nothing, called, told_again = steps
    assert outline(asked + said) == [("user", "go", []), ("assistant", "I look.", [])]
    assert outline(called) == [("assistant", None, ["c1", "c2"]), ("tool", "1", []), ("tool", "2", [])]
    assert (nothing, told_again) == ([], [])
    assert said[0]["thinking"]["content"] == "**Plan** first"
    assert "thinking" not in called[0]
    assert said[0]["metadata"] == called[0]["metadata"]
    assert said[0]["metadata"]["reply_id"] == "b"


def test_a_reply_without_words_is_its_thoughts_until_its_calls_are_done():
    """So what was thought is there, also when the agent is killed meanwhile."""
    thoughts = reply("b", "", thoughts=[{"subject": "", "description": "hm"}])
    steps = seen_growing(user("a", "go"), thoughts, thoughts | {"toolCalls": [call("c1", response("c1", "1"))]})
    assert [outline(step) for step in steps[1:]] == [
        [("assistant", None, [])],
        [("assistant", None, ["c1"]), ("tool", "1", [])],
    ]
    assert steps[1][0]["thinking"]["content"] == "hm"


def test_a_reply_that_says_nothing_is_none_until_it_has_calls():
    empty = reply("b", "", tokens={"input": 1, "output": 1})
    steps = seen_growing(user("a", "go"), empty, empty | {"toolCalls": [call("c1", response("c1", "1"))]})
    assert [outline(step) for step in steps[1:]] == [[], [("assistant", None, ["c1"]), ("tool", "1", [])]]
    assert any(item["reason"] == "nothing is said in it" for item in read(lines(empty)).report["kept_native"])


def test_calls_that_are_done_one_after_the_other_are_told_so():
    """As an editor has them run (`--acp`): each is recorded when it is done, some behind the turn."""
    first, second, third = (call(name, response(name, name)) for name in ("c1", "c2", "c3"))
    words = reply("b", "I look.")
    steps = seen_growing(
        user("a", "go"),
        words,
        words | {"toolCalls": [first]},
        words | {"toolCalls": [first, second]},
        user("r", response("c1", "c1"), response("c2", "c2")),
        words | {"toolCalls": [first, second, third]},
    )
    assert [outline(step) for step in steps[2:]] == [
        [("assistant", None, ["c1"]), ("tool", "c1", [])],
        [("assistant", None, ["c2"]), ("tool", "c2", [])],
        [],
        [("assistant", None, ["c3"]), ("tool", "c3", [])],
    ]


def test_calls_without_a_result_are_told_when_another_record_stands_behind_them():
    asked = reply("b", "I look.", toolCalls=[call("c1", status="executing") | {"result": None}])
    records = [user("a", "go"), reply("b", "I look."), asked]
    assert outline(bodies(*records, is_final=False)) == [("user", "go", []), ("assistant", "I look.", [])]
    assert read(lines(*records), is_final=False).held_records > 0
    called = ("assistant", None, ["c1"])
    assert outline(bodies(*records))[2:] == outline(bodies(*records, user("d", "on"), is_final=False))[2:3] == [called]
    done = asked | {"toolCalls": [call("c1", response("c1", "1"))]}
    assert outline(bodies(*records, done))[2:] == [called, ("tool", "1", [])]


def test_words_that_the_agent_sets_anew_as_the_model_said_them_are_the_same_words():
    """A record has them trimmed; a turn that is cancelled sets the list anew, with blanks, comments and what has no width."""
    spoken = reply("b", [{"text": "\u200b It is <!-- sash: -->red.\n"}])
    called = reply("c", [{"text": "I look.\n"}, {"functionCall": {"id": "c1", "name": SHELL, "args": {"command": "c1"}}}])
    anew = {"$set": {"messages": [user("a", "go"), spoken, user("d", "where?"), called]}}
    done = reply("c", "I look.", toolCalls=[call("c1", response("c1", "1"))])
    steps = seen_growing(user("a", "go"), reply("b", "It is red."), user("d", "where?"), reply("c", "I look."), done, anew)
    assert steps[-1] == []
