"""`Shop`: an online shop: products, buyers, orders, what is in them, and coupons."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.days import days_after
from envrl.envs.envfactory.toolkits.names import CITIES, email_of, people

Price = Annotated[float, pydantic.Field(examples=[15.0, 30.0, 45.0, 60.0, 75.0])]
Quantity = Annotated[int, pydantic.Field(examples=[1, 2, 3, 4])]
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


class Order(pydantic.BaseModel):
    """An order; the total is in euros, a coupon's discount taken off."""

    buyer: str
    total: float
    city: str
    ordered_on: str
    status: OrderStatus = "placed"
    coupon: str | None = None


class Item(pydantic.BaseModel):
    """A product in an order, at the price of the day it was ordered."""

    order: str
    product: str
    quantity: int
    unit_price: float
    returned: bool = False


class Coupon(pydantic.BaseModel):
    """Percent off an order, for one use."""

    percent: int
    used: bool = False


class ShopState(pydantic.BaseModel):
    """The shop. Ids are the keys of the tables."""

    today: str
    products: dict[str, Product]
    buyers: dict[str, Buyer]
    orders: dict[str, Order]
    items: dict[str, Item]
    coupons: dict[str, Coupon]


class ProductView(Product):
    """A product with its id."""

    product: str


class BuyerView(Buyer):
    """A buyer with the customer number."""

    buyer: str


class OrderView(Order):
    """An order with its number."""

    order: str


class ItemView(Item):
    """A product in an order with the item's number and the product's name."""

    item: str
    product_name: str


class Shop(Toolkit):
    """Products, buyers, orders and what is in them."""

    State = ShopState
    policy = (
        "Shop: only an order that is placed and not yet shipped can be changed or cancelled. Only what was delivered "
        "can be returned."
    )
    unordered = ("orders", "items")
    nouns: ClassVar = {
        "product": "the {product_name}",
        "buyer": "{buyer_name}",
        "order": "the {status} order of {ordered_on}",
        "item": "the {product_name}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> ShopState:
        """Fourteen products, five buyers, twelve orders, four coupons."""
        today = "2025-09-08"
        numbers = iter(rng.permutation(9000) + 1000)
        state = ShopState(today=today, products={}, buyers={}, orders={}, items={}, coupons={})
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
            key = f"OR{next(numbers)}"
            state.orders[key] = Order(
                buyer=buyer,
                total=0.0,
                city=state.buyers[buyer].city,
                ordered_on=days_after(today, int(rng.integers(-40, 0))),
                status=statuses[index % 6],
            )
            for choice in rng.permutation(len(products))[: int(rng.integers(1, 4))]:
                product = products[int(choice)]
                state.items[f"IT{next(numbers)}"] = Item(
                    order=key,
                    product=product,
                    quantity=int(rng.integers(1, 4)),
                    unit_price=state.products[product].price,
                )
            state.orders[key].total = _total(state, key)
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

    @tool(effect="read", phrases=("List the products for {category} up to {max_price} euros.",))
    def search_products(self, category: Category, max_price: Price) -> list[ProductView]:
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

    @tool(effect="read", phrases=("Look up the product {product_name}.",))
    def find_product(self, product_name: str) -> ProductView:
        """Find a product by its name: price and how many are in stock.

        Args:
            product_name: the whole name
        """
        for key, product in self.state.products.items():
            if product.product_name == product_name:
                return ProductView(product=key, **product.__dict__)
        raise ToolError(f"no product is called {product_name!r}")

    @tool(effect="read", phrases=("List the orders of {buyer}.",))
    def list_orders(self, buyer: str) -> list[OrderView]:
        """List the orders of a buyer by the day they were made.

        Args:
            buyer: customer number, such as BU1234
        """
        self._buyer(buyer)
        found = [OrderView(order=k, **o.__dict__) for k, o in self.state.orders.items() if o.buyer == buyer]
        return sorted(found, key=lambda order: (order.ordered_on, order.order))

    @tool(effect="read", phrases=("Show me {order}.",))
    def get_order(self, order: str) -> OrderView:
        """Show an order.

        Args:
            order: number of the order, such as OR1234
        """
        return OrderView(order=order, **self._order(order).__dict__)

    @tool(effect="read", phrases=("List what is in {order}.",))
    def list_items(self, order: str) -> list[ItemView]:
        """List what is in an order.

        Args:
            order: number of the order
        """
        self._order(order)
        return [self._item_view(key) for key, item in self.state.items.items() if item.order == order]

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=("Order {quantity} of {product} for {buyer}.",))
    def place_order(self, buyer: str, product: str, quantity: Quantity) -> OrderView:
        """Order a product for a buyer; it goes to the buyer's city.

        Args:
            buyer: customer number
            product: id of the product, such as PR1234
            quantity: how many, at least 1
        """
        city = self._buyer(buyer).city
        self._take(product, quantity)
        key = next_id("OR", self.state.orders, first=10_000)
        self.state.orders[key] = Order(buyer=buyer, total=0.0, city=city, ordered_on=self.state.today)
        self._add(key, product, quantity)
        return OrderView(order=key, **self.state.orders[key].__dict__)

    @tool(effect="write", phrases=("Add {quantity} of {product} to {order}.",))
    def add_item(self, order: str, product: str, quantity: Quantity) -> ItemView:
        """Add a product to an order that has none of it yet.

        Args:
            order: number of the order
            product: id of the product
            quantity: how many, at least 1
        """
        self._open(order)
        if any((item.order, item.product) == (order, product) for item in self.state.items.values()):
            raise ToolError(f"product {product} is in order {order} already")
        self._take(product, quantity)
        return self._item_view(self._add(order, product, quantity))

    @tool(effect="write", phrases=("Take {item} out of its order.",))
    def remove_item(self, item: str) -> OrderView:
        """Take a product out of an order that has others too.

        Args:
            item: number of the item, such as IT1234
        """
        found = self._item(item)
        order = self._open(found.order)
        if sum(other.order == found.order for other in self.state.items.values()) == 1:
            raise ToolError(f"{item} is all there is in order {found.order}; cancel the order instead")
        self.state.products[found.product].stock += found.quantity
        del self.state.items[item]
        order.total = _total(self.state, found.order)
        return OrderView(order=found.order, **order.__dict__)

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
        found.total = _total(self.state, order)
        return OrderView(order=order, **found.__dict__)

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
        for item in self.state.items.values():
            if item.order == order:
                self.state.products[item.product].stock += item.quantity
        return OrderView(order=order, **found.__dict__)

    @tool(effect="write", phrases=("Take {item} back.",))
    def return_item(self, item: str) -> BuyerView:
        """Take a product of a delivered order back; what it cost is added to the buyer's credit.

        Args:
            item: number of the item
        """
        found = self._item(item)
        order = self._order(found.order)
        if order.status != "delivered":
            raise ToolError(f"order {found.order} is {order.status}, not delivered")
        if found.returned:
            raise ToolError(f"item {item} has been returned already")
        found.returned = True
        buyer = self._buyer(order.buyer)
        percent = self.state.coupons[order.coupon].percent if order.coupon is not None else 0
        buyer.credit = round(buyer.credit + _cost(found, percent), 2)
        return BuyerView(buyer=order.buyer, **buyer.__dict__)

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

    def _item(self, item: str) -> Item:
        found: Item | None = self.state.items.get(item)
        if found is None:
            raise ToolError(f"no item {item!r}")
        return found

    def _item_view(self, key: str) -> ItemView:
        item = self._item(key)
        name = self.state.products[item.product].product_name
        return ItemView(item=key, product_name=name, **item.__dict__)

    def _take(self, product: str, quantity: int) -> None:
        """Take so many out of the stock."""
        found = self.state.products.get(product)
        if found is None:
            raise ToolError(f"no product {product!r}")
        if quantity < 1:
            raise ToolError(f"expected at least 1, got {quantity}")
        if found.stock < quantity:
            raise ToolError(f"only {found.stock} of product {product} are in stock")
        found.stock -= quantity

    def _add(self, order: str, product: str, quantity: int) -> str:
        """Put into an order what was taken out of the stock; the number of the item."""
        key = next_id("IT", self.state.items, first=10_000)
        price = self.state.products[product].price
        self.state.items[key] = Item(order=order, product=product, quantity=quantity, unit_price=price)
        self.state.orders[order].total = _total(self.state, order)
        return key


def _cost(item: Item, percent: int) -> float:
    return round(item.quantity * item.unit_price * (100 - percent) / 100, 2)


def _total(state: ShopState, order: str) -> float:
    coupon = state.orders[order].coupon
    percent = state.coupons[coupon].percent if coupon is not None else 0
    return round(sum(_cost(item, percent) for item in state.items.values() if item.order == order), 2)
