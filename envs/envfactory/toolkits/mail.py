"""`Mail`: one person's mailbox and address book."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.addresses import NewName, checked_email
from envrl.envs.envfactory.toolkits.days import days_after
from envrl.envs.envfactory.toolkits.names import email_of, people

Subject = Annotated[
    str, pydantic.Field(examples=["Photos from Sunday", "Plan for next week", "Short question", "Thank you"])
]
Body = Annotated[
    str,
    pydantic.Field(
        examples=[
            "Can we talk on Monday?",
            "I will be ten minutes late.",
            "Thank you, that suits me.",
            "The papers are on your desk.",
        ]
    ),
]
SearchWord = Annotated[
    str, pydantic.Field(examples=["contract", "invoice", "keys", "meeting", "parcel", "tickets", "training"])
]
Mailbox = Literal["inbox", "archive", "spam", "sent", "trash"]
Label = Literal["family", "finance", "travel", "urgent", "work"]
_LETTERS = (
    ("Dinner on Friday", "We booked a table for {n} at seven. Does that suit you?"),
    ("Invoice {n}", "Please find the invoice over {n} euros; it is due in two weeks."),
    ("Keys to the flat", "The keys are with the neighbour on floor {n}."),
    ("Minutes of the meeting", "We agreed on {n} open points; yours is the first."),
    ("New price list", "From next month the unit costs {n} euros."),
    ("Parcel for you", "Parcel {n} is waiting at the front desk."),
    ("Question about the contract", "Clause {n} reads oddly to me. What do you think?"),
    ("Train tickets", "I got seats {n} and the one beside it."),
    ("Training place", "You are number {n} on the waiting list."),
    ("Your prize", "You have won {n} euros, click quickly."),
)


class Letter(pydantic.BaseModel):
    """A mail. ``sender`` and ``recipient`` are addresses; ``reply_to`` is the mail it answers."""

    sender: str
    recipient: str
    subject: str
    body: str
    sent_on: str
    mailbox: Mailbox
    unread: bool = False
    labels: list[Label] = []
    reply_to: str | None = None


class Entry(pydantic.BaseModel):
    """Somebody in the address book."""

    full_name: str
    email: str


class MailState(pydantic.BaseModel):
    """The mailbox of the person whose address is ``me``. Ids are the keys of the tables."""

    today: str
    me: str
    mails: dict[str, Letter]
    entries: dict[str, Entry]


class MailHead(pydantic.BaseModel):
    """A mail as a list shows it."""

    mail: str
    sender: str
    recipient: str
    subject: str
    sent_on: str
    mailbox: Mailbox
    unread: bool


class MailView(Letter):
    """A mail with its id."""

    mail: str


class EntryView(Entry):
    """Somebody in the address book with the entry's id."""

    entry: str


class Mail(Toolkit):
    """Mails and the address book."""

    State = MailState
    policy = "Mail: what is sent cannot be taken back."
    unordered = ("mails", "mails.*.labels", "entries")
    nouns: ClassVar = {
        "mail": 'the mail "{subject}" from {sender}',
        "entry": "the address book entry of {full_name}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> MailState:
        """Six people in the address book and sixteen mails."""
        today = "2025-06-02"
        names = people(rng, 9)
        me = email_of(names[0])
        numbers = iter(rng.permutation(900) + 100)
        state = MailState(today=today, me=me, mails={}, entries={})
        for name in names[1:7]:
            state.entries[f"AB{next(numbers)}"] = Entry(full_name=name, email=email_of(name))
        for index in range(16):
            subject, body = _LETTERS[int(rng.integers(len(_LETTERS)))]
            number, other = int(rng.integers(3, 900)), email_of(names[int(rng.integers(1, 9))])
            mine = index % 4 == 3
            mailbox: Mailbox = "inbox" if rng.random() < 0.7 else "archive"
            if subject == "Your prize":
                mailbox = "spam"
            state.mails[f"ML{next(numbers)}"] = Letter(
                sender=me if mine else other,
                recipient=other if mine else me,
                subject=subject.format(n=number),
                body=body.format(n=number),
                sent_on=days_after(today, index - 20),
                mailbox="sent" if mine else mailbox,
                unread=not mine and mailbox == "inbox" and bool(rng.random() < 0.5),
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up {full_name} in the address book.",))
    def find_address(self, full_name: str) -> EntryView:
        """Look somebody up in the address book.

        Args:
            full_name: first and last name
        """
        for key, entry in self.state.entries.items():
            if entry.full_name == full_name:
                return EntryView(entry=key, **entry.__dict__)
        raise ToolError(f"{full_name!r} is not in the address book")

    @tool(effect="read", phrases=("List the mails from and to {email}.",))
    def list_mails_with(self, email: str) -> list[MailHead]:
        """List the mails from and to an address, oldest first.

        Args:
            email: email address of the other person
        """
        checked_email(email)
        return [_head(key, m) for key, m in self.state.mails.items() if email in (m.sender, m.recipient)]

    @tool(effect="read", phrases=('Search the mails for "{word}".',))
    def search_mails(self, word: SearchWord) -> list[MailHead]:
        """List the mails that have a word in their subject or text, oldest first.

        Args:
            word: what to look for, at least three characters
        """
        wanted = word.strip().lower()
        if len(wanted) < 3:
            raise ToolError(f"expected at least three characters to look for, got {word!r}")
        return [
            _head(key, mail)
            for key, mail in self.state.mails.items()
            if wanted in mail.subject.lower() or wanted in mail.body.lower()
        ]

    @tool(effect="read", phrases=("Open {mail}.",))
    def get_mail(self, mail: str) -> MailView:
        """Show a mail with its text; it stays unread if it was.

        Args:
            mail: id of the mail, such as ML123
        """
        return MailView(mail=mail, **self._mail(mail).__dict__)

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(
        effect="write",
        phrases=('Write to {email} with the subject "{subject}": "{body}"',),
    )
    def send_mail(self, email: str, subject: Subject, body: Body) -> MailView:
        """Send a mail.

        Args:
            email: email address that it goes to
            subject: a few words
            body: the text
        """
        return self._send(email, subject, body, None)

    @tool(effect="write", phrases=('Answer {mail} with "{body}"',))
    def reply_to_mail(self, mail: str, body: Body) -> MailView:
        """Answer a mail that somebody else sent.

        Args:
            mail: id of the mail
            body: the text
        """
        found = self._kept(mail)
        if found.sender == self.state.me:
            raise ToolError(f"mail {mail} is your own")
        return self._send(found.sender, f"Re: {found.subject}", body, mail)

    @tool(effect="write", phrases=("Forward {mail} to {email}.",))
    def forward_mail(self, mail: str, email: str) -> MailView:
        """Send a mail's text on to somebody.

        Args:
            mail: id of the mail
            email: email address that it goes to
        """
        found = self._kept(mail)
        return self._send(email, f"Fwd: {found.subject}", found.body, None)

    @tool(effect="write", phrases=("Mark {mail} as read.",))
    def mark_mail_read(self, mail: str) -> MailView:
        """Mark an unread mail as read.

        Args:
            mail: id of the mail
        """
        found = self._mail(mail)
        if not found.unread:
            raise ToolError(f"mail {mail} has been read already")
        found.unread = False
        return MailView(mail=mail, **found.__dict__)

    @tool(effect="write", phrases=("Move {mail} to {mailbox}.",))
    def move_mail(self, mail: str, mailbox: Mailbox) -> MailView:
        """Move a mail to another mailbox; nothing can be moved to "sent".

        Args:
            mail: id of the mail
            mailbox: where it goes
        """
        found = self._mail(mail)
        if mailbox == "sent" or mailbox == found.mailbox:
            raise ToolError(f"mail {mail} is in {found.mailbox} and cannot be moved to {mailbox}")
        found.mailbox = mailbox
        return MailView(mail=mail, **found.__dict__)

    @tool(effect="write", phrases=("Label {mail} as {label}.",))
    def label_mail(self, mail: str, label: Label) -> MailView:
        """Give a mail a label.

        Args:
            mail: id of the mail
            label: the label
        """
        found = self._kept(mail)
        if label in found.labels:
            raise ToolError(f"mail {mail} has the label {label} already")
        found.labels.append(label)
        return MailView(mail=mail, **found.__dict__)

    @tool(effect="write", phrases=("Add {full_name} with the address {email} to the address book.",))
    def add_address(self, full_name: NewName, email: str) -> EntryView:
        """Add somebody to the address book.

        Args:
            full_name: first and last name
            email: email address of the person
        """
        checked_email(email)
        if not full_name.strip():
            raise ToolError("the name is empty")
        if any(full_name == entry.full_name for entry in self.state.entries.values()):
            raise ToolError(f"{full_name} is in the address book already")
        key = next_id("AB", self.state.entries, first=1000)
        self.state.entries[key] = Entry(full_name=full_name, email=email)
        return EntryView(entry=key, **self.state.entries[key].__dict__)

    @tool(effect="write", phrases=("The new address of {entry} is {email}.",))
    def change_address(self, entry: str, email: str) -> EntryView:
        """Change the email address of somebody in the address book.

        Args:
            entry: id of the entry, such as AB123
            email: the new email address
        """
        found: Entry | None = self.state.entries.get(entry)
        if found is None:
            raise ToolError(f"no address book entry {entry!r}")
        if found.email == checked_email(email):
            raise ToolError(f"{email} is the address of {entry} already")
        found.email = email
        return EntryView(entry=entry, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _mail(self, mail: str) -> Letter:
        found: Letter | None = self.state.mails.get(mail)
        if found is None:
            raise ToolError(f"no mail {mail!r}")
        return found

    def _kept(self, mail: str) -> Letter:
        found = self._mail(mail)
        if found.mailbox in ("spam", "trash"):
            raise ToolError(f"mail {mail} is in {found.mailbox}")
        return found

    def _send(self, email: str, subject: str, body: str, reply_to: str | None) -> MailView:
        checked_email(email)
        if not subject.strip() or not body.strip():
            raise ToolError("a mail needs a subject and a text")
        key = next_id("ML", self.state.mails, first=1000)
        letter = Letter(
            sender=self.state.me,
            recipient=email,
            subject=subject,
            body=body,
            sent_on=self.state.today,
            mailbox="sent",
            reply_to=reply_to,
        )
        self.state.mails[key] = letter
        return MailView(mail=key, **letter.__dict__)


def _head(key: str, mail: Letter) -> MailHead:
    return MailHead(mail=key, **{name: getattr(mail, name) for name in list(MailHead.model_fields)[1:]})
