"""`Calendar`: events of a team, who comes, and the meeting rooms they take."""

from typing import Annotated, ClassVar

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.addresses import checked_email
from envrl.envs.envfactory.toolkits.days import checked_day, days_after, minutes_of, time_of
from envrl.envs.envfactory.toolkits.names import email_of, people

Title = Annotated[
    str,
    pydantic.Field(examples=["Book club", "Bike check", "Data workshop", "Farewell coffee", "Quarter close"]),
]
Seats = Annotated[int, pydantic.Field(examples=[2, 4, 6, 8, 10])]
Minutes = Annotated[int, pydantic.Field(examples=[5, 10, 15, 30, 60])]
_TITLES = (
    "Budget round", "Design review", "Hiring talk", "Kick-off", "Lunch and learn", "Press call", "Retrospective",
    "Road map", "Safety drill", "Sales forecast", "Supplier visit", "Town hall", "Training", "Weekly stand-up",
)  # fmt: skip
_ROOMS = ("Amber", "Birch", "Cedar", "Dune", "Ember", "Fjord", "Grove")


class Room(pydantic.BaseModel):
    """A meeting room."""

    room_name: str
    seats: int
    floor: int


class Event(pydantic.BaseModel):
    """Something that takes place on one day. The organiser is no attendee."""

    title: str
    organizer_email: str
    date: str
    start: str
    end: str
    room: str | None = None
    attendee_emails: list[str] = []
    reminder_minutes: int | None = None


class CalendarState(pydantic.BaseModel):
    """The calendar of the person whose address is ``me``. Ids are the keys of the tables."""

    today: str
    me: str
    rooms: dict[str, Room]
    events: dict[str, Event]


class RoomView(Room):
    """A room with its id."""

    room: str


class EventView(Event):
    """An event with its id."""

    event: str


class Calendar(Toolkit):
    """Events, attendees and rooms."""

    State = CalendarState
    policy = (
        "Calendar: all times are on a 24-hour clock. A room holds one event at a time and no more people than it has "
        "seats, the organiser included."
    )
    unordered = ("events", "events.*.attendee_emails")
    nouns: ClassVar = {
        "event": 'the event "{title}" on {date}',
        "room": "the room {room_name}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> CalendarState:
        """Five rooms and fourteen events over eight days."""
        today = "2025-05-12"
        names = people(rng, 9)
        emails = [email_of(name) for name in names]
        numbers = iter(rng.permutation(900) + 100)
        state = CalendarState(today=today, me=emails[0], rooms={}, events={})
        for place in rng.permutation(len(_ROOMS))[:5]:
            seats = int(rng.choice([4, 6, 8, 12, 20]))
            state.rooms[f"RM{next(numbers)}"] = Room(
                room_name=_ROOMS[int(place)], seats=seats, floor=int(rng.integers(1, 5))
            )
        rooms = list(state.rooms)
        titles = rng.permutation(len(_TITLES))
        for index in range(14):
            start = 8 * 60 + 30 * int(rng.integers(0, 17))
            end = start + 30 * int(rng.integers(1, 5))
            guests = sorted(rng.permutation(8)[: int(rng.integers(1, 4))] + 1)
            event = Event(
                title=_TITLES[int(titles[index])],
                organizer_email=emails[0] if rng.random() < 0.6 else emails[int(rng.integers(1, 9))],
                date=days_after(today, int(rng.integers(0, 8))),
                start=time_of(start),
                end=time_of(end),
                attendee_emails=[emails[int(guest)] for guest in guests],
            )
            event.attendee_emails = [
                email for email in event.attendee_emails if email != event.organizer_email
            ]
            room = rooms[int(rng.integers(5))]
            if rng.random() < 0.6 and not _clash(state, room, event):
                event.room = room
            state.events[f"EV{next(numbers)}"] = event
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("List the events on {date}.",))
    def list_events(self, date: str) -> list[EventView]:
        """List the events of a day by their start.

        Args:
            date: the day as YYYY-MM-DD
        """
        checked_day(date)
        found = [EventView(event=k, **e.__dict__) for k, e in self.state.events.items() if e.date == date]
        return sorted(found, key=lambda event: (event.start, event.event))

    @tool(effect="read", phrases=('Look up the event "{title}".',))
    def find_event(self, title: str) -> EventView:
        """Find the next event with a title, today's included.

        Args:
            title: the whole title
        """
        coming = [
            (event.date, event.start, key)
            for key, event in self.state.events.items()
            if event.title == title and event.date >= self.state.today
        ]
        if not coming:
            raise ToolError(f"no coming event is called {title!r}")
        key = min(coming)[2]
        return EventView(event=key, **self.state.events[key].__dict__)

    @tool(effect="read", phrases=("List the events of {email}.",))
    def list_events_of(self, email: str) -> list[EventView]:
        """List the events that somebody organises or comes to, in the order of time.

        Args:
            email: email address of the person
        """
        found = [
            EventView(event=key, **event.__dict__)
            for key, event in self.state.events.items()
            if email == event.organizer_email or email in event.attendee_emails
        ]
        if not found:
            raise ToolError(f"{email!r} is in no event")
        return sorted(found, key=lambda event: (event.date, event.start, event.event))

    @tool(effect="read", phrases=("List the rooms with at least {min_seats} seats.",))
    def list_rooms(self, min_seats: Seats) -> list[RoomView]:
        """List the rooms that are large enough, the smallest first.

        Args:
            min_seats: how many seats are needed, at least 1
        """
        if min_seats < 1:
            raise ToolError(f"expected at least 1 seat, got {min_seats}")
        found = [RoomView(room=k, **r.__dict__) for k, r in self.state.rooms.items() if r.seats >= min_seats]
        return sorted(found, key=lambda room: (room.seats, room.room))

    @tool(effect="read", phrases=("List what takes place in {room} on {date}.",))
    def list_room_events(self, room: str, date: str) -> list[EventView]:
        """List what takes place in a room on a day.

        Args:
            room: id of the room, such as RM123
            date: the day as YYYY-MM-DD
        """
        self._room(room)
        return [event for event in self.list_events(date) if event.room == room]

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(
        effect="write",
        phrases=('Put "{title}" on {date} from {start} to {end} into the calendar.',),
    )
    def create_event(self, title: Title, date: str, start: str, end: str) -> EventView:
        """Make an event of your own, without attendees and room.

        Args:
            title: a few words
            date: the day as YYYY-MM-DD, today or later
            start: time as HH:MM
            end: time as HH:MM, after the start
        """
        if not title.strip():
            raise ToolError("the title is empty")
        checked_day(date, not_before=self.state.today)
        if minutes_of(start) >= minutes_of(end):
            raise ToolError(f"{end} does not come after {start}")
        key = next_id("EV", self.state.events, first=1000)
        event = Event(title=title, organizer_email=self.state.me, date=date, start=start, end=end)
        self.state.events[key] = event
        return EventView(event=key, **event.__dict__)

    @tool(effect="write", phrases=("Move {event} to {date} at {start}.",))
    def move_event(self, event: str, date: str, start: str) -> EventView:
        """Move an event; it stays as long as it is, and in its room if that is free then.

        Args:
            event: id of the event, such as EV123
            date: the new day as YYYY-MM-DD, today or later
            start: the new start as HH:MM
        """
        found = self._event(event)
        checked_day(date, not_before=self.state.today)
        end = minutes_of(start) + minutes_of(found.end) - minutes_of(found.start)
        if end >= 24 * 60:
            raise ToolError(f"event {event} would end after midnight")
        if (date, start) == (found.date, found.start):
            raise ToolError(f"event {event} is at {start} on {date} already")
        moved = found.model_copy(update={"date": date, "start": start, "end": time_of(end)})
        if found.room is not None and _clash(self.state, found.room, moved, leaving_out=event):
            raise ToolError(f"room {found.room} is taken then")
        found.date, found.start, found.end = moved.date, moved.start, moved.end
        return EventView(event=event, **found.__dict__)

    @tool(effect="write", phrases=("Book {room} for {event}.",))
    def book_room(self, event: str, room: str) -> EventView:
        """Give an event a room, in place of the one it may have.

        Args:
            event: id of the event
            room: id of the room
        """
        found, place = self._event(event), self._room(room)
        if found.room == room:
            raise ToolError(f"event {event} is in {room} already")
        if len(found.attendee_emails) + 1 > place.seats:
            raise ToolError(f"room {room} has only {place.seats} seats")
        if _clash(self.state, room, found, leaving_out=event):
            raise ToolError(f"room {room} is taken then")
        found.room = room
        return EventView(event=event, **found.__dict__)

    @tool(effect="write", phrases=("Invite {email} to {event}.",))
    def invite_attendee(self, event: str, email: str) -> EventView:
        """Add somebody to an event.

        Args:
            event: id of the event
            email: email address of the person
        """
        found = self._event(event)
        checked_email(email)
        if email == found.organizer_email or email in found.attendee_emails:
            raise ToolError(f"{email} is in event {event} already")
        if found.room is not None and len(found.attendee_emails) + 2 > self._room(found.room).seats:
            raise ToolError(f"room {found.room} has no seat left")
        found.attendee_emails.append(email)
        return EventView(event=event, **found.__dict__)

    @tool(effect="write", phrases=("Take {email} off {event}.",))
    def remove_attendee(self, event: str, email: str) -> EventView:
        """Take somebody off an event.

        Args:
            event: id of the event
            email: email address of the person
        """
        found = self._event(event)
        if email not in found.attendee_emails:
            raise ToolError(f"{email!r} does not come to event {event}")
        found.attendee_emails.remove(email)
        return EventView(event=event, **found.__dict__)

    @tool(effect="write", phrases=("Remind me {reminder_minutes} minutes before {event}.",))
    def set_reminder(self, event: str, reminder_minutes: Minutes) -> EventView:
        """Ask for a reminder before an event.

        Args:
            event: id of the event
            reminder_minutes: minutes before the start, 0 to 1440
        """
        found = self._event(event)
        if not 0 <= reminder_minutes <= 1440:
            raise ToolError(f"a reminder comes 0 to 1440 minutes before, got {reminder_minutes}")
        found.reminder_minutes = reminder_minutes
        return EventView(event=event, **found.__dict__)

    @tool(effect="write", phrases=("Cancel {event}.", "Call {event} off."))
    def cancel_event(self, event: str) -> EventView:
        """Take an event of your own off the calendar.

        Args:
            event: id of the event
        """
        found = self._event(event)
        if found.organizer_email != self.state.me:
            raise ToolError(f"event {event} is somebody else's")
        del self.state.events[event]
        return EventView(event=event, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _event(self, event: str) -> Event:
        found: Event | None = self.state.events.get(event)
        if found is None:
            raise ToolError(f"no event {event!r}")
        return found

    def _room(self, room: str) -> Room:
        found: Room | None = self.state.rooms.get(room)
        if found is None:
            raise ToolError(f"no room {room!r}")
        return found


def _clash(state: CalendarState, room: str, event: Event, leaving_out: str = "") -> bool:
    """Whether another event is in the room at the time of this one."""
    return any(
        other.room == room
        and other.date == event.date
        and other.start < event.end
        and event.start < other.end
        for key, other in state.events.items()
        if key != leaving_out
    )
