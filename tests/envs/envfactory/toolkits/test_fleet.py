from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.fleet import Fleet


def _vehicle(
    plate: str, kind: str, depot: str, range_km: int, in_workshop: bool = False
) -> dict[str, object]:
    fields = {"plate": plate, "model": "Elk 18", "kind": kind, "depot": depot, "odometer_km": 1000}
    return {**fields, "range_km": range_km, "in_workshop": in_workshop}


STATE = {
    "today": "2025-08-18",
    "depots": {"DP1": {"city": "Cork", "places": 3}, "DP2": {"city": "Oslo", "places": 1}},
    "vehicles": {
        "VH1": _vehicle("CO-1", "truck", "DP1", 300),
        "VH2": _vehicle("CO-2", "van", "DP1", 700),
        "VH3": _vehicle("CO-3", "car", "DP1", 100, in_workshop=True),
    },
    "drivers": {
        "DD1": {"driver_name": "Ada Brandt", "phone": "+49 351 4420", "licences": ["car", "van"]},
        "DD2": {"driver_name": "Bela Novak", "phone": "+49 351 4421", "licences": ["car", "truck"]},
        "DD3": {"driver_name": "Zoe Sato", "phone": "+49 351 4422", "licences": ["truck"], "on_leave": True},
    },
    "trips": {
        "TP1": {"vehicle": "VH1", "city": "Riga", "date": "2025-08-20", "distance_km": 310},
        "TP2": {
            "vehicle": "VH1", "city": "Lyon", "date": "2025-08-18", "distance_km": 320, "status": "under way",
            "driver": "DD2",
        },
    },
    "services": {
        "WS1": {"vehicle": "VH3", "job": "brakes", "date": "2025-08-18"},
        "WS2": {"vehicle": "VH3", "job": "tyres", "date": "2025-01-18", "cost": 120.5},
    },
}  # fmt: skip

STEPS: list[Step] = [
    ("find_depot", {"city": "Oslo"}, {"depot": "DP2", "places": 1}),
    ("find_depot", {"city": "Riga"}, "no depot in 'Riga'"),
    ("list_vehicles", {"depot": "DP1"}, [{"vehicle": "VH1"}, {"vehicle": "VH2"}, {"vehicle": "VH3"}]),
    ("list_vehicles", {"depot": "DP3"}, "no depot"),
    ("find_vehicle", {"plate": "CO-2"}, {"vehicle": "VH2", "kind": "van"}),
    ("find_vehicle", {"plate": "CO"}, "no vehicle has the plate"),
    ("find_driver", {"driver_name": "Bela Novak"}, {"driver": "DD2", "licences": ["car", "truck"]}),
    ("find_driver", {"driver_name": "Bela"}, "no driver"),
    ("list_trips", {"vehicle": "VH1"}, [{"trip": "TP2"}, {"trip": "TP1"}]),
    ("list_trips", {"vehicle": "VH9"}, "no vehicle"),
    (
        "list_services",
        {"vehicle": "VH3"},
        [{"service": "WS2", "cost": 120.5}, {"service": "WS1", "cost": None}],
    ),
    ("list_services", {"vehicle": "VH9"}, "no vehicle"),
    (
        "plan_trip",
        {"vehicle": "VH2", "city": "Oslo", "date": "2025-08-21", "distance_km": 50},
        {"trip": "TP1000", "status": "planned", "driver": None},
    ),
    (
        "plan_trip",
        {"vehicle": "VH2", "city": "Oslo", "date": "2025-08-21", "distance_km": 5},
        "has a trip on",
    ),
    ("plan_trip", {"vehicle": "VH2", "city": "Oslo", "date": "2025-08-17", "distance_km": 5}, "is before"),
    (
        "plan_trip",
        {"vehicle": "VH3", "city": "Oslo", "date": "2025-08-22", "distance_km": 5},
        "in the workshop",
    ),
    ("start_trip", {"trip": "TP1"}, "has no driver"),
    ("assign_driver", {"trip": "TP1", "driver": "DD1"}, "no licence for a truck"),
    ("assign_driver", {"trip": "TP1", "driver": "DD3"}, "on leave"),
    ("assign_driver", {"trip": "TP1", "driver": "DD2"}, {"driver": "DD2"}),
    ("assign_driver", {"trip": "TP1", "driver": "DD2"}, "already"),
    ("start_trip", {"trip": "TP1"}, "lasts only 300 km"),
    ("refuel_vehicle", {"vehicle": "VH1"}, {"range_km": 900}),
    ("refuel_vehicle", {"vehicle": "VH1"}, "is full"),
    ("start_trip", {"trip": "TP1"}, {"status": "under way"}),
    ("finish_trip", {"trip": "TP1"}, {"vehicle": "VH1", "odometer_km": 1310, "range_km": 590}),
    ("finish_trip", {"trip": "TP1"}, "is finished"),
    ("cancel_trip", {"trip": "TP1000"}, {"trip": "TP1000"}),
    ("cancel_trip", {"trip": "TP2"}, "is under way"),
    ("move_vehicle", {"vehicle": "VH2", "depot": "DP2"}, {"depot": "DP2"}),
    ("move_vehicle", {"vehicle": "VH1", "depot": "DP2"}, "is full"),
    ("move_vehicle", {"vehicle": "VH1", "depot": "DP1"}, "already"),
    ("open_service", {"vehicle": "VH1", "job": "inspection"}, {"service": "WS1000", "date": "2025-08-18"}),
    ("open_service", {"vehicle": "VH1", "job": "tyres"}, "in the workshop"),
    ("close_service", {"service": "WS1000", "cost": 80}, {"cost": 80.0}),
    ("close_service", {"service": "WS1000", "cost": 80}, "already"),
    ("close_service", {"service": "WS1", "cost": 0}, "above 0"),
]


def test_every_tool() -> None:
    state = follow(Fleet, STATE, STEPS)
    assert not state.vehicles["VH1"].in_workshop and state.vehicles["VH3"].in_workshop
