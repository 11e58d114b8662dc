"""`Messaging`: the chat of a team: members, channels, messages and direct messages."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.days import days_after
from envrl.envs.envfactory.toolkits.names import email_of, people

ChannelName = Annotated[
    str, pydantic.Field(examples=["book-club", "ideas", "new-website", "running", "travel-plans"])
]
Topic = Annotated[
    str,
    pydantic.Field(examples=["Ideas of all kinds", "Read this first", "Who does what", "Wins of the week"]),
]
Text = Annotated[
    str,
    pydantic.Field(
        examples=["Back in ten minutes", "I can take that", "Please look at this today", "Thanks, that helps"]
    ),
]
SearchWord = Annotated[
    str, pydantic.Field(examples=["badges", "points", "printer", "report", "room", "ticket", "version"])
]
Presence = Literal["available", "away", "busy"]
_PRESENCES: tuple[Presence, ...] = ("available", "away", "busy")
_CHANNELS = (
    ("general", "What concerns everybody"),
    ("garden", "Who waters the plants"),
    ("hiring", "Candidates and dates"),
    ("kitchen", "Lunch and dishes"),
    ("launch", "Open points before the launch"),
    ("office-move", "Boxes, desks and keys"),
    ("support", "Customers who wait"),
)
_TEXTS = (
    "The {n} new badges are here",
    "Please read page {n} of the report",
    "Room {n} is free after lunch",
    "We are {n} points ahead of plan",
    "Ticket {n} can be closed",
    "I need {n} minutes of your time tomorrow",
    "The printer on floor {n} is out of paper",
    "Version {n} is on the test server",
)


class Member(pydantic.BaseModel):
    """Somebody in the team."""

    member_name: str
    email: str
    presence: Presence


class Channel(pydantic.BaseModel):
    """A channel; ``members`` holds ids of members."""

    channel_name: str
    topic: str
    members: list[str]
    archived: bool = False


class Message(pydantic.BaseModel):
    """A message in a channel. ``thread`` is the message that it answers."""

    channel: str
    author: str
    text: str
    sent_on: str
    pinned: bool = False
    thread: str | None = None


class DirectMessage(pydantic.BaseModel):
    """A message that one member alone gets."""

    author: str
    member: str
    text: str
    sent_on: str


class MessagingState(pydantic.BaseModel):
    """The chat as the member ``me`` uses it. Ids are the keys of the tables."""

    today: str
    me: str
    members: dict[str, Member]
    channels: dict[str, Channel]
    messages: dict[str, Message]
    direct_messages: dict[str, DirectMessage]


class MemberView(Member):
    """A member with the id."""

    member: str


class ChannelView(Channel):
    """A channel with its id."""

    channel: str


class MessageView(Message):
    """A message with its id."""

    message: str


class DirectMessageView(DirectMessage):
    """A direct message with its id."""

    direct_message: str


class Messaging(Toolkit):
    """Channels, messages and members."""

    State = MessagingState
    policy = "Chat: only members of a channel can write in it. Nothing can be changed in an archived channel."
    unordered = ("channels", "messages", "direct_messages", "channels.*.members")
    nouns: ClassVar = {
        "member": "{member_name}",
        "channel": "the channel #{channel_name}",
        "message": 'the message "{text}"',
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> MessagingState:
        """Seven members, five channels (one of them archived), sixteen messages."""
        today = "2025-11-10"
        numbers = iter(rng.permutation(900) + 100)
        members = {}
        for name in people(rng, 7):
            presence = _PRESENCES[int(rng.integers(3))]
            members[f"MB{next(numbers)}"] = Member(member_name=name, email=email_of(name), presence=presence)
        ids = list(members)
        state = MessagingState(
            today=today, me=ids[0], members=members, channels={}, messages={}, direct_messages={}
        )
        for index, choice in enumerate(rng.permutation(len(_CHANNELS))[:5]):
            channel_name, topic = _CHANNELS[int(choice)]
            others = [ids[int(i) + 1] for i in sorted(rng.permutation(6)[: int(rng.integers(2, 6))])]
            state.channels[f"CH{next(numbers)}"] = Channel(
                channel_name=channel_name,
                topic=topic,
                members=others if index == 3 else [ids[0], *others],
                archived=index == 4,
            )
        channels = list(state.channels)
        for index in range(16):
            channel = channels[int(rng.integers(5))]
            writers = state.channels[channel].members
            state.messages[f"MS{next(numbers)}"] = Message(
                channel=channel,
                author=writers[int(rng.integers(len(writers)))],
                text=_TEXTS[int(rng.integers(len(_TEXTS)))].format(n=int(rng.integers(2, 90))),
                sent_on=days_after(today, index // 2 - 9),
                pinned=bool(rng.random() < 0.15),
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up {member_name} in the chat.",))
    def find_member(self, member_name: str) -> MemberView:
        """Find a member by name: email address and whether they are there.

        Args:
            member_name: full name
        """
        for key, member in self.state.members.items():
            if member.member_name == member_name:
                return MemberView(member=key, **member.__dict__)
        raise ToolError(f"no member is called {member_name!r}")

    @tool(effect="read", phrases=("Look up the channel {channel_name}.",))
    def find_channel(self, channel_name: str) -> ChannelView:
        """Find a channel by name: topic and members.

        Args:
            channel_name: the whole name, without #
        """
        for key, channel in self.state.channels.items():
            if channel.channel_name == channel_name:
                return ChannelView(channel=key, **channel.__dict__)
        raise ToolError(f"no channel is called {channel_name!r}")

    @tool(effect="read", phrases=("List the messages in {channel}.",))
    def list_messages(self, channel: str) -> list[MessageView]:
        """List the messages of a channel, oldest first.

        Args:
            channel: id of the channel, such as CH123
        """
        self._channel(channel)
        messages = self.state.messages.items()
        return [MessageView(message=k, **m.__dict__) for k, m in messages if m.channel == channel]

    @tool(effect="read", phrases=('Search the chat for "{word}".',))
    def search_messages(self, word: SearchWord) -> list[MessageView]:
        """List the messages that have a word in them, oldest first.

        Args:
            word: what to look for, at least three characters
        """
        wanted = word.strip().lower()
        if len(wanted) < 3:
            raise ToolError(f"expected at least three characters to look for, got {word!r}")
        messages = self.state.messages.items()
        return [MessageView(message=k, **m.__dict__) for k, m in messages if wanted in m.text.lower()]

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=('Write "{text}" in {channel}.', 'Post "{text}" in {channel}.'))
    def post_message(self, channel: str, text: Text) -> MessageView:
        """Write a message in a channel that you are in.

        Args:
            channel: id of the channel
            text: the message
        """
        return self._post(channel, text, None)

    @tool(effect="write", phrases=('Answer "{text}" to {message}.',))
    def reply_in_thread(self, message: str, text: Text) -> MessageView:
        """Answer a message in its channel.

        Args:
            message: id of the message, such as MS123
            text: the answer
        """
        return self._post(self._message(message).channel, text, message)

    @tool(effect="write", phrases=("Pin {message}.",))
    def pin_message(self, message: str) -> MessageView:
        """Pin a message to its channel.

        Args:
            message: id of the message
        """
        found = self._message(message)
        self._live(found.channel)
        if found.pinned:
            raise ToolError(f"message {message} is pinned already")
        found.pinned = True
        return MessageView(message=message, **found.__dict__)

    @tool(effect="write", phrases=('Send {member} the direct message "{text}".',))
    def send_direct_message(self, member: str, text: Text) -> DirectMessageView:
        """Write to one member alone.

        Args:
            member: id of the member, such as MB123
            text: the message
        """
        self._member(member)
        if member == self.state.me:
            raise ToolError("you cannot write to yourself")
        if not text.strip():
            raise ToolError("the message is empty")
        key = next_id("DM", self.state.direct_messages, first=1000)
        self.state.direct_messages[key] = DirectMessage(
            author=self.state.me, member=member, text=text, sent_on=self.state.today
        )
        return DirectMessageView(direct_message=key, **self.state.direct_messages[key].__dict__)

    @tool(effect="write", phrases=('Make a channel {channel_name} about "{topic}".',))
    def create_channel(self, channel_name: ChannelName, topic: Topic) -> ChannelView:
        """Make a channel in which you are the only member.

        Args:
            channel_name: letters, digits and hyphens; a name that no channel has
            topic: what it is about
        """
        if not channel_name.replace("-", "").isalnum():
            raise ToolError(f"a channel's name has letters, digits and hyphens only, got {channel_name!r}")
        if any(channel.channel_name == channel_name for channel in self.state.channels.values()):
            raise ToolError(f"there is a channel {channel_name!r} already")
        key = next_id("CH", self.state.channels, first=1000)
        channel = Channel(channel_name=channel_name, topic=topic, members=[self.state.me])
        self.state.channels[key] = channel
        return ChannelView(channel=key, **channel.__dict__)

    @tool(effect="write", phrases=("Add {member} to {channel}.",))
    def add_to_channel(self, channel: str, member: str) -> ChannelView:
        """Add a member to a channel.

        Args:
            channel: id of the channel
            member: id of the member
        """
        found = self._live(channel)
        self._member(member)
        if member in found.members:
            raise ToolError(f"member {member} is in channel {channel} already")
        found.members.append(member)
        return ChannelView(channel=channel, **found.__dict__)

    @tool(effect="write", phrases=("Take {member} out of {channel}.",))
    def remove_from_channel(self, channel: str, member: str) -> ChannelView:
        """Take a member out of a channel.

        Args:
            channel: id of the channel
            member: id of the member
        """
        found = self._live(channel)
        if member not in found.members:
            raise ToolError(f"member {member!r} is not in channel {channel}")
        found.members.remove(member)
        return ChannelView(channel=channel, **found.__dict__)

    @tool(effect="write", phrases=('Change the topic of {channel} to "{topic}".',))
    def set_topic(self, channel: str, topic: Topic) -> ChannelView:
        """Change the topic of a channel.

        Args:
            channel: id of the channel
            topic: what it is about
        """
        found = self._live(channel)
        if not topic.strip() or topic == found.topic:
            raise ToolError("the topic is empty or the same as before")
        found.topic = topic
        return ChannelView(channel=channel, **found.__dict__)

    @tool(effect="write", phrases=("Archive {channel}.",))
    def archive_channel(self, channel: str) -> ChannelView:
        """Archive a channel, so that nobody writes in it any more.

        Args:
            channel: id of the channel
        """
        found = self._live(channel)
        found.archived = True
        return ChannelView(channel=channel, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _member(self, member: str) -> Member:
        found: Member | None = self.state.members.get(member)
        if found is None:
            raise ToolError(f"no member {member!r}")
        return found

    def _channel(self, channel: str) -> Channel:
        found: Channel | None = self.state.channels.get(channel)
        if found is None:
            raise ToolError(f"no channel {channel!r}")
        return found

    def _live(self, channel: str) -> Channel:
        found = self._channel(channel)
        if found.archived:
            raise ToolError(f"channel {channel} is archived")
        return found

    def _message(self, message: str) -> Message:
        found: Message | None = self.state.messages.get(message)
        if found is None:
            raise ToolError(f"no message {message!r}")
        return found

    def _post(self, channel: str, text: str, thread: str | None) -> MessageView:
        if self.state.me not in self._live(channel).members:
            raise ToolError(f"you are not in channel {channel}")
        if not text.strip():
            raise ToolError("the message is empty")
        key = next_id("MS", self.state.messages, first=1000)
        message = Message(
            channel=channel, author=self.state.me, text=text, sent_on=self.state.today, thread=thread
        )
        self.state.messages[key] = message
        return MessageView(message=key, **message.__dict__)
