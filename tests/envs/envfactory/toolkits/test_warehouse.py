from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.warehouse import Warehouse

STATE = {
    "today": "2025-12-01",
    "parts": {"PA1": {"part_name": "Valve", "weight_g": 40}, "PA2": {"part_name": "Relay", "weight_g": 20}},
    "bins": {
        "BN1": {"aisle": 1, "capacity": 50, "part": "PA1", "quantity": 30},
        "BN2": {"aisle": 1, "capacity": 40},
        "BN3": {"aisle": 1, "capacity": 60},
        "BN4": {"aisle": 2, "capacity": 60, "part": "PA2", "quantity": 5},
        "BN5": {"aisle": 2, "capacity": 60, "part": "PA1", "quantity": 45},
    },
    "suppliers": {
        "SU1": {
            "supplier_name": "Castor Supply",
            "email": "sales@castor.example.com",
            "city": "Riga",
            "lead_days": 31,
        }
    },
    "purchases": {
        "PO1": {"supplier": "SU1", "part": "PA1", "quantity": 21, "due_on": "2025-12-09"},
        "PO2": {"supplier": "SU1", "part": "PA2", "quantity": 10, "due_on": "2025-12-02"},
        "PO3": {
            "supplier": "SU1",
            "part": "PA2",
            "quantity": 1,
            "due_on": "2025-11-02",
            "status": "received",
        },
    },
    "shipments": {
        "SH1": {"part": "PA1", "quantity": 4, "city": "Oslo"},
        "SH2": {"part": "PA1", "quantity": 4, "city": "Oslo", "carrier": "sea"},
    },
}

STEPS: list[Step] = [
    ("find_part", {"part_name": "Valve"}, {"part": "PA1", "in_stock": 75}),
    ("find_part", {"part_name": "Valves"}, "no part"),
    ("list_bins", {"part": "PA1"}, [{"bin": "BN5"}, {"bin": "BN1"}]),
    ("list_bins", {"part": "PA9"}, "no part"),
    ("list_empty_bins", {"aisle": 1}, [{"bin": "BN3"}, {"bin": "BN2"}]),
    ("list_empty_bins", {"aisle": 2}, []),
    ("list_empty_bins", {"aisle": 3}, "no aisle 3"),
    ("find_supplier", {"supplier_name": "Castor Supply"}, {"supplier": "SU1", "lead_days": 31}),
    ("find_supplier", {"supplier_name": "Castor"}, "no supplier"),
    ("list_purchases", {"supplier": "SU1"}, [{"purchase": "PO3"}, {"purchase": "PO2"}, {"purchase": "PO1"}]),
    ("list_purchases", {"supplier": "SU9"}, "no supplier"),
    ("list_shipments", {"city": "Oslo"}, [{"shipment": "SH1", "carrier": None}, {"shipment": "SH2"}]),
    ("list_shipments", {"city": "Cork"}, "no shipment goes to 'Cork'"),
    ("move_stock", {"bin": "BN1", "new_bin": "BN5", "quantity": 15}, {"bin": "BN5", "quantity": 60}),
    ("move_stock", {"bin": "BN1", "new_bin": "BN5", "quantity": 1}, "room for 0 more"),
    ("move_stock", {"bin": "BN1", "new_bin": "BN4", "quantity": 1}, "another part"),
    ("move_stock", {"bin": "BN1", "new_bin": "BN2", "quantity": 16}, "holds 15"),
    ("move_stock", {"bin": "BN1", "new_bin": "BN1", "quantity": 1}, "the same"),
    (
        "move_stock",
        {"bin": "BN1", "new_bin": "BN2", "quantity": 15},
        {"bin": "BN2", "part": "PA1", "quantity": 15},
    ),
    # BN1 is empty now and takes any part.
    ("receive_purchase", {"purchase": "PO2", "bin": "BN1"}, {"part": "PA2", "quantity": 10}),
    ("receive_purchase", {"purchase": "PO2", "bin": "BN1"}, "is received"),
    ("receive_purchase", {"purchase": "PO1", "bin": "BN5"}, "room for 0 more"),
    ("correct_count", {"bin": "BN2", "quantity": 14}, {"quantity": 14}),
    ("correct_count", {"bin": "BN2", "quantity": 41}, "1 to 40"),
    ("correct_count", {"bin": "BN3", "quantity": 1}, "is empty"),
    (
        "order_part",
        {"supplier": "SU1", "part": "PA2", "quantity": 7},
        {"purchase": "PO10000", "due_on": "2026-01-01", "status": "ordered"},
    ),
    ("order_part", {"supplier": "SU1", "part": "PA2", "quantity": 1001}, "1 to 1000"),
    ("cancel_purchase", {"purchase": "PO1"}, {"status": "cancelled"}),
    ("cancel_purchase", {"purchase": "PO1"}, "is cancelled"),
    (
        "pack_shipment",
        {"bin": "BN1", "quantity": 10, "city": "Cork"},
        {"shipment": "SH10000", "part": "PA2", "carrier": None},
    ),
    ("pack_shipment", {"bin": "BN1", "quantity": 1, "city": "Cork"}, "holds 0"),
    ("pack_shipment", {"bin": "BN2", "quantity": 1, "city": "Atlantis"}, "no carrier goes to"),
    ("send_shipment", {"shipment": "SH1", "carrier": "rail"}, {"carrier": "rail"}),
    ("send_shipment", {"shipment": "SH2", "carrier": "rail"}, "has been sent by sea"),
]


def test_every_tool() -> None:
    state = follow(Warehouse, STATE, STEPS)
    assert state.bins["BN1"].part is None
