"""`SmartHome`: rooms of a house, the devices in them, scenes and timers."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.days import minutes_of

SceneName = Annotated[str, pydantic.Field(examples=["Away", "Party", "Siesta", "Sunrise", "Work"])]
DeviceKind = Literal["light", "heater", "lock", "blind"]
_AREAS = ("Attic", "Bathroom", "Bedroom", "Cellar", "Hall", "Kitchen", "Living room", "Study")
_PLACES = ("by the door", "by the window", "in the corner", "on the wall")
_SCENES = ("Breakfast", "Film night", "Good night", "Holiday", "Reading")
#: what the setting of a device means, and how far it goes
_RANGES: dict[DeviceKind, tuple[str, int, int]] = {
    "light": ("percent of full brightness", 0, 100),
    "heater": ("degrees Celsius", 5, 28),
    "lock": ("0 for open, 1 for locked", 0, 1),
    "blind": ("percent closed", 0, 100),
}


class Area(pydantic.BaseModel):
    """A room of the house."""

    area_name: str
    floor: int


class Device(pydantic.BaseModel):
    """A device; what the setting means depends on the kind."""

    device_name: str
    kind: DeviceKind
    area: str
    setting: int
    online: bool = True


class Wish(pydantic.BaseModel):
    """The setting that a device has in a scene."""

    device: str
    setting: int


class Scene(pydantic.BaseModel):
    """Settings of several devices under one name."""

    scene_name: str
    wishes: list[Wish]


class Timer(pydantic.BaseModel):
    """A setting that a device gets every day at a time."""

    device: str
    time: str
    setting: int
    paused: bool = False


class HomeState(pydantic.BaseModel):
    """The house. Ids are the keys of the tables."""

    areas: dict[str, Area]
    devices: dict[str, Device]
    scenes: dict[str, Scene]
    timers: dict[str, Timer]


class AreaView(Area):
    """A room with its id."""

    area: str


class DeviceView(Device):
    """A device with its id."""

    device: str


class SceneView(Scene):
    """A scene with its id."""

    scene: str


class TimerView(Timer):
    """A timer with its id."""

    timer: str


class SmartHome(Toolkit):
    """Devices, scenes and timers."""

    State = HomeState
    policy = (
        "House: a setting is percent of brightness for a light, degrees Celsius (5 to 28) for a heater, percent closed "
        "for a blind, and 0 (open) or 1 (locked) for a lock. A device that is offline cannot be set."
    )
    unordered = ("scenes", "timers", "scenes.*.wishes")
    nouns: ClassVar = {
        "area": "the {area_name}",
        "device": "the {device_name}",
        "scene": "the scene {scene_name}",
        "timer": "the timer at {time}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> HomeState:
        """Five rooms with three devices each, three scenes, five timers."""
        numbers = iter(rng.permutation(900) + 100)
        state = HomeState(areas={}, devices={}, scenes={}, timers={})
        kinds: list[DeviceKind] = ["light", "heater", "lock", "blind"]
        for place in rng.permutation(len(_AREAS))[:5]:
            area = f"HA{next(numbers)}"
            state.areas[area] = Area(area_name=_AREAS[int(place)], floor=int(rng.integers(0, 3)))
            spots = rng.permutation(len(_PLACES))
            for index, kind in enumerate(rng.permutation(4)[:3]):
                chosen = kinds[int(kind)]
                state.devices[f"DV{next(numbers)}"] = Device(
                    device_name=f"{_AREAS[int(place)].lower()} {chosen} {_PLACES[int(spots[index])]}",
                    kind=chosen,
                    area=area,
                    setting=_setting(rng, chosen),
                )
        devices = list(state.devices)
        state.devices[devices[int(rng.integers(len(devices)))]].online = False
        for title in rng.permutation(len(_SCENES))[:3]:
            wishes = []
            for choice in rng.permutation(len(devices))[: int(rng.integers(2, 5))]:
                device = devices[int(choice)]
                wishes.append(Wish(device=device, setting=_setting(rng, state.devices[device].kind)))
            state.scenes[f"SC{next(numbers)}"] = Scene(scene_name=_SCENES[int(title)], wishes=wishes)
        for _ in range(5):
            device = devices[int(rng.integers(len(devices)))]
            time = f"{int(rng.integers(5, 24)):02}:{int(rng.integers(4)) * 15:02}"
            setting = _setting(rng, state.devices[device].kind)
            state.timers[f"TM{next(numbers)}"] = Timer(
                device=device, time=time, setting=setting, paused=bool(rng.random() < 0.4)
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the {area_name}.",))
    def find_area(self, area_name: str) -> AreaView:
        """Find a room of the house by name.

        Args:
            area_name: the whole name
        """
        for key, area in self.state.areas.items():
            if area.area_name == area_name:
                return AreaView(area=key, **area.__dict__)
        raise ToolError(f"no room is called {area_name!r}")

    @tool(effect="read", phrases=("List the devices in {area}.",))
    def list_devices(self, area: str) -> list[DeviceView]:
        """List the devices of a room.

        Args:
            area: id of the room, such as HA123
        """
        if area not in self.state.areas:
            raise ToolError(f"no room {area!r}")
        return [DeviceView(device=k, **d.__dict__) for k, d in self.state.devices.items() if d.area == area]

    @tool(effect="read", phrases=("Show me {device}.",))
    def get_device(self, device: str) -> DeviceView:
        """Show a device: kind, room, setting and whether it is online.

        Args:
            device: id of the device, such as DV123
        """
        return DeviceView(device=device, **self._device(device).__dict__)

    @tool(effect="read", phrases=("Look up the scene {scene_name}.",))
    def find_scene(self, scene_name: str) -> SceneView:
        """Find a scene by name.

        Args:
            scene_name: the whole name
        """
        for key, scene in self.state.scenes.items():
            if scene.scene_name == scene_name:
                return SceneView(scene=key, **scene.__dict__)
        raise ToolError(f"no scene is called {scene_name!r}")

    @tool(effect="read", phrases=("List the timers of {device}.",))
    def list_timers(self, device: str) -> list[TimerView]:
        """List the timers of a device by their time.

        Args:
            device: id of the device
        """
        self._device(device)
        found = [TimerView(timer=k, **t.__dict__) for k, t in self.state.timers.items() if t.device == device]
        return sorted(found, key=lambda timer: (timer.time, timer.timer))

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=("Set {device} to {setting}.",))
    def set_device(self, device: str, setting: int) -> DeviceView:
        """Change the setting of a device that is online.

        Args:
            device: id of the device
            setting: percent for lights and blinds, degrees for heaters, 0 or 1 for locks
        """
        found = self._device(device)
        if not found.online:
            raise ToolError(f"device {device} is offline")
        if found.setting == self._checked(found, setting):
            raise ToolError(f"device {device} is set to {setting} already")
        found.setting = setting
        return DeviceView(device=device, **found.__dict__)

    @tool(effect="write", phrases=("Restart {device}.",))
    def restart_device(self, device: str) -> DeviceView:
        """Bring a device that is offline online again; it keeps its setting.

        Args:
            device: id of the device
        """
        found = self._device(device)
        if found.online:
            raise ToolError(f"device {device} is online")
        found.online = True
        return DeviceView(device=device, **found.__dict__)

    @tool(effect="write", phrases=("Run {scene}.",))
    def run_scene(self, scene: str) -> list[DeviceView]:
        """Give the devices of a scene their settings; those that are offline stay as they are.

        Args:
            scene: id of the scene, such as SC123
        """
        changed = []
        for wish in self._scene(scene).wishes:
            device = self.state.devices[wish.device]
            if device.online and device.setting != wish.setting:
                device.setting = wish.setting
                changed.append(DeviceView(device=wish.device, **device.__dict__))
        return changed

    @tool(effect="write", phrases=('Make a scene "{scene_name}" that sets {device} to {setting}.',))
    def create_scene(self, scene_name: SceneName, device: str, setting: int) -> SceneView:
        """Make a scene with one device.

        Args:
            scene_name: a name that no scene has
            device: id of the device
            setting: what it is set to
        """
        self._checked(self._device(device), setting)
        if not scene_name.strip():
            raise ToolError("the name is empty")
        if any(scene.scene_name == scene_name for scene in self.state.scenes.values()):
            raise ToolError(f"there is a scene {scene_name!r} already")
        key = next_id("SC", self.state.scenes, first=1000)
        self.state.scenes[key] = Scene(scene_name=scene_name, wishes=[Wish(device=device, setting=setting)])
        return SceneView(scene=key, **self.state.scenes[key].__dict__)

    @tool(effect="write", phrases=("Let {scene} set {device} to {setting} too.",))
    def add_to_scene(self, scene: str, device: str, setting: int) -> SceneView:
        """Add a device to a scene that does not have it yet.

        Args:
            scene: id of the scene
            device: id of the device
            setting: what the scene sets it to
        """
        found = self._scene(scene)
        self._checked(self._device(device), setting)
        if any(wish.device == device for wish in found.wishes):
            raise ToolError(f"device {device} is in scene {scene} already")
        found.wishes.append(Wish(device=device, setting=setting))
        return SceneView(scene=scene, **found.__dict__)

    @tool(effect="write", phrases=("Set {device} to {setting} every day at {time}.",))
    def create_timer(self, device: str, time: str, setting: int) -> TimerView:
        """Set a device every day at a time at which it has no timer yet.

        Args:
            device: id of the device
            time: time as HH:MM
            setting: what it is set to
        """
        minutes_of(time)
        self._checked(self._device(device), setting)
        if any((t.device, t.time) == (device, time) for t in self.state.timers.values()):
            raise ToolError(f"device {device} has a timer at {time} already")
        key = next_id("TM", self.state.timers, first=1000)
        self.state.timers[key] = Timer(device=device, time=time, setting=setting)
        return TimerView(timer=key, **self.state.timers[key].__dict__)

    @tool(effect="write", phrases=("Pause {timer}.",))
    def pause_timer(self, timer: str) -> TimerView:
        """Pause a timer that runs.

        Args:
            timer: id of the timer, such as TM123
        """
        found = self._timer(timer)
        if found.paused:
            raise ToolError(f"timer {timer} is paused already")
        found.paused = True
        return TimerView(timer=timer, **found.__dict__)

    @tool(effect="write", phrases=("Delete {timer}.",))
    def delete_timer(self, timer: str) -> TimerView:
        """Delete a timer.

        Args:
            timer: id of the timer
        """
        found = self._timer(timer)
        del self.state.timers[timer]
        return TimerView(timer=timer, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _device(self, device: str) -> Device:
        found: Device | None = self.state.devices.get(device)
        if found is None:
            raise ToolError(f"no device {device!r}")
        return found

    def _scene(self, scene: str) -> Scene:
        found: Scene | None = self.state.scenes.get(scene)
        if found is None:
            raise ToolError(f"no scene {scene!r}")
        return found

    def _timer(self, timer: str) -> Timer:
        found: Timer | None = self.state.timers.get(timer)
        if found is None:
            raise ToolError(f"no timer {timer!r}")
        return found

    def _checked(self, device: Device, setting: int) -> int:
        meaning, low, high = _RANGES[device.kind]
        if not low <= setting <= high:
            raise ToolError(f"a {device.kind} is set from {low} to {high} ({meaning}), got {setting}")
        return setting


def _setting(rng: np.random.Generator, kind: DeviceKind) -> int:
    _, low, high = _RANGES[kind]
    step = 10 if high == 100 else 1
    return int(rng.integers(low // step, high // step + 1)) * step
