from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.smart_home import SmartHome

STATE = {
    "areas": {"HA1": {"area_name": "Study", "floor": 1}},
    "devices": {
        "DV1": {"device_name": "study light", "kind": "light", "area": "HA1", "setting": 30},
        "DV2": {"device_name": "study heater", "kind": "heater", "area": "HA1", "setting": 18},
        "DV3": {"device_name": "study lock", "kind": "lock", "area": "HA1", "setting": 0, "online": False},
    },
    "scenes": {
        "SC1": {
            "scene_name": "Reading",
            "wishes": [
                {"device": "DV1", "setting": 80},
                {"device": "DV2", "setting": 21},
                {"device": "DV3", "setting": 1},
            ],
        }
    },
    "timers": {
        "TM1": {"device": "DV1", "time": "22:00", "setting": 0},
        "TM2": {"device": "DV1", "time": "07:00", "setting": 50, "paused": True},
    },
}

STEPS: list[Step] = [
    ("find_area", {"area_name": "Study"}, {"area": "HA1", "floor": 1}),
    ("find_area", {"area_name": "Attic"}, "no room"),
    ("list_devices", {"area": "HA1"}, [{"device": "DV1"}, {"device": "DV2"}, {"device": "DV3"}]),
    ("list_devices", {"area": "HA2"}, "no room"),
    ("get_device", {"device": "DV3"}, {"online": False, "setting": 0}),
    ("get_device", {"device": "DV4"}, "no device"),
    (
        "find_scene",
        {"scene_name": "Reading"},
        {"scene": "SC1", "wishes": [{"device": "DV1"}, {}, {"setting": 1}]},
    ),
    ("find_scene", {"scene_name": "Read"}, "no scene"),
    ("list_timers", {"device": "DV1"}, [{"timer": "TM2", "paused": True}, {"timer": "TM1"}]),
    ("list_timers", {"device": "DV4"}, "no device"),
    ("set_device", {"device": "DV1", "setting": 80}, {"setting": 80}),
    ("set_device", {"device": "DV1", "setting": 80}, "already"),
    ("set_device", {"device": "DV1", "setting": 101}, "0 to 100 (percent of full brightness)"),
    ("set_device", {"device": "DV2", "setting": 29}, "5 to 28 (degrees Celsius)"),
    ("set_device", {"device": "DV3", "setting": 1}, "is offline"),
    # The light is at 80 already, the lock is offline.
    ("run_scene", {"scene": "SC1"}, [{"device": "DV2", "setting": 21}]),
    ("run_scene", {"scene": "SC2"}, "no scene"),
    ("restart_device", {"device": "DV3"}, {"online": True, "setting": 0}),
    ("restart_device", {"device": "DV3"}, "is online"),
    ("run_scene", {"scene": "SC1"}, [{"device": "DV3", "setting": 1}]),
    (
        "create_scene",
        {"scene_name": "Night", "device": "DV1", "setting": 0},
        {"scene": "SC1000", "wishes": [{"device": "DV1", "setting": 0}]},
    ),
    ("create_scene", {"scene_name": "Night", "device": "DV2", "setting": 18}, "already"),
    ("create_scene", {"scene_name": "Day", "device": "DV3", "setting": 2}, "0 to 1"),
    ("add_to_scene", {"scene": "SC1000", "device": "DV3", "setting": 1}, {"wishes": [{}, {"device": "DV3"}]}),
    ("add_to_scene", {"scene": "SC1000", "device": "DV3", "setting": 0}, "already"),
    ("create_timer", {"device": "DV2", "time": "06:15", "setting": 20}, {"timer": "TM1000", "paused": False}),
    ("create_timer", {"device": "DV2", "time": "06:15", "setting": 22}, "already"),
    ("create_timer", {"device": "DV2", "time": "24:00", "setting": 22}, "HH:MM"),
    ("pause_timer", {"timer": "TM1"}, {"paused": True}),
    ("pause_timer", {"timer": "TM2"}, "already"),
    ("delete_timer", {"timer": "TM1"}, {"time": "22:00"}),
    ("delete_timer", {"timer": "TM1"}, "no timer"),
]


def test_every_tool() -> None:
    follow(SmartHome, STATE, STEPS)
