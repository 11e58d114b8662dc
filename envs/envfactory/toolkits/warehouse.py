"""`Warehouse`: parts in bins, purchases from suppliers, and shipments that go out."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.days import days_after
from envrl.envs.envfactory.toolkits.names import CITIES

Pieces = Annotated[int, pydantic.Field(examples=[2, 5, 8, 10, 15, 20])]
Carrier = Literal["rail", "road", "sea"]
PurchaseStatus = Literal["ordered", "received", "cancelled"]
_PARTS = (
    "Ball bearing", "Cable drum", "Drive belt", "Fan blade", "Gasket", "Hex bolt", "Pump seal", "Relay",
    "Spring washer", "Steel bracket", "Valve", "Wing nut",
)  # fmt: skip
_SUPPLIERS = ("Alder & Sons", "Bergmann Metal", "Castor Supply", "Dorn Industrial", "Eastgate Parts")


class Part(pydantic.BaseModel):
    """Something that is stored; the weight is in grams apiece."""

    part_name: str
    weight_g: int


class Bin(pydantic.BaseModel):
    """A place on a shelf; it holds one kind of part at a time."""

    aisle: int
    capacity: int
    part: str | None = None
    quantity: int = 0


class Supplier(pydantic.BaseModel):
    """Somebody who delivers parts within so many days."""

    supplier_name: str
    email: str
    city: str
    lead_days: int


class Purchase(pydantic.BaseModel):
    """Parts that were ordered from a supplier."""

    supplier: str
    part: str
    quantity: int
    due_on: str
    status: PurchaseStatus = "ordered"


class Shipment(pydantic.BaseModel):
    """Parts that are packed for a city; sent if there is a carrier."""

    part: str
    quantity: int
    city: str
    carrier: Carrier | None = None


class WarehouseState(pydantic.BaseModel):
    """The warehouse. Ids are the keys of the tables."""

    today: str
    parts: dict[str, Part]
    bins: dict[str, Bin]
    suppliers: dict[str, Supplier]
    purchases: dict[str, Purchase]
    shipments: dict[str, Shipment]


class PartView(Part):
    """A part with its number and how many there are in all bins."""

    part: str
    in_stock: int


class BinView(Bin):
    """A bin with its number."""

    bin: str


class SupplierView(Supplier):
    """A supplier with the id."""

    supplier: str


class PurchaseView(Purchase):
    """A purchase with its number."""

    purchase: str


class ShipmentView(Shipment):
    """A shipment with its number."""

    shipment: str


class Warehouse(Toolkit):
    """Parts, bins, purchases and shipments."""

    State = WarehouseState
    policy = "Warehouse: a bin holds one kind of part and never more than its capacity."
    unordered = ("purchases", "shipments")
    nouns: ClassVar = {
        "part": "the part {part_name}",
        "supplier": "the supplier {supplier_name}",
        "purchase": "the purchase of {quantity} pieces due on {due_on}",
        "shipment": "the shipment of {quantity} pieces to {city}",
        "bin": "the bin in aisle {aisle} with {quantity} pieces",
        "new_bin": "the bin in aisle {aisle} with {quantity} pieces",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> WarehouseState:
        """Eight parts, sixteen bins in four aisles, four suppliers, purchases and shipments."""
        today = "2025-12-01"
        numbers = iter(rng.permutation(9000) + 1000)
        state = WarehouseState(today=today, parts={}, bins={}, suppliers={}, purchases={}, shipments={})
        for name in rng.permutation(len(_PARTS))[:8]:
            state.parts[f"PA{next(numbers)}"] = Part(
                part_name=_PARTS[int(name)], weight_g=int(rng.integers(1, 120)) * 10
            )
        parts = list(state.parts)
        for index in range(16):
            capacity, part = int(rng.integers(4, 30)) * 10, parts[int(rng.integers(8))]
            quantity = int(rng.integers(10, capacity)) if index % 5 else 0
            state.bins[f"BN{next(numbers)}"] = Bin(
                aisle=1 + index % 4, capacity=capacity, part=part if quantity else None, quantity=quantity
            )
        for name in rng.permutation(len(_SUPPLIERS))[:4]:
            supplier_name = _SUPPLIERS[int(name)]
            state.suppliers[f"SU{next(numbers)}"] = Supplier(
                supplier_name=supplier_name,
                email=f"sales@{supplier_name.split()[0].lower()}.example.com",
                city=CITIES[int(rng.integers(len(CITIES)))],
                lead_days=int(rng.integers(2, 21)),
            )
        suppliers = list(state.suppliers)
        statuses: list[PurchaseStatus] = ["ordered", "ordered", "received", "cancelled"]
        for index in range(7):
            status = statuses[index % 4]
            days = int(rng.integers(1, 15)) if status == "ordered" else -int(rng.integers(1, 30))
            state.purchases[f"PO{next(numbers)}"] = Purchase(
                supplier=suppliers[int(rng.integers(4))],
                part=parts[int(rng.integers(8))],
                quantity=int(rng.integers(1, 9)) * 5,
                due_on=days_after(today, days),
                status=status,
            )
        for index in range(5):
            state.shipments[f"SH{next(numbers)}"] = Shipment(
                part=parts[int(rng.integers(8))],
                quantity=int(rng.integers(1, 40)),
                city=CITIES[int(rng.integers(len(CITIES)))],
                carrier="road" if index % 2 else None,
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the part {part_name}.",))
    def find_part(self, part_name: str) -> PartView:
        """Find a part by name, and how many there are in all bins.

        Args:
            part_name: the whole name
        """
        for key, part in self.state.parts.items():
            if part.part_name == part_name:
                in_stock = sum(b.quantity for b in self.state.bins.values() if b.part == key)
                return PartView(part=key, in_stock=in_stock, **part.__dict__)
        raise ToolError(f"no part is called {part_name!r}")

    @tool(effect="read", phrases=("List the bins with {part}.",))
    def list_bins(self, part: str) -> list[BinView]:
        """List the bins that hold a part, the fullest first.

        Args:
            part: number of the part, such as PA1234
        """
        self._part(part)
        found = [BinView(bin=k, **b.__dict__) for k, b in self.state.bins.items() if b.part == part]
        return sorted(found, key=lambda held: (-held.quantity, held.bin))

    @tool(effect="read", phrases=("List the empty bins in aisle {aisle}.",))
    def list_empty_bins(self, aisle: int) -> list[BinView]:
        """List the empty bins of an aisle, the largest first.

        Args:
            aisle: number of the aisle
        """
        if all(held.aisle != aisle for held in self.state.bins.values()):
            raise ToolError(f"there is no aisle {aisle}")
        found = [
            BinView(bin=key, **held.__dict__)
            for key, held in self.state.bins.items()
            if held.aisle == aisle and held.part is None
        ]
        return sorted(found, key=lambda held: (-held.capacity, held.bin))

    @tool(effect="read", phrases=("Look up the supplier {supplier_name}.",))
    def find_supplier(self, supplier_name: str) -> SupplierView:
        """Find a supplier by name: city, email address and how long deliveries take.

        Args:
            supplier_name: the whole name
        """
        for key, supplier in self.state.suppliers.items():
            if supplier.supplier_name == supplier_name:
                return SupplierView(supplier=key, **supplier.__dict__)
        raise ToolError(f"no supplier is called {supplier_name!r}")

    @tool(effect="read", phrases=("List the purchases from {supplier}.",))
    def list_purchases(self, supplier: str) -> list[PurchaseView]:
        """List the purchases from a supplier by the day they are due.

        Args:
            supplier: id of the supplier, such as SU1234
        """
        self._supplier(supplier)
        purchases = self.state.purchases.items()
        found = [PurchaseView(purchase=k, **p.__dict__) for k, p in purchases if p.supplier == supplier]
        return sorted(found, key=lambda purchase: (purchase.due_on, purchase.purchase))

    @tool(effect="read", phrases=("List the shipments to {city}.",))
    def list_shipments(self, city: str) -> list[ShipmentView]:
        """List the shipments to a city, sent ones too.

        Args:
            city: name of the city
        """
        shipments = self.state.shipments.items()
        found = [ShipmentView(shipment=k, **s.__dict__) for k, s in shipments if s.city == city]
        if not found:
            raise ToolError(f"no shipment goes to {city!r}")
        return found

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=("Move {quantity} pieces from {bin} to {new_bin}.",))
    def move_stock(self, bin: str, new_bin: str, quantity: Pieces) -> BinView:
        """Move pieces into a bin that is empty or holds the same part.

        Args:
            bin: number of the bin that gives, such as BN1234
            new_bin: number of the bin that takes
            quantity: how many, at least 1
        """
        source, target = self._bin(bin), self._bin(new_bin)
        if bin == new_bin:
            raise ToolError("both bins are the same")
        self._check_out(bin, quantity)
        self._check_in(new_bin, source.part, quantity)
        target.part, target.quantity = source.part, target.quantity + quantity
        _take_out(source, quantity)
        return BinView(bin=new_bin, **target.__dict__)

    @tool(effect="write", phrases=("There are really {quantity} pieces in {bin}.",))
    def correct_count(self, bin: str, quantity: Pieces) -> BinView:
        """Correct how many pieces are in a bin that holds a part.

        Args:
            bin: number of the bin
            quantity: how many were counted, at least 1
        """
        found = self._bin(bin)
        if found.part is None:
            raise ToolError(f"bin {bin} is empty")
        if not 1 <= quantity <= found.capacity:
            raise ToolError(f"bin {bin} holds 1 to {found.capacity}, got {quantity}")
        found.quantity = quantity
        return BinView(bin=bin, **found.__dict__)

    @tool(effect="write", phrases=("Order {quantity} of {part} from {supplier}.",))
    def order_part(self, supplier: str, part: str, quantity: Pieces) -> PurchaseView:
        """Order a part; it is due after the supplier's usual days.

        Args:
            supplier: id of the supplier
            part: number of the part
            quantity: how many, 1 to 1000
        """
        found = self._supplier(supplier)
        self._part(part)
        if not 1 <= quantity <= 1000:
            raise ToolError(f"expected 1 to 1000 pieces, got {quantity}")
        key = next_id("PO", self.state.purchases, first=10_000)
        due_on = days_after(self.state.today, found.lead_days)
        self.state.purchases[key] = Purchase(supplier=supplier, part=part, quantity=quantity, due_on=due_on)
        return PurchaseView(purchase=key, **self.state.purchases[key].__dict__)

    @tool(effect="write", phrases=("Put {purchase} into {bin}, it has come.",))
    def receive_purchase(self, purchase: str, bin: str) -> BinView:
        """Put what was ordered into a bin that is empty or holds the same part.

        Args:
            purchase: number of the purchase, such as PO1234
            bin: number of the bin
        """
        found, place = self._ordered(purchase), self._bin(bin)
        self._check_in(bin, found.part, found.quantity)
        place.part, place.quantity = found.part, place.quantity + found.quantity
        found.status = "received"
        return BinView(bin=bin, **place.__dict__)

    @tool(effect="write", phrases=("Cancel {purchase}.",))
    def cancel_purchase(self, purchase: str) -> PurchaseView:
        """Cancel a purchase that has not come yet.

        Args:
            purchase: number of the purchase
        """
        found = self._ordered(purchase)
        found.status = "cancelled"
        return PurchaseView(purchase=purchase, **found.__dict__)

    @tool(effect="write", phrases=("Pack {quantity} pieces out of {bin} for {city}.",))
    def pack_shipment(self, bin: str, quantity: Pieces, city: str) -> ShipmentView:
        """Take pieces out of a bin and pack them for a city.

        Args:
            bin: number of the bin
            quantity: how many, at least 1
            city: where they go
        """
        found = self._bin(bin)
        if city not in CITIES:
            raise ToolError(f"no carrier goes to {city!r}")
        self._check_out(bin, quantity)
        key = next_id("SH", self.state.shipments, first=10_000)
        self.state.shipments[key] = Shipment(part=found.part or "", quantity=quantity, city=city)
        _take_out(found, quantity)
        return ShipmentView(shipment=key, **self.state.shipments[key].__dict__)

    @tool(effect="write", phrases=("Send {shipment} by {carrier}.",))
    def send_shipment(self, shipment: str, carrier: Carrier) -> ShipmentView:
        """Hand a packed shipment to a carrier.

        Args:
            shipment: number of the shipment, such as SH1234
            carrier: how it travels
        """
        found = self.state.shipments.get(shipment)
        if found is None:
            raise ToolError(f"no shipment {shipment!r}")
        if found.carrier is not None:
            raise ToolError(f"shipment {shipment} has been sent by {found.carrier}")
        found.carrier = carrier
        return ShipmentView(shipment=shipment, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _part(self, part: str) -> Part:
        found: Part | None = self.state.parts.get(part)
        if found is None:
            raise ToolError(f"no part {part!r}")
        return found

    def _bin(self, key: str) -> Bin:
        found: Bin | None = self.state.bins.get(key)
        if found is None:
            raise ToolError(f"no bin {key!r}")
        return found

    def _supplier(self, supplier: str) -> Supplier:
        found: Supplier | None = self.state.suppliers.get(supplier)
        if found is None:
            raise ToolError(f"no supplier {supplier!r}")
        return found

    def _ordered(self, purchase: str) -> Purchase:
        found: Purchase | None = self.state.purchases.get(purchase)
        if found is None:
            raise ToolError(f"no purchase {purchase!r}")
        if found.status != "ordered":
            raise ToolError(f"purchase {purchase} is {found.status}")
        return found

    def _check_out(self, key: str, quantity: int) -> None:
        held = self._bin(key).quantity
        if not 1 <= quantity <= held:
            raise ToolError(f"bin {key} holds {held}, got {quantity} to take out")

    def _check_in(self, key: str, part: str | None, quantity: int) -> None:
        place = self._bin(key)
        if place.part not in (None, part):
            raise ToolError(f"bin {key} holds another part")
        if place.quantity + quantity > place.capacity:
            raise ToolError(f"bin {key} has room for {place.capacity - place.quantity} more")


def _take_out(held: Bin, quantity: int) -> None:
    held.quantity -= quantity
    if held.quantity == 0:
        held.part = None
