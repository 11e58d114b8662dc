import pytest
from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkit import ToolError
from envrl.envs.envfactory.toolkits.library import Library

STATE = {
    "today": "2025-02-17",
    "books": {
        "BK1": {"title": "The Salt Cellar", "author": "Uma Rossi", "subject": "cooking", "year": 1990},
        "BK2": {"title": "Bread and Patience", "author": "Uma Rossi", "subject": "cooking", "year": 2010},
    },
    "volumes": {
        "VL1": {"book": "BK1", "shelf": "B02"},
        "VL2": {"book": "BK1", "shelf": "B01"},
        "VL3": {"book": "BK2", "shelf": "B03", "damaged": True},
        "VL4": {"book": "BK2", "shelf": "B04"},
    },
    "readers": {
        "LC1": {"reader_name": "Ada Brandt", "email": "ada@example.com"},
        "LC2": {"reader_name": "Bela Novak", "email": "bela@example.com", "fees": 2.5},
    },
    "loans": {
        "LN1": {"reader": "LC1", "volume": "VL1", "due_on": "2025-02-10"},
        "LN2": {"reader": "LC2", "volume": "VL4", "due_on": "2025-03-01", "renewals": 1},
    },
    "holds": {"HD1": {"reader": "LC1", "book": "BK1", "placed_on": "2025-02-01"}},
}

STEPS: list[Step] = [
    ("list_books", {"subject": "cooking"}, [{"book": "BK2"}, {"book": "BK1"}]),
    ("list_books", {"subject": "cooking", "published_after": 1990}, [{"book": "BK2"}]),
    ("list_books", {"subject": "cooking", "published_after": 2026}, "no year up to now"),
    ("find_book", {"title": "The Salt Cellar"}, {"book": "BK1", "author": "Uma Rossi"}),
    ("find_book", {"title": "Salt"}, "no book"),
    (
        "list_volumes",
        {"book": "BK1"},
        [{"volume": "VL2", "on_loan": False}, {"volume": "VL1", "on_loan": True}],
    ),
    ("list_volumes", {"book": "BK3"}, "no book"),
    ("find_reader", {"reader_name": "Bela Novak"}, {"reader": "LC2", "fees": 2.5}),
    ("find_reader", {"reader_name": "Bela"}, "no reader"),
    ("list_loans", {"reader": "LC1"}, [{"loan": "LN1", "title": "The Salt Cellar"}]),
    ("list_loans", {"reader": "LC9"}, "no reader"),
    ("list_holds", {"reader": "LC1"}, [{"hold": "HD1", "title": "The Salt Cellar"}]),
    ("list_holds", {"reader": "LC9"}, "no reader"),
    ("renew_loan", {"loan": "LN1"}, "somebody waits for book BK1"),
    # Three weeks from the 17th of February; the hold of the same reader on the book is done with.
    ("lend_volume", {"volume": "VL2", "reader": "LC1"}, {"loan": "LN10000", "due_on": "2025-03-10"}),
    ("list_holds", {"reader": "LC1"}, []),
    ("lend_volume", {"volume": "VL1", "reader": "LC1"}, "is on loan"),
    ("lend_volume", {"volume": "VL3", "reader": "LC1"}, "is damaged"),
    ("renew_loan", {"loan": "LN1"}, {"due_on": "2025-03-10", "renewals": 1}),
    ("renew_loan", {"loan": "LN2"}, {"renewals": 2}),
    ("renew_loan", {"loan": "LN2"}, "twice already"),
    ("place_hold", {"reader": "LC2", "book": "BK1"}, {"hold": "HD10000", "placed_on": "2025-02-17"}),
    ("place_hold", {"reader": "LC2", "book": "BK1"}, "waits for book BK1 already"),
    ("cancel_hold", {"hold": "HD10000"}, {"reader": "LC2"}),
    ("cancel_hold", {"hold": "HD10000"}, "no hold"),
    ("pay_fees", {"reader": "LC2", "amount": 1.5}, {"fees": 1.0}),
    ("pay_fees", {"reader": "LC2", "amount": 1.5}, "owes 1.0 euros"),
    ("return_loan", {"loan": "LN2"}, {"reader": "LC2", "fees": 1.0}),  # in time
    ("return_loan", {"loan": "LN2"}, "no loan"),
    ("lend_volume", {"volume": "VL4", "reader": "LC2"}, "owes 1.0 euros"),
    ("register_reader", {"reader_name": "Chidi Sato", "email": "chidi@example.com"}, {"reader": "LC10000"}),
    ("register_reader", {"reader_name": "C. Sato", "email": "chidi@example.com"}, "already"),
]


def test_every_tool() -> None:
    follow(Library, STATE, STEPS)


def test_a_late_loan_costs_half_a_euro_a_day() -> None:
    library = Library(STATE)
    assert library.return_loan("LN1").fees == 3.5  # seven days


def test_nobody_has_more_than_four_loans() -> None:
    volumes = {f"VL{number}": {"book": "BK1", "shelf": f"B{number:02}"} for number in range(1, 7)}
    library = Library({**STATE, "volumes": volumes, "loans": {}, "holds": {}})
    for number in range(1, 5):
        library.lend_volume(f"VL{number}", "LC1")
    with pytest.raises(ToolError, match="has 4 loans already"):
        library.lend_volume("VL5", "LC1")
