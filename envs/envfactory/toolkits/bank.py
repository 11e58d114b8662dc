"""`Bank`: accounts, transfers, saved payees and cards of a small bank's customers."""

from typing import ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.names import people

AccountKind = Literal["checking", "savings", "joint"]
_SHOPS = ("Corner Bakery", "City Power", "Rail Pass Office", "Green Grocer", "Book Barn", "Harbour Gym")


class Account(pydantic.BaseModel):
    """An account; the balance is in euros."""

    owner: str
    kind: AccountKind
    balance: float
    frozen: bool = False


class Payee(pydantic.BaseModel):
    """Somebody outside the bank to whom a customer pays."""

    owner: str
    payee_name: str
    iban: str


class Card(pydantic.BaseModel):
    """A debit card; the limit is in euros a day."""

    account: str
    last_digits: str
    daily_limit: int
    blocked: bool = False


class Booking(pydantic.BaseModel):
    """Money that left an account. The target is an account or an IBAN."""

    account: str
    target: str
    amount: float
    booked_on: str


class BankState(pydantic.BaseModel):
    """Everything the bank knows. Ids are the keys of the tables."""

    today: str
    accounts: dict[str, Account]
    payees: dict[str, Payee]
    cards: dict[str, Card]
    bookings: dict[str, Booking]


class AccountView(Account):
    """An account with its number."""

    account: str


class PayeeView(Payee):
    """A payee with its id."""

    payee: str


class CardView(Card):
    """A card with its id."""

    card: str


class BookingView(Booking):
    """A booking with its number."""

    booking: str


class Bank(Toolkit):
    """Accounts, transfers, payees and cards."""

    State = BankState
    policy = (
        "Bank: amounts are in euros. Money can only leave an account that is not frozen and has enough of it."
    )
    unordered = ("bookings", "payees")
    nouns: ClassVar = {
        "account": "the {kind} account of {owner}",
        "source": "the {kind} account of {owner}",
        "target": "the {kind} account of {owner}",
        "card": "the card ending in {last_digits}",
        "payee": "the payee {payee_name} of {owner}",
        "booking": "the booking of {amount} euros to {target}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> BankState:
        """Eight customers with one to three accounts each, their cards, payees and past bookings."""
        state = BankState(today="2025-03-03", accounts={}, payees={}, cards={}, bookings={})
        numbers = iter(rng.permutation(9000) + 1000)
        for owner in people(rng, 8):
            kinds: list[AccountKind] = ["checking", "savings", "joint"]
            for kind in kinds[: int(rng.integers(1, 4))]:
                account = f"A{next(numbers)}"
                balance = round(float(rng.uniform(50, 5000)), 2)
                state.accounts[account] = Account(
                    owner=owner, kind=kind, balance=balance, frozen=bool(rng.random() < 0.1)
                )
                if kind != "savings":
                    digits = f"{int(rng.integers(10_000)):04}"
                    limit = int(rng.choice([200, 500, 1000]))
                    state.cards[f"C{next(numbers)}"] = Card(
                        account=account, last_digits=digits, daily_limit=limit
                    )
            for shop in rng.choice(len(_SHOPS), size=2, replace=False):
                iban = f"DE{int(rng.integers(10, 99))}{int(rng.integers(10**9, 10**10))}"
                state.payees[f"P{next(numbers)}"] = Payee(
                    owner=owner, payee_name=_SHOPS[int(shop)], iban=iban
                )
        accounts = list(state.accounts)
        for number in range(12):
            source, target = (accounts[int(i)] for i in rng.choice(len(accounts), size=2, replace=False))
            amount, day = round(float(rng.uniform(5, 300)), 2), int(rng.integers(1, 29))
            state.bookings[f"B{number + 1}"] = Booking(
                account=source, target=target, amount=amount, booked_on=f"2025-02-{day:02}"
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Which accounts does {owner} have?",))
    def list_accounts(self, owner: str) -> list[AccountView]:
        """List the accounts of a customer.

        Args:
            owner: full name of the customer
        """
        found = [
            AccountView(account=k, **a.__dict__) for k, a in self.state.accounts.items() if a.owner == owner
        ]
        if not found:
            raise ToolError(f"no customer is called {owner!r}")
        return found

    @tool(effect="read", phrases=("How does account {account} stand?",))
    def get_account(self, account: str) -> AccountView:
        """Show an account: owner, kind, balance and whether it is frozen.

        Args:
            account: account number, such as A1234
        """
        return AccountView(account=account, **self._account(account).__dict__)

    @tool(effect="read", phrases=("What left account {account} lately?",))
    def list_bookings(self, account: str) -> list[BookingView]:
        """List what left an account, oldest first.

        Args:
            account: account number
        """
        self._account(account)
        bookings = self.state.bookings.items()
        return [BookingView(booking=key, **b.__dict__) for key, b in bookings if b.account == account]

    @tool(effect="read", phrases=("Whom does {owner} have saved as payees?",))
    def list_payees(self, owner: str) -> list[PayeeView]:
        """List the payees that a customer has saved.

        Args:
            owner: full name of the customer
        """
        found = [
            PayeeView(payee=key, **p.__dict__) for key, p in self.state.payees.items() if p.owner == owner
        ]
        if not found:
            raise ToolError(f"{owner!r} has no saved payees")
        return found

    @tool(effect="read", phrases=("Which cards belong to account {account}?",))
    def list_cards(self, account: str) -> list[CardView]:
        """List the cards of an account.

        Args:
            account: account number
        """
        self._account(account)
        return [
            CardView(card=key, **c.__dict__) for key, c in self.state.cards.items() if c.account == account
        ]

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=("Move {amount} euros from {source} to {target}.",))
    def transfer_money(self, source: str, target: str, amount: float) -> BookingView:
        """Move money between two accounts of this bank.

        Args:
            source: account number that pays
            target: account number that receives
            amount: euros, above 0
        """
        receiver = self._account(target)
        if source == target:
            raise ToolError("source and target are the same account")
        booking = self._book(source, target, amount)
        receiver.balance = round(receiver.balance + amount, 2)
        return booking

    @tool(effect="write", phrases=("Pay {amount} euros from {account} to {payee}.",))
    def pay_payee(self, account: str, payee: str, amount: float) -> BookingView:
        """Pay a saved payee.

        Args:
            account: account number that pays
            payee: id of the payee, such as P1234
            amount: euros, above 0
        """
        if payee not in self.state.payees:
            raise ToolError(f"no payee {payee!r}")
        receiver = self.state.payees[payee]
        if receiver.owner != self._account(account).owner:
            raise ToolError(f"payee {payee} is not one of the account's owner")
        return self._book(account, receiver.iban, amount)

    @tool(effect="write", phrases=("Save {payee_name} with IBAN {iban} as a payee of {owner}.",))
    def add_payee(self, owner: str, payee_name: str, iban: str) -> PayeeView:
        """Save a payee for a customer.

        Args:
            owner: full name of the customer
            payee_name: name of the payee
            iban: IBAN, beginning with two letters and two digits
        """
        self.list_accounts(owner)
        if not (iban[:2].isalpha() and iban[2:].isdigit() and len(iban) >= 8):
            raise ToolError(f"{iban!r} is no IBAN")
        if any(p.owner == owner and p.iban == iban for p in self.state.payees.values()):
            raise ToolError(f"{owner} has already saved {iban}")
        key = next_id("P", self.state.payees, first=10_000)
        self.state.payees[key] = Payee(owner=owner, payee_name=payee_name, iban=iban)
        return PayeeView(payee=key, **self.state.payees[key].__dict__)

    @tool(effect="write", phrases=("Set the daily limit of {card} to {daily_limit} euros.",))
    def set_card_limit(self, card: str, daily_limit: int) -> CardView:
        """Change how much a card can spend a day.

        Args:
            card: id of the card, such as C1234
            daily_limit: euros a day, 0 to 5000
        """
        found = self._card(card)
        if not 0 <= daily_limit <= 5000:
            raise ToolError(f"a daily limit is 0 to 5000 euros, got {daily_limit}")
        found.daily_limit = daily_limit
        return CardView(card=card, **found.__dict__)

    @tool(effect="write", phrases=("Block {card}.",))
    def block_card(self, card: str) -> CardView:
        """Block a card for good.

        Args:
            card: id of the card
        """
        found = self._card(card)
        found.blocked = True
        return CardView(card=card, **found.__dict__)

    @tool(effect="write", phrases=("Freeze {account}.",))
    def freeze_account(self, account: str) -> AccountView:
        """Freeze an account, so that no money leaves it.

        Args:
            account: account number
        """
        found = self._account(account)
        if found.frozen:
            raise ToolError(f"account {account} is frozen already")
        found.frozen = True
        return AccountView(account=account, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _account(self, account: str) -> Account:
        found: Account | None = self.state.accounts.get(account)
        if found is None:
            raise ToolError(f"no account {account!r}")
        return found

    def _card(self, card: str) -> Card:
        found: Card | None = self.state.cards.get(card)
        if found is None:
            raise ToolError(f"no card {card!r}")
        if found.blocked:
            raise ToolError(f"card {card} is blocked")
        return found

    def _book(self, account: str, target: str, amount: float) -> BookingView:
        found = self._account(account)
        if amount <= 0:
            raise ToolError(f"an amount is above 0, got {amount}")
        if found.frozen:
            raise ToolError(f"account {account} is frozen")
        if found.balance < amount:
            raise ToolError(f"account {account} has only {found.balance} euros")
        found.balance = round(found.balance - amount, 2)
        key = next_id("B", self.state.bookings, first=len(self.state.bookings) + 1)
        booking = Booking(account=account, target=target, amount=amount, booked_on=self.state.today)
        self.state.bookings[key] = booking
        return BookingView(booking=key, **booking.__dict__)
