from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.calendar import Calendar

ADA, BELA, ZOE = "ada@example.com", "bela@example.com", "zoe@example.com"
STATE = {
    "today": "2025-05-12",
    "me": ADA,
    "rooms": {
        "RM1": {"room_name": "Amber", "seats": 2, "floor": 1},
        "RM2": {"room_name": "Birch", "seats": 8, "floor": 2},
    },
    "events": {
        "EV1": {
            "title": "Town hall", "organizer_email": ADA, "date": "2025-05-13", "start": "10:00", "end": "11:30",
            "room": "RM2", "attendee_emails": [BELA],
        },
        "EV2": {
            "title": "Town hall", "organizer_email": BELA, "date": "2025-05-14", "start": "09:00", "end": "10:00",
        },
        "EV3": {
            "title": "Press call", "organizer_email": BELA, "date": "2025-05-13", "start": "08:00", "end": "09:00",
            "attendee_emails": [ADA, ZOE],
        },
    },
}  # fmt: skip

STEPS: list[Step] = [
    ("list_events", {"date": "2025-05-13"}, [{"event": "EV3"}, {"event": "EV1"}]),
    ("list_events", {"date": "2025-05-20"}, []),
    ("list_events", {"date": "13 May"}, "written YYYY-MM-DD"),
    ("list_events", {"date": "2025-02-30"}, "written YYYY-MM-DD"),
    ("find_event", {"title": "Town hall"}, {"event": "EV1"}),
    ("find_event", {"title": "Town"}, "no coming event"),
    ("list_events_of", {"email": BELA}, [{"event": "EV3"}, {"event": "EV1"}, {"event": "EV2"}]),
    ("list_events_of", {"email": "x@example.com"}, "in no event"),
    ("list_rooms", {"min_seats": 2}, [{"room": "RM1"}, {"room": "RM2"}]),
    ("list_rooms", {"min_seats": 0}, "at least 1 seat"),
    ("list_room_events", {"room": "RM2", "date": "2025-05-13"}, [{"event": "EV1"}]),
    ("list_room_events", {"room": "RM9", "date": "2025-05-13"}, "no room"),
    (
        "create_event",
        {"title": "Lunch", "date": "2025-05-13", "start": "11:00", "end": "12:00"},
        {"event": "EV1000", "organizer_email": ADA, "room": None},
    ),
    ("create_event", {"title": "Lunch", "date": "2025-05-11", "start": "11:00", "end": "12:00"}, "is before"),
    (
        "create_event",
        {"title": "Lunch", "date": "2025-05-13", "start": "12:00", "end": "12:00"},
        "come after",
    ),
    (
        "create_event",
        {"title": "Lunch", "date": "2025-05-13", "start": "9:00", "end": "12:00"},
        "written HH:MM",
    ),
    # From 11:00 on the room is still taken by EV1, from 11:30 on it is free.
    ("book_room", {"event": "EV1000", "room": "RM2"}, "is taken then"),
    (
        "move_event",
        {"event": "EV1000", "date": "2025-05-13", "start": "11:30"},
        {"start": "11:30", "end": "12:30"},
    ),
    ("book_room", {"event": "EV1000", "room": "RM2"}, {"room": "RM2"}),
    ("move_event", {"event": "EV1000", "date": "2025-05-13", "start": "11:00"}, "room RM2 is taken"),
    ("move_event", {"event": "EV1000", "date": "2025-05-13", "start": "23:30"}, "after midnight"),
    ("move_event", {"event": "EV1000", "date": "2025-05-13", "start": "11:30"}, "already"),
    ("book_room", {"event": "EV3", "room": "RM1"}, "only 2 seats"),
    ("invite_attendee", {"event": "EV2", "email": ZOE}, {"attendee_emails": [ZOE]}),
    ("book_room", {"event": "EV2", "room": "RM1"}, {"room": "RM1"}),
    ("invite_attendee", {"event": "EV2", "email": ADA}, "no seat left"),
    ("invite_attendee", {"event": "EV2", "email": BELA}, "already"),
    ("invite_attendee", {"event": "EV2", "email": "ada@"}, "no email address"),
    ("remove_attendee", {"event": "EV3", "email": ADA}, {"attendee_emails": [ZOE]}),
    ("remove_attendee", {"event": "EV3", "email": BELA}, "does not come"),
    ("set_reminder", {"event": "EV1", "reminder_minutes": 15}, {"reminder_minutes": 15}),
    ("set_reminder", {"event": "EV1", "reminder_minutes": 1441}, "0 to 1440"),
    ("cancel_event", {"event": "EV2"}, "somebody else's"),
    ("cancel_event", {"event": "EV1"}, {"event": "EV1", "title": "Town hall"}),
    ("cancel_event", {"event": "EV1"}, "no event"),
]


def test_every_tool() -> None:
    assert set(follow(Calendar, STATE, STEPS).events) == {"EV2", "EV3", "EV1000"}
