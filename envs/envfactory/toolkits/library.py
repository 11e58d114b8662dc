"""`Library`: a public library: books, their volumes, readers, loans and holds."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.addresses import NewEmail, NewName, checked_email
from envrl.envs.envfactory.toolkits.days import days_after, days_between
from envrl.envs.envfactory.toolkits.names import email_of, people

Year = Annotated[int, pydantic.Field(examples=[1970, 1985, 1999, 2010])]
Euros = Annotated[float, pydantic.Field(examples=[0.5, 1.0, 1.5, 2.0, 3.0])]
Subject = Literal["art", "cooking", "gardening", "history", "travel"]
_TITLES: dict[Subject, tuple[str, ...]] = {
    "art": ("Light on Stone", "The Paper Museum", "Colours of the North"),
    "cooking": ("Bread and Patience", "Soups for a Week", "The Salt Cellar"),
    "gardening": ("A Shed of One's Own", "Roots and Rain", "The Lazy Orchard"),
    "history": ("Bridges of the Valley", "The Grain Road", "When the Mills Stopped"),
    "travel": ("By Night Train", "Harbours in Winter", "Twelve Islands"),
}
_LOAN_DAYS = 21
_FEE_A_DAY = 0.5
_MOST_LOANS = 4


class Book(pydantic.BaseModel):
    """A book, whatever number of volumes the library has of it."""

    title: str
    author: str
    subject: Subject
    year: int


class Volume(pydantic.BaseModel):
    """A copy of a book."""

    book: str
    shelf: str
    damaged: bool = False


class Reader(pydantic.BaseModel):
    """Somebody with a library card; ``fees`` are owed, in euros."""

    reader_name: str
    email: str
    fees: float = 0.0


class Loan(pydantic.BaseModel):
    """A volume that a reader has at home."""

    reader: str
    volume: str
    due_on: str
    renewals: int = 0


class Hold(pydantic.BaseModel):
    """A reader's place in the queue for a book."""

    reader: str
    book: str
    placed_on: str


class LibraryState(pydantic.BaseModel):
    """The library. Ids are the keys of the tables."""

    today: str
    books: dict[str, Book]
    volumes: dict[str, Volume]
    readers: dict[str, Reader]
    loans: dict[str, Loan]
    holds: dict[str, Hold]


class BookView(Book):
    """A book with its id."""

    book: str


class VolumeView(Volume):
    """A volume with its number, and whether somebody has it at home."""

    volume: str
    on_loan: bool


class ReaderView(Reader):
    """A reader with the number of the card."""

    reader: str


class LoanView(Loan):
    """A loan with its number and the title of the book."""

    loan: str
    title: str


class HoldView(Hold):
    """A hold with its number and the title of the book."""

    hold: str
    title: str


class Library(Toolkit):
    """Books, readers, loans and holds."""

    State = LibraryState
    policy = (
        "Library: a reader with fees must pay them before borrowing. A loan cannot be renewed while somebody else "
        "waits for the book."
    )
    unordered = ("loans", "holds", "readers")
    nouns: ClassVar = {
        "book": 'the book "{title}"',
        "volume": "the volume on shelf {shelf}",
        "reader": "the reader {reader_name}",
        "loan": 'the loan of "{title}"',
        "hold": 'the hold on "{title}"',
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> LibraryState:
        """Ten books with one to three volumes each, six readers, loans, holds and fees."""
        today = "2025-02-17"
        numbers = iter(rng.permutation(9000) + 1000)
        names = people(rng, 14)
        state = LibraryState(today=today, books={}, volumes={}, readers={}, loans={}, holds={})
        for row, (subject, titles) in enumerate(_TITLES.items()):
            for index in rng.permutation(3)[:2]:
                book = f"BK{next(numbers)}"
                state.books[book] = Book(
                    title=titles[int(index)],
                    author=names[6 + int(rng.integers(8))],
                    subject=subject,
                    year=int(rng.integers(1962, 2024)),
                )
                for _ in range(int(rng.integers(1, 4))):
                    number = int(next(numbers))
                    state.volumes[f"VL{number}"] = Volume(
                        book=book, shelf=f"{'ABCDE'[row]}{number % 97:02}", damaged=bool(rng.random() < 0.1)
                    )
        for index, name in enumerate(names[:6]):
            fees = round(float(rng.integers(1, 30)) * _FEE_A_DAY, 2) if index in (1, 4) else 0.0
            state.readers[f"LC{next(numbers)}"] = Reader(reader_name=name, email=email_of(name), fees=fees)
        readers, volumes, books = list(state.readers), list(state.volumes), list(state.books)
        for index, volume in enumerate(rng.permutation(len(volumes))[:7]):
            state.loans[f"LN{next(numbers)}"] = Loan(
                reader=readers[index % 5],
                volume=volumes[int(volume)],
                due_on=days_after(today, int(rng.integers(-9, 20))),
                renewals=int(rng.integers(0, 3)),
            )
        for index, book in enumerate(rng.permutation(len(books))[:3]):
            state.holds[f"HD{next(numbers)}"] = Hold(
                reader=readers[5 - index],
                book=books[int(book)],
                placed_on=days_after(today, -int(rng.integers(1, 20))),
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("List the books on {subject}.",))
    def list_books(self, subject: Subject, published_after: Year = 0) -> list[BookView]:
        """List the books on a subject by title.

        Args:
            subject: what they are about
            published_after: only books of later years; 0 for all
        """
        if not 0 <= published_after <= int(self.state.today[:4]):
            raise ToolError(f"{published_after} is no year up to now")
        found = [
            BookView(book=key, **book.__dict__)
            for key, book in self.state.books.items()
            if book.subject == subject and book.year > published_after
        ]
        return sorted(found, key=lambda book: book.title)

    @tool(effect="read", phrases=('Look up the book "{title}".',))
    def find_book(self, title: str) -> BookView:
        """Find a book by title.

        Args:
            title: the whole title
        """
        for key, book in self.state.books.items():
            if book.title == title:
                return BookView(book=key, **book.__dict__)
        raise ToolError(f"no book is called {title!r}")

    @tool(effect="read", phrases=("List the volumes of {book}.",))
    def list_volumes(self, book: str) -> list[VolumeView]:
        """List the volumes of a book by shelf, with those that are on loan.

        Args:
            book: id of the book, such as BK1234
        """
        self._book(book)
        lent = {loan.volume for loan in self.state.loans.values()}
        found = [
            VolumeView(volume=key, on_loan=key in lent, **volume.__dict__)
            for key, volume in self.state.volumes.items()
            if volume.book == book
        ]
        return sorted(found, key=lambda volume: (volume.shelf, volume.volume))

    @tool(effect="read", phrases=("Look up the reader {reader_name}.",))
    def find_reader(self, reader_name: str) -> ReaderView:
        """Find a reader by name.

        Args:
            reader_name: full name
        """
        for key, reader in self.state.readers.items():
            if reader.reader_name == reader_name:
                return ReaderView(reader=key, **reader.__dict__)
        raise ToolError(f"no reader is called {reader_name!r}")

    @tool(effect="read", phrases=("List the loans of {reader}.",))
    def list_loans(self, reader: str) -> list[LoanView]:
        """List what a reader has at home by the day it is due.

        Args:
            reader: number of the card, such as LC1234
        """
        self._reader(reader)
        found = [self._loan_view(k, loan) for k, loan in self.state.loans.items() if loan.reader == reader]
        return sorted(found, key=lambda loan: (loan.due_on, loan.loan))

    @tool(effect="read", phrases=("List the holds of {reader}.",))
    def list_holds(self, reader: str) -> list[HoldView]:
        """List the books that a reader waits for.

        Args:
            reader: number of the card
        """
        self._reader(reader)
        return [self._hold_view(key, hold) for key, hold in self.state.holds.items() if hold.reader == reader]

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=("Lend {volume} to {reader}.",))
    def lend_volume(self, volume: str, reader: str) -> LoanView:
        """Lend a volume for three weeks; a hold of the reader on the book is then done with.

        Args:
            volume: number of the volume, such as VL1234
            reader: number of the card
        """
        found, person = self.state.volumes.get(volume), self._reader(reader)
        if found is None:
            raise ToolError(f"no volume {volume!r}")
        if found.damaged:
            raise ToolError(f"volume {volume} is damaged")
        if any(loan.volume == volume for loan in self.state.loans.values()):
            raise ToolError(f"volume {volume} is on loan")
        if person.fees > 0:
            raise ToolError(f"reader {reader} owes {person.fees} euros")
        if sum(loan.reader == reader for loan in self.state.loans.values()) >= _MOST_LOANS:
            raise ToolError(f"reader {reader} has {_MOST_LOANS} loans already")
        for hold in [k for k, h in self.state.holds.items() if (h.reader, h.book) == (reader, found.book)]:
            del self.state.holds[hold]
        key = next_id("LN", self.state.loans, first=10_000)
        self.state.loans[key] = Loan(
            reader=reader, volume=volume, due_on=days_after(self.state.today, _LOAN_DAYS)
        )
        return self._loan_view(key, self.state.loans[key])

    @tool(effect="write", phrases=("{loan} has come back.",))
    def return_loan(self, loan: str) -> ReaderView:
        """Take a volume back; for each day that it is late the reader owes half a euro.

        Args:
            loan: number of the loan, such as LN1234
        """
        found = self._loan(loan)
        reader = self._reader(found.reader)
        late = max(0, days_between(found.due_on, self.state.today))
        reader.fees = round(reader.fees + late * _FEE_A_DAY, 2)
        del self.state.loans[loan]
        return ReaderView(reader=found.reader, **reader.__dict__)

    @tool(effect="write", phrases=("Renew {loan}.",))
    def renew_loan(self, loan: str) -> LoanView:
        """Give a loan three weeks from today; at most twice, and not while somebody waits for the book.

        Args:
            loan: number of the loan
        """
        found = self._loan(loan)
        if found.renewals >= 2:
            raise ToolError(f"loan {loan} has been renewed twice already")
        book = self.state.volumes[found.volume].book
        if any(hold.book == book for hold in self.state.holds.values()):
            raise ToolError(f"somebody waits for book {book}")
        found.renewals += 1
        found.due_on = days_after(self.state.today, _LOAN_DAYS)
        return self._loan_view(loan, found)

    @tool(effect="write", phrases=("Put {reader} on the waiting list for {book}.",))
    def place_hold(self, reader: str, book: str) -> HoldView:
        """Put a reader into the queue for a book.

        Args:
            reader: number of the card
            book: id of the book
        """
        self._reader(reader)
        self._book(book)
        if any((hold.reader, hold.book) == (reader, book) for hold in self.state.holds.values()):
            raise ToolError(f"reader {reader} waits for book {book} already")
        key = next_id("HD", self.state.holds, first=10_000)
        self.state.holds[key] = Hold(reader=reader, book=book, placed_on=self.state.today)
        return self._hold_view(key, self.state.holds[key])

    @tool(effect="write", phrases=("Give up {hold}.",))
    def cancel_hold(self, hold: str) -> HoldView:
        """Take a reader out of the queue for a book.

        Args:
            hold: number of the hold, such as HD1234
        """
        found = self.state.holds.get(hold)
        if found is None:
            raise ToolError(f"no hold {hold!r}")
        del self.state.holds[hold]
        return self._hold_view(hold, found)

    @tool(effect="write", phrases=("{reader} pays {amount} euros of the fees.",))
    def pay_fees(self, reader: str, amount: Euros) -> ReaderView:
        """Take in money for a reader's fees.

        Args:
            reader: number of the card
            amount: euros, above 0 and no more than is owed
        """
        found = self._reader(reader)
        if not 0 < amount <= found.fees:
            raise ToolError(f"reader {reader} owes {found.fees} euros, got {amount}")
        found.fees = round(found.fees - amount, 2)
        return ReaderView(reader=reader, **found.__dict__)

    @tool(effect="write", phrases=("Make a card for {reader_name}, {email}.",))
    def register_reader(self, reader_name: NewName, email: NewEmail) -> ReaderView:
        """Make a library card for somebody who has none.

        Args:
            reader_name: full name
            email: email address
        """
        checked_email(email)
        if not reader_name.strip():
            raise ToolError("the name is empty")
        if any(reader.email == email for reader in self.state.readers.values()):
            raise ToolError(f"there is a card for {email} already")
        key = next_id("LC", self.state.readers, first=10_000)
        self.state.readers[key] = Reader(reader_name=reader_name, email=email)
        return ReaderView(reader=key, **self.state.readers[key].__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _book(self, book: str) -> Book:
        found: Book | None = self.state.books.get(book)
        if found is None:
            raise ToolError(f"no book {book!r}")
        return found

    def _reader(self, reader: str) -> Reader:
        found: Reader | None = self.state.readers.get(reader)
        if found is None:
            raise ToolError(f"no reader {reader!r}")
        return found

    def _loan(self, loan: str) -> Loan:
        found: Loan | None = self.state.loans.get(loan)
        if found is None:
            raise ToolError(f"no loan {loan!r}")
        return found

    def _loan_view(self, key: str, loan: Loan) -> LoanView:
        title = self._book(self.state.volumes[loan.volume].book).title
        return LoanView(loan=key, title=title, **loan.__dict__)

    def _hold_view(self, key: str, hold: Hold) -> HoldView:
        return HoldView(hold=key, title=self._book(hold.book).title, **hold.__dict__)
