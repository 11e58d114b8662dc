"""What an episode looks like in tokens, for tiny and for chat models, in both contexts."""

from dataclasses import replace

import pytest
from chat_model import CHATML, GEMMA_LIKE, chat_model

from envrl.agents.chat_format import ChatFormat
from envrl.agents.chat_frames import find_frames
from envrl.agents.chat_texts import ChatTexts
from envrl.agents.policies.generate import GeneratePolicy
from envrl.agents.prompts import ActionMenu, Offer
from envrl.agents.tagged_format import TaggedFormat
from envrl.agents.transcripts import Choice, Context, transcribe
from envrl.envs.errors import InvalidData
from envrl.wrappers.transition import Transition

TEXTS = ["You see a shelf 1 and a desk 2.", "go to desk 1", "Your task: put the mug on the desk."] * 20
ROWS = [
    Transition(
        step=0, goal="find it", observation="A hall.", action="go east", next_observation="A <|im_end|> room.",
        admissible_actions=("go east", "look"),
    ),
    Transition(
        step=1, goal="find it", observation="A <|im_end|> room.", action="look", next_observation="Nothing.",
        admissible_actions=("go west", "look"), extras={"action_templates": ["say <words>"]},
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def chat():
    return chat_model(TEXTS)


def test_an_episode_as_one_conversation(chat):
    format = ChatFormat(chat, ChatTexts("Play.", list_actions=True))
    policy = GeneratePolicy(chat, format)
    ((steps, tokens),) = transcribe(policy.transcript(), ROWS, policy.menu, policy)
    assert list(steps) == ROWS
    assert chat.decode(tokens.ids) == (
        "<|im_start|>system\nPlay.<|im_end|>\n"
        "<|im_start|>user\nYour task: find it\n\nYou see: A hall.\n\nPossible actions:\n- go east\n- look\n\n"
        "Your action:<|im_end|>\n"
        "<|im_start|>assistant\ngo east<|im_end|>\n"
        "<|im_start|>user\nA <|im_end|> room.\n\nPossible actions:\n- go west\n- look\n- say <words><|im_end|>\n"
        "<|im_start|>assistant\nlook<|im_end|>\n"
        "<|im_start|>user\nNothing.\n\nPossible actions:\n- go west\n- look\n- say <words><|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    # masks: what the policy wrote, with the token that ends it, and nothing else
    free = {d.position for d in tokens.decisions}
    assert (
        chat.decode([i for p, i in enumerate(tokens.ids) if p in free]) == "go east<|im_end|>look<|im_end|>"
    )
    assert [chat.decode(tokens.ids[a:b]) for a, b in tokens.actions] == ["go east", "look"]
    assert [chat.decode(tokens.ids[a:b]) for a, b in tokens.replies] == ["A <|im_end|> room.", "Nothing."]
    # an environment cannot end a message: its text is spelled out
    stop = chat.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert [tokens.ids[a:b].count(stop) for a, b in tokens.replies] == [0, 0]


def test_a_conversation_is_what_the_template_makes_of_it(chat):
    rows = [replace(r, observation=r.observation.replace("<|im_end|> ", "")) for r in ROWS]
    rows = [replace(r, next_observation=r.next_observation.replace("<|im_end|> ", "")) for r in rows]
    format = ChatFormat(chat, ChatTexts("Play."))
    tokens = format.sequence(rows)
    messages = [
        {"role": "system", "content": "Play."},
        {"role": "user", "content": "Your task: find it\n\nYou see: A hall.\n\nYour action:"},
        {"role": "assistant", "content": "go east"},
        {"role": "user", "content": "A room."},
        {"role": "assistant", "content": "look"},
        {"role": "user", "content": "Nothing."},
    ]
    rendered = chat.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert chat.decode(tokens.ids) == rendered
    assert tokens.decisions == []


def test_a_row_a_step_shows_the_last_turns(chat):
    rows = [
        *ROWS,
        replace(ROWS[1], step=2, observation="Nothing.", action="go west", next_observation="A hall."),
    ]
    format = ChatFormat(chat, ChatTexts("Play."))
    policy = GeneratePolicy(chat, format, context=Context("step", last=1))
    made = transcribe(policy.transcript(), rows, policy.menu, policy)
    assert [list(steps) for steps, _ in made] == [[r] for r in rows]
    texts = [chat.decode(tokens.ids) for _, tokens in made]
    assert texts[0].endswith("<|im_start|>assistant\ngo east<|im_end|>\n<|im_start|>user\nA <|im_end|> room.")
    assert "Steps so far" not in texts[0]
    assert "Steps so far: 1. The last 1:\n1. You saw: A hall.\n   You did: go east\n" in texts[1]
    assert "Steps so far: 2. The last 1:\n2. You saw: A <|im_end|> room.\n   You did: look\n" in texts[2]
    assert "A hall" not in texts[2].split("assistant")[0]
    for row, (_, tokens) in zip(rows, made, strict=True):
        assert {d.step for d in tokens.decisions} == {0}
        ((a, b),), ((c, d),) = tokens.actions, tokens.replies
        assert (chat.decode(tokens.ids[a:b]), chat.decode(tokens.ids[c:d])) == (
            row.action,
            row.next_observation,
        )


def test_a_prompt_that_is_too_long_shows_fewer_turns(chat):
    format = ChatFormat(chat, ChatTexts("Play."))
    rows = [
        *ROWS,
        replace(ROWS[1], step=2, observation="Nothing.", action="go west", next_observation="A hall."),
    ]

    def prompts(longest: int) -> list[list[int]]:
        made = transcribe(Context("step", 2, longest).transcript(format), rows)
        return [tokens.ids[: tokens.actions[0][0]] for _, tokens in made]

    free = prompts(0)
    shown = [text.count("You did: ") for text in map(chat.decode, free)]
    assert shown == [0, 1, 2]
    limit = len(free[2]) - 1
    fitted = prompts(limit)
    assert fitted[:2] == free[:2] and len(fitted[2]) <= limit
    text = chat.decode(fitted[2])
    assert (
        text.count("You did: ") == 1 and "2. You saw: A <|im_end|> room." in text
    )  # the latest turn is kept
    # the present observation is never given up
    assert [chat.decode(p).count("You did: ") for p in prompts(1)] == [0, 0, 0]
    assert "Nothing." in chat.decode(prompts(1)[2])


def test_steps_of_tiny_are_windows_on_the_episode(lm, expert_episodes):
    format = TaggedFormat(lm)
    episode = expert_episodes[0][:5]
    rows = transcribe(Context("step", last=2).transcript(format), episode)
    whole = lm.decode(format.sequence(episode).ids)
    for t, (steps, tokens) in enumerate(rows):
        assert list(steps) == [episode[t]]
        text = lm.decode(tokens.ids)
        assert text.removeprefix("<bos>") in whole
        assert text.count("<act>") == min(t, 2) + 1
        ((a, b),) = tokens.replies
        assert lm.decode(tokens.ids[a:b]) == episode[t].next_observation


def test_sampled_ids_are_kept_as_they_are(chat):
    """Ids that no tokenizer would make of the same text."""
    format = ChatFormat(chat, ChatTexts("Play."))
    spelled = [chat.tokenizer.convert_tokens_to_ids(c) for c in "go"]
    assert tuple(spelled) != chat.encode("go")
    for kind in ("concat", "step"):
        transcript = Context(kind).transcript(format)
        transcript.begin("find it", "A hall.", Offer())
        before = len(transcript.prompt)
        transcript.turn(Choice("go", (*spelled, format.stop), []), "Nothing.", "find it", Offer())
        ids = transcript.sequences[0].ids
        assert ids[before : before + 3] == [*spelled, format.stop]


def test_tagged_answers(chat):
    format = ChatFormat(chat, ChatTexts(response="tags"))
    assert chat.decode(format.action("look")) == "<action>look</action><|im_end|>"
    assert "<think>" in chat.decode(format.prompt("g", (), "o", Offer(), 0))


def test_long_observations_are_cut(chat):
    format = ChatFormat(chat, ChatTexts("Play."), max_observation_tokens=5)
    ids, (start, end) = format.reply("abcdefghij" * 3)
    assert end - start == 5 and len(ids) == end
    assert "abcdefghij" * 3 not in chat.decode(format.prompt("g", (), "abcdefghij" * 3, Offer(), 0))


def test_inverse_asks_for_the_action(chat):
    ids, (start, end) = ChatFormat(chat).inverse("A hall.", "A room.", "go east")
    text = chat.decode(ids)
    assert "A hall." in text and "A room." in text and text.endswith("<|im_start|>assistant\ngo east")
    assert (chat.decode(ids[start:end]), end) == ("go east", len(ids))


def test_a_template_without_a_system_role():
    model = chat_model(TEXTS, GEMMA_LIKE)
    format = ChatFormat(model, ChatTexts("Play."))
    text = model.decode(format.sequence(ROWS[:1]).ids)
    assert text == (
        "<|endoftext|><|im_start|>user\nPlay.\n\nYour task: find it\n\nYou see: A hall.\n\nYour action: <|im_end|>\n"
        "<|im_start|>model\ngo east<|im_end|>\n<|im_start|>user\nA <|im_end|> room. <|im_end|>\n<|im_start|>model\n"
    )
    assert format.stop == model.tokenizer.convert_tokens_to_ids("<|im_end|>")


def test_a_model_without_a_template():
    model = chat_model(TEXTS, None)
    format = ChatFormat(model, ChatTexts("Play."))
    assert model.decode(format.sequence(ROWS[:1]).ids) == (
        "<|endoftext|>Play.\n\nYour task: find it\n\nYou see: A hall.\n\nYour action:\n\nAction:\n"
        "go east<|im_end|>\n\nA <|im_end|> room.\n\nAction:\n"
    )


def test_a_template_that_drops_messages_is_refused():
    model = chat_model(TEXTS, CHATML.replace("m['content']", "'' "))
    with pytest.raises(InvalidData, match="does not show every message"):
        find_frames(model)


def test_excluded_actions_are_not_listed(chat):
    format = ChatFormat(chat, ChatTexts(list_actions=True))
    policy = GeneratePolicy(chat, format, ActionMenu(("look",)))
    ((_, tokens),) = transcribe(policy.transcript(), ROWS, policy.menu, policy)
    assert "- look" not in chat.decode(tokens.ids) and "- go west" in chat.decode(tokens.ids)
