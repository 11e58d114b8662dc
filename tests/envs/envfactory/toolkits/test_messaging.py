from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.messaging import Messaging


def _member(name: str) -> dict[str, object]:
    return {"member_name": name, "email": name.split()[0].lower() + "@example.com", "presence": "busy"}


STATE = {
    "today": "2025-11-10",
    "me": "MB1",
    "members": {"MB1": _member("Ada Brandt"), "MB2": _member("Bela Novak"), "MB3": _member("Zoe Sato")},
    "channels": {
        "CH1": {"channel_name": "general", "topic": "All", "members": ["MB1", "MB2"]},
        "CH2": {"channel_name": "hiring", "topic": "Dates", "members": ["MB2"]},
        "CH3": {"channel_name": "old", "topic": "Old", "members": ["MB1"], "archived": True},
    },
    "messages": {
        "MS1": {"channel": "CH1", "author": "MB2", "text": "The badges are here", "sent_on": "2025-11-01"},
        "MS2": {"channel": "CH3", "author": "MB1", "text": "Old badges", "sent_on": "2025-01-01"},
    },
    "direct_messages": {},
}

STEPS: list[Step] = [
    ("find_member", {"member_name": "Zoe Sato"}, {"member": "MB3", "email": "zoe@example.com"}),
    ("find_member", {"member_name": "Zoe"}, "no member"),
    ("find_channel", {"channel_name": "general"}, {"channel": "CH1", "members": ["MB1", "MB2"]}),
    ("find_channel", {"channel_name": "#general"}, "no channel"),
    ("list_messages", {"channel": "CH1"}, [{"message": "MS1", "author": "MB2"}]),
    ("list_messages", {"channel": "CH9"}, "no channel"),
    ("search_messages", {"word": "Badges"}, [{"message": "MS1"}, {"message": "MS2"}]),
    ("search_messages", {"word": "be"}, "three characters"),
    (
        "post_message",
        {"channel": "CH1", "text": "Thanks"},
        {"message": "MS1000", "author": "MB1", "sent_on": "2025-11-10", "thread": None},
    ),
    ("post_message", {"channel": "CH2", "text": "Hello"}, "you are not in channel CH2"),
    ("post_message", {"channel": "CH3", "text": "Hello"}, "is archived"),
    ("post_message", {"channel": "CH1", "text": "  "}, "is empty"),
    (
        "reply_in_thread",
        {"message": "MS1", "text": "Where?"},
        {"message": "MS1001", "channel": "CH1", "thread": "MS1"},
    ),
    ("reply_in_thread", {"message": "MS2", "text": "Where?"}, "is archived"),
    ("pin_message", {"message": "MS1"}, {"pinned": True}),
    ("pin_message", {"message": "MS1"}, "already"),
    ("send_direct_message", {"member": "MB2", "text": "Psst"}, {"direct_message": "DM1000", "author": "MB1"}),
    ("send_direct_message", {"member": "MB1", "text": "Psst"}, "yourself"),
    (
        "create_channel",
        {"channel_name": "office-move", "topic": "Boxes"},
        {"channel": "CH1000", "members": ["MB1"], "archived": False},
    ),
    ("create_channel", {"channel_name": "office-move", "topic": "Desks"}, "already"),
    ("create_channel", {"channel_name": "office move", "topic": "Desks"}, "letters, digits and hyphens"),
    ("add_to_channel", {"channel": "CH1000", "member": "MB3"}, {"members": ["MB1", "MB3"]}),
    ("add_to_channel", {"channel": "CH1000", "member": "MB3"}, "already"),
    ("add_to_channel", {"channel": "CH3", "member": "MB3"}, "is archived"),
    ("remove_from_channel", {"channel": "CH1000", "member": "MB1"}, {"members": ["MB3"]}),
    ("remove_from_channel", {"channel": "CH1000", "member": "MB1"}, "is not in channel"),
    ("set_topic", {"channel": "CH1", "topic": "Everything"}, {"topic": "Everything"}),
    ("set_topic", {"channel": "CH1", "topic": "Everything"}, "the same as before"),
    ("archive_channel", {"channel": "CH1"}, {"archived": True}),
    ("archive_channel", {"channel": "CH1"}, "is archived"),
]


def test_every_tool() -> None:
    follow(Messaging, STATE, STEPS)
