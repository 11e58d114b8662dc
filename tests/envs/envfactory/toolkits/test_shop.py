from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.shop import Shop

STATE = {
    "today": "2025-09-08",
    "products": {
        "PR1": {"product_name": "Kite", "category": "toys", "price": 19.95, "stock": 3},
        "PR2": {"product_name": "Desk lamp", "category": "office", "price": 40.0, "stock": 10},
        "PR3": {"product_name": "Puzzle cube", "category": "toys", "price": 9.95, "stock": 0},
    },
    "buyers": {"BU1": {"buyer_name": "Ada Brandt", "email": "ada@example.com", "city": "Cork"}},
    "orders": {
        "OR1": {
            "buyer": "BU1",
            "total": 79.9,
            "city": "Cork",
            "ordered_on": "2025-09-01",
            "status": "delivered",
        },
        "OR2": {"buyer": "BU1", "total": 40.0, "city": "Cork", "ordered_on": "2025-08-01"},
    },
    "items": {
        "IT1": {"order": "OR1", "product": "PR1", "quantity": 2, "unit_price": 19.95},
        "IT2": {"order": "OR1", "product": "PR2", "quantity": 1, "unit_price": 40.0},
        "IT3": {"order": "OR2", "product": "PR2", "quantity": 1, "unit_price": 40.0},
    },
    "coupons": {"SAVE10": {"percent": 10}, "OLD": {"percent": 50, "used": True}},
}

STEPS: list[Step] = [
    ("find_buyer", {"buyer_name": "Ada Brandt"}, {"buyer": "BU1", "credit": 0.0}),
    ("find_buyer", {"buyer_name": "Ada"}, "no buyer"),
    ("search_products", {"category": "toys", "max_price": 20}, [{"product": "PR3"}, {"product": "PR1"}]),
    ("search_products", {"category": "toys", "max_price": 0}, "above 0"),
    ("find_product", {"product_name": "Kite"}, {"product": "PR1", "stock": 3}),
    ("find_product", {"product_name": "Kit"}, "no product"),
    ("list_orders", {"buyer": "BU1"}, [{"order": "OR2"}, {"order": "OR1"}]),
    ("list_orders", {"buyer": "BU2"}, "no buyer"),
    ("get_order", {"order": "OR1"}, {"total": 79.9, "status": "delivered"}),
    ("get_order", {"order": "OR0"}, "no order"),
    ("list_items", {"order": "OR1"}, [{"item": "IT1", "product_name": "Kite"}, {"item": "IT2"}]),
    ("list_items", {"order": "OR0"}, "no order"),
    (
        "place_order",
        {"buyer": "BU1", "product": "PR1", "quantity": 2},
        {"order": "OR10000", "total": 39.9, "status": "placed", "ordered_on": "2025-09-08", "city": "Cork"},
    ),
    ("place_order", {"buyer": "BU1", "product": "PR1", "quantity": 2}, "only 1 of product PR1"),
    ("place_order", {"buyer": "BU1", "product": "PR3", "quantity": 1}, "only 0"),
    ("place_order", {"buyer": "BU1", "product": "PR1", "quantity": 0}, "at least 1"),
    (
        "add_item",
        {"order": "OR10000", "product": "PR2", "quantity": 3},
        {"item": "IT10001", "unit_price": 40.0},
    ),
    ("add_item", {"order": "OR10000", "product": "PR2", "quantity": 1}, "already"),
    ("add_item", {"order": "OR1", "product": "PR2", "quantity": 1}, "is delivered"),
    # (2 * 19.95 + 3 * 40) less ten percent: each item is rounded, 35.91 + 108.00
    ("apply_coupon", {"order": "OR10000", "coupon": "SAVE10"}, {"total": 143.91, "coupon": "SAVE10"}),
    ("apply_coupon", {"order": "OR2", "coupon": "SAVE10"}, "not valid"),
    ("apply_coupon", {"order": "OR2", "coupon": "OLD"}, "not valid"),
    ("remove_item", {"item": "IT10001"}, {"order": "OR10000", "total": 35.91}),
    ("remove_item", {"item": "IT10000"}, "cancel the order instead"),
    ("remove_item", {"item": "IT1"}, "is delivered"),
    ("change_delivery_city", {"order": "OR2", "city": "Oslo"}, {"city": "Oslo"}),
    ("change_delivery_city", {"order": "OR2", "city": "Oslo"}, "already"),
    ("change_delivery_city", {"order": "OR2", "city": "Atlantis"}, "does not deliver"),
    ("cancel_order", {"order": "OR10000"}, {"status": "cancelled", "total": 35.91}),
    ("cancel_order", {"order": "OR10000"}, "is cancelled"),
    ("return_item", {"item": "IT1"}, {"buyer": "BU1", "credit": 39.9}),
    ("return_item", {"item": "IT1"}, "returned already"),
    ("return_item", {"item": "IT3"}, "not delivered"),
]


def test_every_tool() -> None:
    state = follow(Shop, STATE, STEPS)
    # Everything that was taken out of stock came back with the cancelled order.
    assert {key: product.stock for key, product in state.products.items()} == {"PR1": 3, "PR2": 10, "PR3": 0}
