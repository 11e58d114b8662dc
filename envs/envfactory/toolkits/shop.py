"""`Shop`: an online shop: products, buyers, orders, coupons and returns."""

from typing import ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.days import days_after
from envrl.envs.envfactory.toolkits.names import CITIES, email_of, people

Category = Literal["garden", "kitchen", "office", "sport", "toys"]
OrderStatus = Literal["placed", "shipped", "delivered", "cancelled"]
_PRODUCTS: dict[Category, tuple[str, ...]] = {
    "garden": ("Hose reel", "Pruning shears", "Seed box", "Watering can"),
    "kitchen": ("Bread knife", "Cast-iron pan", "Coffee grinder", "Mixing bowl"),
    "office": ("Desk lamp", "File box", "Foot rest", "Paper trimmer"),
    "sport": ("Jump rope", "Running belt", "Swim goggles", "Yoga mat"),
    "toys": ("Kite", "Marble run", "Puzzle cube", "Wooden train"),
}


class Product(pydantic.BaseModel):
    """Something that is sold; the price is in euros."""

    product_name: str
    category: Category
    price: float
    stock: int


class Buyer(pydantic.BaseModel):
    """Somebody who buys. ``credit`` is what the shop owes, in euros."""

    buyer_name: str
    email: str
    city: str
    credit: float = 0.0


class Line(pydantic.BaseModel):
    """A product in an order, at the price of the day it was ordered."""

    product: str
    quantity: int
    unit_price: float


class Order(pydantic.BaseModel):
    """An order; the total is in euros, a coupon's discount taken off."""

    buyer: str
    lines: list[Line]
    total: float
    city: str
    ordered_on: str
    status: OrderStatus = "placed"
    coupon: str | None = None


class Coupon(pydantic.BaseModel):
    """Percent off an order, for one use."""

    percent: int
    used: bool = False


class Return(pydantic.BaseModel):
    """A product that comes back from a delivered order."""

    order: str
    product: str
    reason: str
    refund: float


class ShopState(pydantic.BaseModel):
    """The shop. Ids are the keys of the tables."""

    today: str
    products: dict[str, Product]
    buyers: dict[str, Buyer]
    orders: dict[str, Order]
    coupons: dict[str, Coupon]
    returns: dict[str, Return]


class ProductView(Product):
    """A product with its id."""

    product: str


class BuyerView(Buyer):
    """A buyer with the customer number."""

    buyer: str


class OrderView(Order):
    """An order with its number."""

    order: str


class ReturnView(Return):
    """A return with its number."""

    return_number: str


class Shop(Toolkit):
    """Products, buyers, orders and returns."""

    State = ShopState
    policy = (
        "Shop: only an order that is placed and not yet shipped can be changed or cancelled. Only what was delivered "
        "can be returned."
    )
    unordered = ("orders", "returns", "orders.*.lines")
    nouns: ClassVar = {
        "product": "the {product_name}",
        "buyer": "{buyer_name}",
        "order": "the {status} order of {ordered_on}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> ShopState:
        """Fourteen products, five buyers, twelve orders, four coupons."""
        today = "2025-09-08"
        numbers = iter(rng.permutation(9000) + 1000)
        state = ShopState(today=today, products={}, buyers={}, orders={}, coupons={}, returns={})
        for category, product_names in _PRODUCTS.items():
            for index in sorted(rng.permutation(4)[:3]):
                price = round(float(rng.integers(5, 90)) - 0.05, 2)
                stock = 0 if rng.random() < 0.1 else int(rng.integers(2, 40))
                state.products[f"PR{next(numbers)}"] = Product(
                    product_name=product_names[int(index)], category=category, price=price, stock=stock
                )
        for name in people(rng, 5):
            city = CITIES[int(rng.integers(len(CITIES)))]
            state.buyers[f"BU{next(numbers)}"] = Buyer(buyer_name=name, email=email_of(name), city=city)
        for percent in (5, 10, 20, 25):
            code = f"SAVE{percent}-{int(rng.integers(100, 999))}"
            state.coupons[code] = Coupon(percent=percent, used=percent == 20)
        products, buyers = list(state.products), list(state.buyers)
        statuses: list[OrderStatus] = ["placed", "placed", "shipped", "delivered", "delivered", "cancelled"]
        for index in range(12):
            buyer = buyers[index % 5]
            lines = []
            for choice in rng.permutation(len(products))[: int(rng.integers(1, 4))]:
                product = products[int(choice)]
                unit_price = state.products[product].price
                quantity = int(rng.integers(1, 4))
                lines.append(Line(product=product, quantity=quantity, unit_price=unit_price))
            order = Order(
                buyer=buyer,
                lines=lines,
                total=0.0,
                city=state.buyers[buyer].city,
                ordered_on=days_after(today, int(rng.integers(-40, 0))),
                status=statuses[index % 6],
            )
            order.total = _total(order, 0)
            state.orders[f"OR{next(numbers)}"] = order
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the buyer {buyer_name}.",))
    def find_buyer(self, buyer_name: str) -> BuyerView:
        """Find a buyer by name.

        Args:
            buyer_name: full name
        """
        for key, buyer in self.state.buyers.items():
            if buyer.buyer_name == buyer_name:
                return BuyerView(buyer=key, **buyer.__dict__)
        raise ToolError(f"no buyer is called {buyer_name!r}")

    @tool(effect="read", phrases=("What do you have for {category} up to {max_price} euros?",))
    def search_products(self, category: Category, max_price: float) -> list[ProductView]:
        """List the products of a category up to a price, the cheapest first.

        Args:
            category: kind of product
            max_price: euros, above 0
        """
        if max_price <= 0:
            raise ToolError(f"a price is above 0, got {max_price}")
        found = [
            ProductView(product=key, **product.__dict__)
            for key, product in self.state.products.items()
            if product.category == category and product.price <= max_price
        ]
        return sorted(found, key=lambda product: (product.price, product.product))

    @tool(effect="read", phrases=("Find the product {product_name}.",))
    def find_product(self, product_name: str) -> ProductView:
        """Find a product by its name: price and how many are in stock.

        Args:
            product_name: the whole name
        """
        for key, product in self.state.products.items():
            if product.product_name == product_name:
                return ProductView(product=key, **product.__dict__)
        raise ToolError(f"no product is called {product_name!r}")

    @tool(effect="read", phrases=("Which orders has {buyer} made?",))
    def list_orders(self, buyer: str) -> list[OrderView]:
        """List the orders of a buyer by the day they were made.

        Args:
            buyer: customer number, such as BU1234
        """
        self._buyer(buyer)
        found = [OrderView(order=k, **o.__dict__) for k, o in self.state.orders.items() if o.buyer == buyer]
        return sorted(found, key=lambda order: (order.ordered_on, order.order))

    @tool(effect="read", phrases=("How does {order} stand?",))
    def get_order(self, order: str) -> OrderView:
        """Show an order.

        Args:
            order: number of the order, such as OR1234
        """
        return OrderView(order=order, **self._order(order).__dict__)

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=("Order {quantity} of {product} for {buyer}.",))
    def place_order(self, buyer: str, product: str, quantity: int) -> OrderView:
        """Order a product for a buyer; it goes to the buyer's city.

        Args:
            buyer: customer number
            product: id of the product, such as PR1234
            quantity: how many, at least 1
        """
        city = self._buyer(buyer).city
        line = self._take(product, quantity)
        order = Order(buyer=buyer, lines=[line], total=0.0, city=city, ordered_on=self.state.today)
        order.total = _total(order, 0)
        key = next_id("OR", self.state.orders, first=10_000)
        self.state.orders[key] = order
        return OrderView(order=key, **order.__dict__)

    @tool(effect="write", phrases=("Add {quantity} of {product} to {order}.",))
    def add_to_order(self, order: str, product: str, quantity: int) -> OrderView:
        """Add a product to an order that has none of it yet.

        Args:
            order: number of the order
            product: id of the product
            quantity: how many, at least 1
        """
        found = self._open(order)
        if any(line.product == product for line in found.lines):
            raise ToolError(f"product {product} is in order {order} already")
        found.lines.append(self._take(product, quantity))
        return self._settled(order, found)

    @tool(effect="write", phrases=("Take {product} out of {order}.",))
    def remove_from_order(self, order: str, product: str) -> OrderView:
        """Take a product out of an order that has others too.

        Args:
            order: number of the order
            product: id of the product
        """
        found = self._open(order)
        taken = [line for line in found.lines if line.product == product]
        if not taken:
            raise ToolError(f"product {product!r} is not in order {order}")
        if len(found.lines) == 1:
            raise ToolError(f"{product} is all there is in order {order}; cancel the order instead")
        found.lines = [line for line in found.lines if line.product != product]
        self._put_back(taken)
        return self._settled(order, found)

    @tool(effect="write", phrases=("Use the coupon {coupon} on {order}.",))
    def apply_coupon(self, order: str, coupon: str) -> OrderView:
        """Use a coupon on an order that has none.

        Args:
            order: number of the order
            coupon: the code on the coupon
        """
        found, reduction = self._open(order), self.state.coupons.get(coupon)
        if reduction is None or reduction.used:
            raise ToolError(f"coupon {coupon!r} is not valid")
        if found.coupon is not None:
            raise ToolError(f"order {order} has a coupon already")
        found.coupon, reduction.used = coupon, True
        return self._settled(order, found)

    @tool(effect="write", phrases=("Send {order} to {city} instead.",))
    def change_delivery_city(self, order: str, city: str) -> OrderView:
        """Send an order to another city.

        Args:
            order: number of the order
            city: where it goes
        """
        found = self._open(order)
        if city not in CITIES:
            raise ToolError(f"the shop does not deliver to {city!r}")
        if found.city == city:
            raise ToolError(f"order {order} goes to {city} already")
        found.city = city
        return OrderView(order=order, **found.__dict__)

    @tool(effect="write", phrases=("Cancel {order}.",))
    def cancel_order(self, order: str) -> OrderView:
        """Cancel an order; what was in it is in stock again.

        Args:
            order: number of the order
        """
        found = self._open(order)
        found.status = "cancelled"
        self._put_back(found.lines)
        return OrderView(order=order, **found.__dict__)

    @tool(effect="write", phrases=('Return {product} from {order}, the reason is "{reason}".',))
    def return_product(self, order: str, product: str, reason: str) -> ReturnView:
        """Send a product of a delivered order back; its price is added to the buyer's credit.

        Args:
            order: number of the order
            product: id of the product
            reason: a few words
        """
        found = self._order(order)
        if found.status != "delivered":
            raise ToolError(f"order {order} is {found.status}, not delivered")
        lines = [line for line in found.lines if line.product == product]
        if not lines:
            raise ToolError(f"product {product!r} is not in order {order}")
        if any((r.order, r.product) == (order, product) for r in self.state.returns.values()):
            raise ToolError(f"product {product} of order {order} has been returned already")
        if not reason.strip():
            raise ToolError("the reason is empty")
        refund = round(sum(line.quantity * line.unit_price for line in lines), 2)
        buyer = self._buyer(found.buyer)
        buyer.credit = round(buyer.credit + refund, 2)
        key = next_id("RT", self.state.returns, first=1000)
        self.state.returns[key] = Return(order=order, product=product, reason=reason, refund=refund)
        return ReturnView(return_number=key, **self.state.returns[key].__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _buyer(self, buyer: str) -> Buyer:
        found: Buyer | None = self.state.buyers.get(buyer)
        if found is None:
            raise ToolError(f"no buyer {buyer!r}")
        return found

    def _order(self, order: str) -> Order:
        found: Order | None = self.state.orders.get(order)
        if found is None:
            raise ToolError(f"no order {order!r}")
        return found

    def _open(self, order: str) -> Order:
        found = self._order(order)
        if found.status != "placed":
            raise ToolError(f"order {order} is {found.status}")
        return found

    def _take(self, product: str, quantity: int) -> Line:
        """Take so many out of the stock."""
        found = self.state.products.get(product)
        if found is None:
            raise ToolError(f"no product {product!r}")
        if quantity < 1:
            raise ToolError(f"expected at least 1, got {quantity}")
        if found.stock < quantity:
            raise ToolError(f"only {found.stock} of product {product} are in stock")
        found.stock -= quantity
        return Line(product=product, quantity=quantity, unit_price=found.price)

    def _put_back(self, lines: list[Line]) -> None:
        for line in lines:
            self.state.products[line.product].stock += line.quantity

    def _settled(self, key: str, order: Order) -> OrderView:
        percent = self.state.coupons[order.coupon].percent if order.coupon is not None else 0
        order.total = _total(order, percent)
        return OrderView(order=key, **order.__dict__)


def _total(order: Order, percent: int) -> float:
    full = sum(line.quantity * line.unit_price for line in order.lines)
    return round(full * (100 - percent) / 100, 2)
