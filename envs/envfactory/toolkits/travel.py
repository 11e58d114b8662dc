"""`Travel`: a travel agency: flights, hotels, and what travellers have booked."""

from typing import Annotated, ClassVar

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.days import checked_day, days_after
from envrl.envs.envfactory.toolkits.names import CITIES, email_of, people

Nights = Annotated[int, pydantic.Field(examples=[1, 2, 3, 4, 5, 7])]
_AIRLINES = ("Albatross", "Blue Heron", "Kestrel", "Northern Tern")
_HOTELS = (
    "Astoria",
    "Bellevue",
    "Grand Canal",
    "Old Mill",
    "Parkside",
    "Sea View",
    "Station",
    "Three Crowns",
)
_BAG_FEE = 35.0


class Traveller(pydantic.BaseModel):
    """Somebody who travels; the budget is what is left of it, in euros."""

    traveller_name: str
    email: str
    budget: float


class Flight(pydantic.BaseModel):
    """A flight; the price is in euros a seat."""

    airline: str
    origin: str
    destination: str
    date: str
    departs: str
    price: float
    seats_left: int


class Hotel(pydantic.BaseModel):
    """A hotel; the price is in euros a night."""

    hotel_name: str
    city: str
    stars: int
    nightly_price: float
    rooms_left: int


class Reservation(pydantic.BaseModel):
    """A seat on a flight."""

    traveller: str
    flight: str
    paid: float
    bags: int = 0


class Stay(pydantic.BaseModel):
    """A room in a hotel from a day on."""

    traveller: str
    hotel: str
    date: str
    nights: int
    paid: float


class TravelState(pydantic.BaseModel):
    """The agency. Ids are the keys of the tables."""

    today: str
    travellers: dict[str, Traveller]
    flights: dict[str, Flight]
    hotels: dict[str, Hotel]
    reservations: dict[str, Reservation]
    stays: dict[str, Stay]


class TravellerView(Traveller):
    """A traveller with the customer number."""

    traveller: str


class FlightView(Flight):
    """A flight with its number."""

    flight: str


class HotelView(Hotel):
    """A hotel with its id."""

    hotel: str


class ReservationView(Reservation):
    """A reservation with its number, and where and when the flight goes."""

    reservation: str
    origin: str
    destination: str
    date: str


class StayView(Stay):
    """A stay with its number, and where it is."""

    stay: str
    hotel_name: str
    city: str


class Travel(Toolkit):
    """Flights, hotels and bookings."""

    State = TravelState
    policy = (
        "Travel: everything is paid from the traveller's budget at once. A cancelled flight gives back half of what "
        "was paid, a cancelled stay all of it."
    )
    unordered = ("reservations", "stays")
    nouns: ClassVar = {
        "traveller": "{traveller_name}",
        "flight": "the {airline} flight at {departs} on {date}",
        "hotel": "the hotel {hotel_name} in {city}",
        "reservation": "the flight to {destination} on {date}",
        "stay": "the stay at the {hotel_name} in {city}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> TravelState:
        """Five travellers, twelve flights on four routes, six hotels, and some bookings."""
        today = "2025-07-01"
        numbers = iter(rng.permutation(9000) + 1000)
        state = TravelState(today=today, travellers={}, flights={}, hotels={}, reservations={}, stays={})
        for name in people(rng, 5):
            budget = round(float(rng.uniform(600, 2500)), 2)
            state.travellers[f"TR{next(numbers)}"] = Traveller(
                traveller_name=name, email=email_of(name), budget=budget
            )
        cities = [CITIES[int(index)] for index in rng.permutation(len(CITIES))[:5]]
        for route in range(4):
            origin, destination = cities[0] if route % 2 else cities[route], cities[route + 1]
            for _ in range(3):
                state.flights[f"FL{next(numbers)}"] = Flight(
                    airline=_AIRLINES[int(rng.integers(len(_AIRLINES)))],
                    origin=origin,
                    destination=destination,
                    date=days_after(today, int(rng.integers(3, 30))),
                    departs=f"{int(rng.integers(6, 22)):02}:{int(rng.integers(12)) * 5:02}",
                    price=round(float(rng.uniform(60, 400)), 2),
                    seats_left=0 if rng.random() < 0.1 else int(rng.integers(1, 30)),
                )
        for index, hotel in enumerate(rng.permutation(len(_HOTELS))[:6]):
            state.hotels[f"HT{next(numbers)}"] = Hotel(
                hotel_name=_HOTELS[int(hotel)],
                city=cities[1 + index % 4],
                stars=int(rng.integers(2, 6)),
                nightly_price=round(float(rng.uniform(45, 180)), 2),
                rooms_left=0 if rng.random() < 0.1 else int(rng.integers(1, 9)),
            )
        travellers, flights, hotels = list(state.travellers), list(state.flights), list(state.hotels)
        for traveller in travellers[:4]:
            flight = flights[int(rng.integers(len(flights)))]
            state.reservations[f"RS{next(numbers)}"] = Reservation(
                traveller=traveller, flight=flight, paid=state.flights[flight].price
            )
        for traveller in travellers[1:]:
            hotel, nights = hotels[int(rng.integers(6))], int(rng.integers(1, 6))
            state.stays[f"ST{next(numbers)}"] = Stay(
                traveller=traveller,
                hotel=hotel,
                date=days_after(today, int(rng.integers(3, 30))),
                nights=nights,
                paid=round(nights * state.hotels[hotel].nightly_price, 2),
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the traveller {traveller_name}.",))
    def find_traveller(self, traveller_name: str) -> TravellerView:
        """Find a traveller by name.

        Args:
            traveller_name: full name
        """
        for key, traveller in self.state.travellers.items():
            if traveller.traveller_name == traveller_name:
                return TravellerView(traveller=key, **traveller.__dict__)
        raise ToolError(f"no traveller is called {traveller_name!r}")

    @tool(effect="read", phrases=("List the flights from {origin} to {destination}.",))
    def search_flights(self, origin: str, destination: str) -> list[FlightView]:
        """List the flights between two cities by date.

        Args:
            origin: city where they start
            destination: city where they land
        """
        if origin == destination:
            raise ToolError("origin and destination are the same city")
        found = [
            FlightView(flight=key, **flight.__dict__)
            for key, flight in self.state.flights.items()
            if (flight.origin, flight.destination) == (origin, destination)
        ]
        return sorted(found, key=lambda flight: (flight.date, flight.departs, flight.flight))

    @tool(effect="read", phrases=("List the hotels in {city}.",))
    def search_hotels(self, city: str) -> list[HotelView]:
        """List the hotels of a city, the cheapest first.

        Args:
            city: name of the city
        """
        found = [HotelView(hotel=k, **h.__dict__) for k, h in self.state.hotels.items() if h.city == city]
        if not found:
            raise ToolError(f"the agency has no hotel in {city!r}")
        return sorted(found, key=lambda hotel: (hotel.nightly_price, hotel.hotel))

    @tool(effect="read", phrases=("List the flights that {traveller} has booked.",))
    def list_reservations(self, traveller: str) -> list[ReservationView]:
        """List the flights that a traveller has booked.

        Args:
            traveller: customer number, such as TR1234
        """
        self._traveller(traveller)
        reservations = self.state.reservations.items()
        return [self._seat(key, r) for key, r in reservations if r.traveller == traveller]

    @tool(effect="read", phrases=("List the hotel stays of {traveller}.",))
    def list_stays(self, traveller: str) -> list[StayView]:
        """List the hotel stays that a traveller has booked.

        Args:
            traveller: customer number
        """
        self._traveller(traveller)
        return [self._night(key, s) for key, s in self.state.stays.items() if s.traveller == traveller]

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=("Book {flight} for {traveller}.",))
    def book_flight(self, traveller: str, flight: str) -> ReservationView:
        """Book a seat on a flight.

        Args:
            traveller: customer number
            flight: number of the flight, such as FL1234
        """
        self._traveller(traveller)
        price = self._seat_price(flight)
        if any((r.traveller, r.flight) == (traveller, flight) for r in self.state.reservations.values()):
            raise ToolError(f"traveller {traveller} is on flight {flight} already")
        self._pay(traveller, price)
        self.state.flights[flight].seats_left -= 1
        key = next_id("RS", self.state.reservations, first=10_000)
        self.state.reservations[key] = Reservation(traveller=traveller, flight=flight, paid=price)
        return self._seat(key, self.state.reservations[key])

    @tool(effect="write", phrases=("Rebook {reservation} to {flight}.",))
    def change_flight(self, reservation: str, flight: str) -> ReservationView:
        """Rebook to another flight on the same route; the difference in price is paid or given back.

        Args:
            reservation: number of the reservation, such as RS1234
            flight: number of the new flight
        """
        found = self._reservation(reservation)
        old, price = self.state.flights[found.flight], self._seat_price(flight)
        new = self.state.flights[flight]
        if flight == found.flight:
            raise ToolError(f"reservation {reservation} is for flight {flight} already")
        if (old.origin, old.destination) != (new.origin, new.destination):
            raise ToolError(f"flight {flight} does not go from {old.origin} to {old.destination}")
        self._pay(found.traveller, price - old.price)
        found.paid = round(found.paid + price - old.price, 2)
        old.seats_left, new.seats_left, found.flight = old.seats_left + 1, new.seats_left - 1, flight
        return self._seat(reservation, found)

    @tool(effect="write", phrases=("Add a bag to {reservation}.",))
    def add_bag(self, reservation: str) -> ReservationView:
        """Add a checked bag for 35 euros; at most three.

        Args:
            reservation: number of the reservation
        """
        found = self._reservation(reservation)
        if found.bags >= 3:
            raise ToolError(f"reservation {reservation} has three bags already")
        self._pay(found.traveller, _BAG_FEE)
        found.bags, found.paid = found.bags + 1, round(found.paid + _BAG_FEE, 2)
        return self._seat(reservation, found)

    @tool(effect="write", phrases=("Cancel {reservation}.",))
    def cancel_reservation(self, reservation: str) -> TravellerView:
        """Cancel a flight that was booked; half of what was paid comes back.

        Args:
            reservation: number of the reservation
        """
        found = self._reservation(reservation)
        self._pay(found.traveller, -found.paid / 2)
        self.state.flights[found.flight].seats_left += 1
        del self.state.reservations[reservation]
        return TravellerView(traveller=found.traveller, **self._traveller(found.traveller).__dict__)

    @tool(
        effect="write",
        phrases=("Book {hotel} for {traveller} from {date} for {nights} nights.",),
    )
    def book_hotel(self, traveller: str, hotel: str, date: str, nights: Nights) -> StayView:
        """Book a room in a hotel.

        Args:
            traveller: customer number
            hotel: id of the hotel, such as HT1234
            date: first night as YYYY-MM-DD, today or later
            nights: how many, 1 to 14
        """
        self._traveller(traveller)
        found = self.state.hotels.get(hotel)
        if found is None:
            raise ToolError(f"no hotel {hotel!r}")
        checked_day(date, not_before=self.state.today)
        if not 1 <= nights <= 14:
            raise ToolError(f"a stay is 1 to 14 nights, got {nights}")
        if found.rooms_left < 1:
            raise ToolError(f"hotel {hotel} has no room left")
        price = round(nights * found.nightly_price, 2)
        self._pay(traveller, price)
        found.rooms_left -= 1
        key = next_id("ST", self.state.stays, first=10_000)
        self.state.stays[key] = Stay(traveller=traveller, hotel=hotel, date=date, nights=nights, paid=price)
        return self._night(key, self.state.stays[key])

    @tool(effect="write", phrases=("Cancel {stay}.",))
    def cancel_stay(self, stay: str) -> TravellerView:
        """Cancel a hotel stay; what was paid comes back.

        Args:
            stay: number of the stay, such as ST1234
        """
        found = self.state.stays.get(stay)
        if found is None:
            raise ToolError(f"no stay {stay!r}")
        self._pay(found.traveller, -found.paid)
        self.state.hotels[found.hotel].rooms_left += 1
        del self.state.stays[stay]
        return TravellerView(traveller=found.traveller, **self._traveller(found.traveller).__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _traveller(self, traveller: str) -> Traveller:
        found: Traveller | None = self.state.travellers.get(traveller)
        if found is None:
            raise ToolError(f"no traveller {traveller!r}")
        return found

    def _reservation(self, reservation: str) -> Reservation:
        found: Reservation | None = self.state.reservations.get(reservation)
        if found is None:
            raise ToolError(f"no reservation {reservation!r}")
        return found

    def _seat_price(self, flight: str) -> float:
        found = self.state.flights.get(flight)
        if found is None:
            raise ToolError(f"no flight {flight!r}")
        if found.seats_left < 1:
            raise ToolError(f"flight {flight} is full")
        price: float = found.price
        return price

    def _pay(self, traveller: str, amount: float) -> None:
        found = self._traveller(traveller)
        if amount > found.budget:
            raise ToolError(f"{amount:.2f} euros are more than the budget of traveller {traveller}")
        found.budget = round(found.budget - amount, 2)

    def _seat(self, key: str, reservation: Reservation) -> ReservationView:
        flight = self.state.flights[reservation.flight]
        return ReservationView(
            reservation=key,
            origin=flight.origin,
            destination=flight.destination,
            date=flight.date,
            **reservation.__dict__,
        )

    def _night(self, key: str, stay: Stay) -> StayView:
        hotel = self.state.hotels[stay.hotel]
        return StayView(stay=key, hotel_name=hotel.hotel_name, city=hotel.city, **stay.__dict__)
