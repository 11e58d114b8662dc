from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.bank import Bank

ADA, BELA = "Ada Brandt", "Bela Novak"
STATE = {
    "today": "2025-03-03",
    "accounts": {
        "A1": {"owner": ADA, "kind": "checking", "balance": 100.0},
        "A2": {"owner": ADA, "kind": "savings", "balance": 20.5},
        "A3": {"owner": BELA, "kind": "joint", "balance": 900.0, "frozen": True},
    },
    "payees": {"P1": {"owner": ADA, "payee_name": "Book Barn", "iban": "DE1234567"}},
    "cards": {
        "C1": {"account": "A1", "last_digits": "0042", "daily_limit": 200},
        "C2": {"account": "A1", "last_digits": "0043", "daily_limit": 200, "blocked": True},
    },
    "bookings": {"B1": {"account": "A1", "target": "A2", "amount": 5.0, "booked_on": "2025-02-02"}},
}

STEPS: list[Step] = [
    ("list_accounts", {"owner": ADA}, [{"account": "A1"}, {"account": "A2"}]),
    ("list_accounts", {"owner": "Ada"}, "no customer"),
    ("get_account", {"account": "A3"}, {"owner": BELA, "frozen": True}),
    ("get_account", {"account": "A4"}, "no account"),
    ("list_bookings", {"account": "A1"}, [{"booking": "B1", "target": "A2"}]),
    ("list_bookings", {"account": "A4"}, "no account"),
    ("list_payees", {"owner": ADA}, [{"payee": "P1"}]),
    ("list_payees", {"owner": BELA}, "no saved payees"),
    ("list_cards", {"account": "A1"}, [{"card": "C1"}, {"card": "C2", "blocked": True}]),
    ("list_cards", {"account": "A4"}, "no account"),
    (
        "transfer_money",
        {"source": "A1", "target": "A2", "amount": 30.25},
        {"booking": "B2", "booked_on": "2025-03-03"},
    ),
    ("get_account", {"account": "A2"}, {"balance": 50.75}),
    ("transfer_money", {"source": "A1", "target": "A2", "amount": 69.76}, "only 69.75 euros"),
    ("transfer_money", {"source": "A1", "target": "A1", "amount": 1}, "the same account"),
    ("transfer_money", {"source": "A3", "target": "A1", "amount": 1}, "is frozen"),
    ("transfer_money", {"source": "A1", "target": "A3", "amount": 0}, "above 0"),
    ("pay_payee", {"account": "A1", "payee": "P1", "amount": 9.75}, {"target": "DE1234567", "amount": 9.75}),
    ("pay_payee", {"account": "A3", "payee": "P1", "amount": 9.75}, "not one of the account's owner"),
    ("add_payee", {"owner": BELA, "payee_name": "City Power", "iban": "FR9912345"}, {"payee": "P10000"}),
    ("add_payee", {"owner": BELA, "payee_name": "Power", "iban": "FR9912345"}, "already saved"),
    ("add_payee", {"owner": BELA, "payee_name": "Power", "iban": "9912345"}, "no IBAN"),
    ("set_card_limit", {"card": "C1", "daily_limit": 0}, {"daily_limit": 0}),
    ("set_card_limit", {"card": "C1", "daily_limit": 5001}, "0 to 5000"),
    ("block_card", {"card": "C1"}, {"blocked": True}),
    ("block_card", {"card": "C2"}, "is blocked"),
    ("freeze_account", {"account": "A1"}, {"frozen": True, "balance": 60.0}),
    ("freeze_account", {"account": "A1"}, "frozen already"),
]


def test_every_tool() -> None:
    follow(Bank, STATE, STEPS)
