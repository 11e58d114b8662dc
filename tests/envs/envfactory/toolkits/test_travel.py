from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.travel import Travel


def _flight(origin: str, destination: str, date: str, price: float, seats_left: int) -> dict[str, object]:
    place = {"airline": "Kestrel", "origin": origin, "destination": destination, "date": date}
    return {**place, "departs": "08:30", "price": price, "seats_left": seats_left}


STATE = {
    "today": "2025-07-01",
    "travellers": {
        "TR1": {"traveller_name": "Ada Brandt", "email": "ada@example.com", "budget": 1000.0},
        "TR2": {"traveller_name": "Bela Novak", "email": "bela@example.com", "budget": 20.0},
    },
    "flights": {
        "FL1": _flight("Cork", "Oslo", "2025-07-09", 100.0, 5),
        "FL2": _flight("Cork", "Oslo", "2025-07-05", 130.5, 1),
        "FL3": _flight("Cork", "Oslo", "2025-07-06", 90.0, 0),
        "FL4": _flight("Oslo", "Riga", "2025-07-06", 90.0, 4),
    },
    "hotels": {
        "HT1": {"hotel_name": "Astoria", "city": "Oslo", "stars": 3, "nightly_price": 80.25, "rooms_left": 1},
        "HT2": {"hotel_name": "Station", "city": "Oslo", "stars": 2, "nightly_price": 50.0, "rooms_left": 3},
    },
    "reservations": {},
    "stays": {},
}

STEPS: list[Step] = [
    ("find_traveller", {"traveller_name": "Ada Brandt"}, {"traveller": "TR1", "budget": 1000.0}),
    ("find_traveller", {"traveller_name": "Ada"}, "no traveller"),
    (
        "search_flights",
        {"origin": "Cork", "destination": "Oslo"},
        [{"flight": "FL2"}, {"flight": "FL3", "seats_left": 0}, {"flight": "FL1"}],
    ),
    ("search_flights", {"origin": "Cork", "destination": "Riga"}, []),
    ("search_flights", {"origin": "Cork", "destination": "Cork"}, "same city"),
    ("search_hotels", {"city": "Oslo"}, [{"hotel": "HT2"}, {"hotel": "HT1"}]),
    ("search_hotels", {"city": "Cork"}, "no hotel in 'Cork'"),
    (
        "book_flight",
        {"traveller": "TR1", "flight": "FL1"},
        {"reservation": "RS10000", "paid": 100.0, "destination": "Oslo", "date": "2025-07-09", "bags": 0},
    ),
    ("book_flight", {"traveller": "TR1", "flight": "FL1"}, "already"),
    ("book_flight", {"traveller": "TR1", "flight": "FL3"}, "is full"),
    ("book_flight", {"traveller": "TR2", "flight": "FL1"}, "more than the budget"),
    ("add_bag", {"reservation": "RS10000"}, {"bags": 1, "paid": 135.0}),
    ("add_bag", {"reservation": "RS1"}, "no reservation"),
    ("change_flight", {"reservation": "RS10000", "flight": "FL2"}, {"flight": "FL2", "paid": 165.5}),
    ("change_flight", {"reservation": "RS10000", "flight": "FL4"}, "does not go from Cork to Oslo"),
    ("change_flight", {"reservation": "RS10000", "flight": "FL3"}, "is full"),
    ("list_reservations", {"traveller": "TR1"}, [{"reservation": "RS10000", "flight": "FL2"}]),
    ("list_reservations", {"traveller": "TR3"}, "no traveller"),
    ("find_traveller", {"traveller_name": "Ada Brandt"}, {"budget": 834.5}),
    ("cancel_reservation", {"reservation": "RS10000"}, {"traveller": "TR1", "budget": 917.25}),
    ("cancel_reservation", {"reservation": "RS10000"}, "no reservation"),
    (
        "book_hotel",
        {"traveller": "TR1", "hotel": "HT1", "date": "2025-07-09", "nights": 3},
        {"stay": "ST10000", "paid": 240.75, "city": "Oslo"},
    ),
    ("book_hotel", {"traveller": "TR1", "hotel": "HT1", "date": "2025-07-09", "nights": 1}, "no room left"),
    ("book_hotel", {"traveller": "TR1", "hotel": "HT2", "date": "2025-06-30", "nights": 1}, "is before"),
    (
        "book_hotel",
        {"traveller": "TR1", "hotel": "HT2", "date": "2025-07-09", "nights": 15},
        "1 to 14 nights",
    ),
    ("list_stays", {"traveller": "TR1"}, [{"stay": "ST10000", "hotel_name": "Astoria"}]),
    ("list_stays", {"traveller": "TR0"}, "no traveller"),
    ("cancel_stay", {"stay": "ST10000"}, {"budget": 917.25}),
    ("cancel_stay", {"stay": "ST10000"}, "no stay"),
]


def test_every_tool() -> None:
    state = follow(Travel, STATE, STEPS)
    assert {key: flight.seats_left for key, flight in state.flights.items()} == {
        "FL1": 5, "FL2": 1, "FL3": 0, "FL4": 4,
    }  # fmt: skip
    assert state.hotels["HT1"].rooms_left == 1
