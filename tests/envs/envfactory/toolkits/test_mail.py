from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.mail import Mail

ME, BELA, CHIDI = "me@example.com", "bela@example.com", "chidi@example.com"


def _mail(sender: str, recipient: str, subject: str, mailbox: str, unread: bool = False) -> dict[str, object]:
    fields = {"sender": sender, "recipient": recipient, "subject": subject, "body": f"{subject}, in full"}
    return {**fields, "sent_on": "2025-05-30", "mailbox": mailbox, "unread": unread}


STATE = {
    "today": "2025-06-02",
    "me": ME,
    "mails": {
        "ML1": _mail(BELA, ME, "Keys", "inbox", True),
        "ML2": _mail(ME, BELA, "Thanks", "sent"),
        "ML3": _mail(CHIDI, ME, "Your prize", "spam"),
    },
    "entries": {"AB1": {"full_name": "Bela Novak", "email": BELA}},
}

STEPS: list[Step] = [
    ("find_address", {"full_name": "Bela Novak"}, {"email": BELA, "entry": "AB1"}),
    ("find_address", {"full_name": "Bela"}, "not in the address book"),
    ("list_mails_with", {"email": BELA}, [{"mail": "ML1"}, {"mail": "ML2"}]),
    ("list_mails_with", {"email": "bela"}, "no email address"),
    ("search_mails", {"word": "prize"}, [{"mail": "ML3"}]),
    ("search_mails", {"word": "a"}, "three characters"),
    ("get_mail", {"mail": "ML1"}, {"body": "Keys, in full", "unread": True}),
    ("get_mail", {"mail": "ML9"}, "no mail"),
    (
        "send_mail",
        {"email": CHIDI, "subject": "Hello", "body": "How are you?"},
        {"mail": "ML1000", "sender": ME, "mailbox": "sent", "sent_on": "2025-06-02", "reply_to": None},
    ),
    ("send_mail", {"email": CHIDI, "subject": " ", "body": "x"}, "needs a subject"),
    ("send_mail", {"email": "chidi.example.com", "subject": "x", "body": "x"}, "no email address"),
    (
        "reply_to_mail",
        {"mail": "ML1", "body": "Got them"},
        {"mail": "ML1001", "subject": "Re: Keys", "recipient": BELA, "reply_to": "ML1"},
    ),
    ("reply_to_mail", {"mail": "ML2", "body": "x"}, "your own"),
    ("reply_to_mail", {"mail": "ML3", "body": "x"}, "in spam"),
    (
        "forward_mail",
        {"mail": "ML1", "email": CHIDI},
        {"subject": "Fwd: Keys", "body": "Keys, in full", "recipient": CHIDI},
    ),
    ("forward_mail", {"mail": "ML3", "email": CHIDI}, "in spam"),
    ("mark_mail_read", {"mail": "ML1"}, {"unread": False}),
    ("mark_mail_read", {"mail": "ML1"}, "read already"),
    ("move_mail", {"mail": "ML1", "mailbox": "archive"}, {"mailbox": "archive"}),
    ("move_mail", {"mail": "ML1", "mailbox": "archive"}, "cannot be moved"),
    ("move_mail", {"mail": "ML1", "mailbox": "sent"}, "cannot be moved"),
    ("label_mail", {"mail": "ML1", "label": "family"}, {"labels": ["family"]}),
    ("label_mail", {"mail": "ML1", "label": "family"}, "already"),
    ("add_address", {"full_name": "Chidi Okafor", "email": CHIDI}, {"entry": "AB1000"}),
    ("add_address", {"full_name": "Chidi Okafor", "email": BELA}, "already"),
    ("change_address", {"entry": "AB1", "email": "b.novak@example.com"}, {"email": "b.novak@example.com"}),
    ("change_address", {"entry": "AB1", "email": "b.novak@example.com"}, "already"),
]


def test_every_tool() -> None:
    follow(Mail, STATE, STEPS)
