"""`Fleet`: the vehicles of a haulier: depots, drivers, trips and workshop jobs."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.addresses import some_phone
from envrl.envs.envfactory.toolkits.days import checked_day, days_after
from envrl.envs.envfactory.toolkits.names import CITIES, people

Kilometres = Annotated[int, pydantic.Field(examples=[40, 90, 150, 260, 380])]
Euros = Annotated[float, pydantic.Field(examples=[85.5, 120.0, 240.0, 315.75])]
VehicleKind = Literal["car", "van", "truck"]
TripStatus = Literal["planned", "under way", "finished"]
Job = Literal["brakes", "inspection", "oil change", "tyres"]
_MODELS: dict[VehicleKind, tuple[str, ...]] = {
    "car": ("Finch 2", "Wren"),
    "van": ("Badger", "Otter L"),
    "truck": ("Bison 12", "Elk 18"),
}
#: kilometres that a full tank lasts
_RANGE: dict[VehicleKind, int] = {"car": 800, "van": 700, "truck": 900}


class Depot(pydantic.BaseModel):
    """A place where vehicles stand."""

    city: str
    places: int


class Vehicle(pydantic.BaseModel):
    """A vehicle; ``range_km`` is how far the fuel in it lasts."""

    plate: str
    model: str
    kind: VehicleKind
    depot: str
    odometer_km: int
    range_km: int
    in_workshop: bool = False


class Driver(pydantic.BaseModel):
    """Somebody who drives what is in ``licences``."""

    driver_name: str
    phone: str
    licences: list[VehicleKind]
    on_leave: bool = False


class Trip(pydantic.BaseModel):
    """A trip of a vehicle. ``driver`` is the id of who drives."""

    vehicle: str
    city: str
    date: str
    distance_km: int
    status: TripStatus = "planned"
    driver: str | None = None


class Service(pydantic.BaseModel):
    """A job that the workshop does on a vehicle; the cost is in euros."""

    vehicle: str
    job: Job
    date: str
    cost: float | None = None


class FleetState(pydantic.BaseModel):
    """The fleet. Ids are the keys of the tables."""

    today: str
    depots: dict[str, Depot]
    vehicles: dict[str, Vehicle]
    drivers: dict[str, Driver]
    trips: dict[str, Trip]
    services: dict[str, Service]


class DepotView(Depot):
    """A depot with its id."""

    depot: str


class VehicleView(Vehicle):
    """A vehicle with its id."""

    vehicle: str


class DriverView(Driver):
    """A driver with the id."""

    driver: str


class TripView(Trip):
    """A trip with its number."""

    trip: str


class ServiceView(Service):
    """A workshop job with its number."""

    service: str


class Fleet(Toolkit):
    """Vehicles, drivers, trips and workshop jobs."""

    State = FleetState
    policy = (
        "Fleet: a trip needs a driver with the licence for the vehicle before it can start. A vehicle in the workshop "
        "cannot be moved or sent on a trip."
    )
    unordered = ("trips", "services")
    nouns: ClassVar = {
        "depot": "the depot in {city}",
        "vehicle": "the {kind} with the plate {plate}",
        "driver": "{driver_name}",
        "trip": "the trip to {city} on {date}",
        "service": "the {job} job of {date}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> FleetState:
        """Four depots, ten vehicles, six drivers, nine trips, four workshop jobs."""
        today = "2025-08-18"
        numbers = iter(rng.permutation(900) + 100)
        state = FleetState(today=today, depots={}, vehicles={}, drivers={}, trips={}, services={})
        cities = [CITIES[int(index)] for index in rng.permutation(len(CITIES))]
        for city in cities[:4]:
            state.depots[f"DP{next(numbers)}"] = Depot(city=city, places=int(rng.integers(3, 7)))
        depots = list(state.depots)
        kinds: list[VehicleKind] = ["car", "van", "truck"]
        for index in range(10):
            kind = kinds[index % 3]
            state.vehicles[f"VH{next(numbers)}"] = Vehicle(
                plate=f"{cities[index % 4][:2].upper()}-{int(rng.integers(1000, 9999))}",
                model=_MODELS[kind][int(rng.integers(2))],
                kind=kind,
                depot=depots[index % 4],
                odometer_km=int(rng.integers(2_000, 180_000)),
                range_km=int(rng.integers(5, _RANGE[kind] // 10)) * 10,
                in_workshop=index in (4, 7),
            )
        for index, name in enumerate(people(rng, 6)):
            licences = ["car", *(k for k in kinds[1:] if rng.random() < 0.7)] if index else kinds
            state.drivers[f"DD{next(numbers)}"] = Driver(
                driver_name=name,
                phone=some_phone(rng),
                licences=licences,
                on_leave=index == 5,
            )
        vehicles, driver = list(state.vehicles), next(iter(state.drivers))
        statuses: list[TripStatus] = ["planned", "planned", "under way", "finished"]
        free = [key for key in vehicles if not state.vehicles[key].in_workshop]
        for index in range(9):
            status = statuses[index % 4]
            days = {"planned": int(rng.integers(1, 12)), "under way": 0, "finished": -int(rng.integers(1, 9))}
            state.trips[f"TP{next(numbers)}"] = Trip(
                vehicle=free[index % len(free)],
                city=cities[4 + int(rng.integers(8))],
                date=days_after(today, days[status]),
                distance_km=int(rng.integers(3, 40)) * 10,
                status=status,
                driver=driver if status != "planned" or index % 4 == 1 else None,
            )
        jobs: list[Job] = ["brakes", "inspection", "oil change", "tyres"]
        for index, key in enumerate((vehicles[4], vehicles[7], vehicles[0], vehicles[1])):
            open_job = state.vehicles[key].in_workshop
            state.services[f"WS{next(numbers)}"] = Service(
                vehicle=key,
                job=jobs[int(rng.integers(4))],
                date=days_after(today, 0 if open_job else -30 * index),
                cost=None if open_job else round(float(rng.uniform(60, 900)), 2),
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the depot in {city}.",))
    def find_depot(self, city: str) -> DepotView:
        """Find the depot in a city.

        Args:
            city: name of the city
        """
        for key, depot in self.state.depots.items():
            if depot.city == city:
                return DepotView(depot=key, **depot.__dict__)
        raise ToolError(f"there is no depot in {city!r}")

    @tool(effect="read", phrases=("List the vehicles in {depot}.",))
    def list_vehicles(self, depot: str) -> list[VehicleView]:
        """List the vehicles of a depot.

        Args:
            depot: id of the depot, such as DP123
        """
        self._depot(depot)
        vehicles = self.state.vehicles.items()
        return [VehicleView(vehicle=k, **v.__dict__) for k, v in vehicles if v.depot == depot]

    @tool(effect="read", phrases=("Look up the vehicle with the plate {plate}.",))
    def find_vehicle(self, plate: str) -> VehicleView:
        """Find a vehicle by its plate.

        Args:
            plate: as written on the vehicle
        """
        for key, vehicle in self.state.vehicles.items():
            if vehicle.plate == plate:
                return VehicleView(vehicle=key, **vehicle.__dict__)
        raise ToolError(f"no vehicle has the plate {plate!r}")

    @tool(effect="read", phrases=("Look up the driver {driver_name}.",))
    def find_driver(self, driver_name: str) -> DriverView:
        """Find a driver by name: licences, telephone number, and whether they are on leave.

        Args:
            driver_name: full name
        """
        for key, driver in self.state.drivers.items():
            if driver.driver_name == driver_name:
                return DriverView(driver=key, **driver.__dict__)
        raise ToolError(f"no driver is called {driver_name!r}")

    @tool(effect="read", phrases=("List the trips of {vehicle}.",))
    def list_trips(self, vehicle: str) -> list[TripView]:
        """List the trips of a vehicle by date.

        Args:
            vehicle: id of the vehicle, such as VH123
        """
        self._vehicle(vehicle)
        found = [TripView(trip=k, **t.__dict__) for k, t in self.state.trips.items() if t.vehicle == vehicle]
        return sorted(found, key=lambda trip: (trip.date, trip.trip))

    @tool(effect="read", phrases=("List the workshop jobs of {vehicle}.",))
    def list_services(self, vehicle: str) -> list[ServiceView]:
        """List the workshop jobs of a vehicle by date; those without a cost are not finished.

        Args:
            vehicle: id of the vehicle
        """
        self._vehicle(vehicle)
        services = self.state.services.items()
        found = [ServiceView(service=k, **s.__dict__) for k, s in services if s.vehicle == vehicle]
        return sorted(found, key=lambda service: (service.date, service.service))

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(
        effect="write",
        phrases=("Plan a trip of {distance_km} km to {city} on {date} with {vehicle}.",),
    )
    def plan_trip(self, vehicle: str, city: str, date: str, distance_km: Kilometres) -> TripView:
        """Plan a trip, without a driver yet.

        Args:
            vehicle: id of the vehicle
            city: where it goes
            date: the day as YYYY-MM-DD, today or later
            distance_km: kilometres, above 0
        """
        self._usable(vehicle)
        checked_day(date, not_before=self.state.today)
        if distance_km <= 0:
            raise ToolError(f"a distance is above 0 km, got {distance_km}")
        if any((t.vehicle, t.date) == (vehicle, date) for t in self.state.trips.values()):
            raise ToolError(f"vehicle {vehicle} has a trip on {date} already")
        key = next_id("TP", self.state.trips, first=1000)
        self.state.trips[key] = Trip(vehicle=vehicle, city=city, date=date, distance_km=distance_km)
        return TripView(trip=key, **self.state.trips[key].__dict__)

    @tool(effect="write", phrases=("Let {driver} drive {trip}.",))
    def assign_driver(self, trip: str, driver: str) -> TripView:
        """Give a planned trip a driver who is not on leave and has the licence.

        Args:
            trip: number of the trip, such as TP123
            driver: id of the driver, such as DD123
        """
        found = self._planned(trip)
        person = self.state.drivers.get(driver)
        if person is None:
            raise ToolError(f"no driver {driver!r}")
        if person.on_leave:
            raise ToolError(f"driver {driver} is on leave")
        kind = self._vehicle(found.vehicle).kind
        if kind not in person.licences:
            raise ToolError(f"driver {driver} has no licence for a {kind}")
        if found.driver == driver:
            raise ToolError(f"{driver} drives trip {trip} already")
        found.driver = driver
        return TripView(trip=trip, **found.__dict__)

    @tool(effect="write", phrases=("Start {trip}.",))
    def start_trip(self, trip: str) -> TripView:
        """Start a planned trip that has a driver and a vehicle with enough fuel.

        Args:
            trip: number of the trip
        """
        found = self._planned(trip)
        vehicle = self._usable(found.vehicle)
        if found.driver is None:
            raise ToolError(f"trip {trip} has no driver")
        if vehicle.range_km < found.distance_km:
            raise ToolError(f"the fuel in {found.vehicle} lasts only {vehicle.range_km} km")
        found.status = "under way"
        return TripView(trip=trip, **found.__dict__)

    @tool(effect="write", phrases=("{trip} is over.",))
    def finish_trip(self, trip: str) -> VehicleView:
        """Finish a trip that is under way; the vehicle has then used its fuel.

        Args:
            trip: number of the trip
        """
        found = self._trip(trip)
        if found.status != "under way":
            raise ToolError(f"trip {trip} is {found.status}")
        vehicle = self._vehicle(found.vehicle)
        vehicle.odometer_km += found.distance_km
        vehicle.range_km = max(0, vehicle.range_km - found.distance_km)
        found.status = "finished"
        return VehicleView(vehicle=found.vehicle, **vehicle.__dict__)

    @tool(effect="write", phrases=("Cancel {trip}.",))
    def cancel_trip(self, trip: str) -> TripView:
        """Cancel a planned trip.

        Args:
            trip: number of the trip
        """
        found = self._planned(trip)
        del self.state.trips[trip]
        return TripView(trip=trip, **found.__dict__)

    @tool(effect="write", phrases=("Fill {vehicle} up.",))
    def refuel_vehicle(self, vehicle: str) -> VehicleView:
        """Fill a vehicle's tank.

        Args:
            vehicle: id of the vehicle
        """
        found = self._vehicle(vehicle)
        if found.range_km >= _RANGE[found.kind]:
            raise ToolError(f"vehicle {vehicle} is full")
        found.range_km = _RANGE[found.kind]
        return VehicleView(vehicle=vehicle, **found.__dict__)

    @tool(effect="write", phrases=("Move {vehicle} to {depot}.",))
    def move_vehicle(self, vehicle: str, depot: str) -> VehicleView:
        """Move a vehicle to another depot that has a free place.

        Args:
            vehicle: id of the vehicle
            depot: id of the depot
        """
        found, place = self._usable(vehicle), self._depot(depot)
        if found.depot == depot:
            raise ToolError(f"vehicle {vehicle} is in {depot} already")
        if sum(v.depot == depot for v in self.state.vehicles.values()) >= place.places:
            raise ToolError(f"depot {depot} is full")
        found.depot = depot
        return VehicleView(vehicle=vehicle, **found.__dict__)

    @tool(effect="write", phrases=("Bring {vehicle} to the workshop for {job}.",))
    def open_service(self, vehicle: str, job: Job) -> ServiceView:
        """Bring a vehicle to the workshop today.

        Args:
            vehicle: id of the vehicle
            job: what is to be done
        """
        found = self._usable(vehicle)
        found.in_workshop = True
        key = next_id("WS", self.state.services, first=1000)
        self.state.services[key] = Service(vehicle=vehicle, job=job, date=self.state.today)
        return ServiceView(service=key, **self.state.services[key].__dict__)

    @tool(effect="write", phrases=("{service} is done and cost {cost} euros.",))
    def close_service(self, service: str, cost: Euros) -> ServiceView:
        """Finish a workshop job; the vehicle can be used again.

        Args:
            service: number of the job, such as WS123
            cost: euros, above 0
        """
        found = self.state.services.get(service)
        if found is None:
            raise ToolError(f"no workshop job {service!r}")
        if found.cost is not None:
            raise ToolError(f"job {service} is finished already")
        if cost <= 0:
            raise ToolError(f"a cost is above 0, got {cost}")
        found.cost = cost
        self._vehicle(found.vehicle).in_workshop = False
        return ServiceView(service=service, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _depot(self, depot: str) -> Depot:
        found: Depot | None = self.state.depots.get(depot)
        if found is None:
            raise ToolError(f"no depot {depot!r}")
        return found

    def _vehicle(self, vehicle: str) -> Vehicle:
        found: Vehicle | None = self.state.vehicles.get(vehicle)
        if found is None:
            raise ToolError(f"no vehicle {vehicle!r}")
        return found

    def _usable(self, vehicle: str) -> Vehicle:
        found = self._vehicle(vehicle)
        if found.in_workshop:
            raise ToolError(f"vehicle {vehicle} is in the workshop")
        return found

    def _trip(self, trip: str) -> Trip:
        found: Trip | None = self.state.trips.get(trip)
        if found is None:
            raise ToolError(f"no trip {trip!r}")
        return found

    def _planned(self, trip: str) -> Trip:
        found = self._trip(trip)
        if found.status != "planned":
            raise ToolError(f"trip {trip} is {found.status}")
        return found
