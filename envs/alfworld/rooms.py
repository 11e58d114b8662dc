"""The rooms of procedural games: kinds, receptacles, what may stand in what, and how common they are.

Types are ALFRED's, in lower case. The numbers are counts over the 108 floor plans of ALFWorld's 3,693
released games; `tests/envs/alfworld/test_generator.py` compares generated games with the originals.
"""

from collections.abc import Set

from envrl.envs.alfworld.tables import Weighted, parse_counts, read_table, words

KINDS = ("kitchen", "livingroom", "bedroom", "bathroom")

#: share of the instances of an openable type that open; the others are open shelves by another name
OPENABLE = {"cabinet": 0.83, "drawer": 0.84, "fridge": 1.0, "microwave": 1.0, "safe": 0.84}
#: receptacles that tell a room's kind, or that its tasks need: it keeps them however small it is
KEPT = {
    "kitchen": words("fridge microwave sinkbasin"),
    "livingroom": words("sofa"),
    "bedroom": words("bed"),
    "bathroom": words("sinkbasin toilet"),
}
#: receptacles that change objects
APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
#: receptacle types whose number varies most: small and large rooms differ in these
SPARE = ("cabinet", "drawer", "shelf", "sidetable", "countertop", "diningtable")
#: receptacles that are named after the thing they belong to
BASINS = {"sinkbasin": "sink", "bathtubbasin": "bathtub"}
#: receptacle type -> (type of the neighbour it may share a spot with, share of those that do)
SHARED_SPOTS = {
    "stoveburner": ("stoveburner", 0.6),
    "cabinet": ("cabinet", 0.15),
    "drawer": ("drawer", 0.17),
    "shelf": ("shelf", 0.08),
    "toaster": ("countertop", 0.3),
    "coffeemachine": ("countertop", 0.23),
}
#: receptacles that hold at most so many objects when a game starts
CAPACITY = {
    "coffeemachine": 1,
    "handtowelholder": 1,
    "stoveburner": 1,
    "toiletpaperhanger": 1,
    "towelholder": 1,
}

CLEANABLE = words(
    "apple bowl butterknife cloth cup dishsponge egg fork kettle knife ladle lettuce mug pan plate pot "
    "potato soapbar spatula spoon tomato"
)
HEATABLE = words("apple bread cup egg mug plate potato tomato")
COOLABLE = words("apple bowl bread cup egg lettuce mug pan plate pot potato tomato winebottle")
SLICEABLE = words("apple bread egg lettuce potato tomato")
HOLLOW = words("bowl box cup mug pan plate pot")
LAMPS = words("desklamp floorlamp")
#: things that nobody can pick up
FIXTURES = words(
    "bathtub blinds chair curtains desklamp floorlamp houseplant laundryhamperlid lightswitch mirror "
    "painting poster showerdoor showerglass sink stoveknob television window"
)

#: receptacle type -> object types that `move` puts there (the domain's canContain relation)
CAN_CONTAIN: dict[str, frozenset[str]] = {
    receptacle: words(objects)
    for receptacle, objects in read_table(
        """
armchair: book box cellphone cloth creditcard keychain laptop newspaper pillow remotecontrol
bathtubbasin: cloth dishsponge handtowel soapbar
bed: baseballbat basketball book cellphone laptop pillow tennisracket
cabinet: book bowl box cd candle cloth cup dishsponge glassbottle handtowel kettle ladle mug newspaper
      pan peppershaker plate plunger pot saltshaker soapbar soapbottle spraybottle tissuebox toiletpaper
      vase wateringcan winebottle
cart: candle cloth dishsponge handtowel plunger soapbar soapbottle spraybottle tissuebox toiletpaper
coffeemachine: mug
coffeetable: book bowl box candle cellphone creditcard keychain laptop newspaper pen pencil plate
      remotecontrol statue tissuebox vase watch wateringcan
countertop: alarmclock apple book bowl bread butterknife cd candle cellphone cloth creditcard cup
      dishsponge egg fork glassbottle handtowel kettle keychain knife ladle laptop lettuce mug pan pen
      pencil peppershaker plate pot potato remotecontrol saltshaker soapbar soapbottle spatula spoon
      spraybottle statue tissuebox toiletpaper tomato vase winebottle
desk: alarmclock basketball book bowl box cd cellphone cloth creditcard keychain laptop mug pen pencil
      remotecontrol statue tennisracket tissuebox vase watch wateringcan
diningtable: alarmclock apple baseballbat basketball book bowl box bread butterknife cd candle cellphone
      cloth creditcard cup dishsponge egg fork glassbottle kettle keychain knife ladle laptop lettuce
      mug newspaper pan pen pencil peppershaker plate pot potato remotecontrol saltshaker soapbottle
      spatula spoon spraybottle statue tennisracket tissuebox tomato vase watch wateringcan winebottle
drawer: book butterknife cd candle cellphone cloth creditcard dishsponge fork handtowel keychain knife
      ladle newspaper pen pencil peppershaker remotecontrol saltshaker soapbar soapbottle spatula spoon
      spraybottle tissuebox toiletpaper watch wateringcan
dresser: alarmclock basketball book bowl box cd candle cellphone cloth creditcard keychain laptop mug
      newspaper pen pencil plate remotecontrol spraybottle statue tennisracket tissuebox toiletpaper
      vase watch wateringcan
fridge: apple bowl bread cup egg glassbottle lettuce mug pan plate pot potato tomato winebottle
garbagecan: apple bread cd cloth dishsponge egg handtowel lettuce newspaper pen pencil potato soapbar
      soapbottle spraybottle tissuebox toiletpaper tomato winebottle
handtowelholder: handtowel
laundryhamper: cloth
microwave: apple bowl bread cup egg glassbottle mug plate potato tomato
ottoman: book box cellphone creditcard keychain laptop newspaper pillow remotecontrol
safe: cd cellphone creditcard keychain statue vase
shelf: alarmclock book bowl box cd candle cellphone cloth creditcard cup dishsponge glassbottle
      handtowel kettle keychain mug newspaper pen pencil peppershaker plate pot remotecontrol saltshaker
      soapbar soapbottle spraybottle statue tissuebox toiletpaper vase watch wateringcan winebottle
sidetable: alarmclock apple baseballbat basketball book bowl box bread butterknife cd candle cellphone
      cloth creditcard cup dishsponge egg fork handtowel kettle keychain knife laptop lettuce mug
      newspaper pan pen pencil peppershaker plate pot potato remotecontrol saltshaker soapbar soapbottle
      spatula spoon spraybottle statue tennisracket tissuebox toiletpaper tomato vase watch wateringcan
      winebottle
sinkbasin: apple bowl butterknife cloth cup dishsponge egg fork glassbottle handtowel kettle knife ladle
      lettuce mug pan plate pot potato soapbar spatula spoon tomato
sofa: book box cellphone creditcard keychain laptop newspaper pillow remotecontrol
stoveburner: kettle pan pot
tvstand: tissuebox
toilet: candle cloth dishsponge handtowel soapbar soapbottle spraybottle tissuebox toiletpaper
toiletpaperhanger: toiletpaper
towelholder: towel
"""
    )
}

#: room kind -> receptacle type -> share in percent of rooms with 0, 1, 2, ... of them
RECEPTACLE_COUNTS: dict[str, dict[str, Weighted[int]]] = {
    kind: {name: parse_counts(shares) for name, shares in read_table(table)}
    for kind, table in {
        "kitchen": """
cabinet: 0 0 4 2 3 2 1 2 4 7 8 8 7 8 5 4 3 2 4 5 6 4 2 2 1 1 2 2 1
coffeemachine: 0 100
countertop: 0 19 40 30 11
diningtable: 44 42 10 5
drawer: 3 9 5 25 9 10 9 6 4 3 2 2 4 3 1 0 0 0 0 0 0 0 0 0 0 0 1 1 1
fridge: 0 100
garbagecan: 0 100
microwave: 0 100
safe: 96 4
shelf: 83 0 0 17
sidetable: 89 11
sinkbasin: 0 100
stoveburner: 0 0 0 0 96 0 4
toaster: 0 100
""",
        "livingroom": """
armchair: 8 57 32 3
cabinet: 87 4 1 1 2 1 1 1 2 1
coffeetable: 16 66 18
desk: 97 3
diningtable: 50 40 10
drawer: 22 18 7 6 12 8 8 6 4 2 1 1 1 1 0 0 0 0 0 0 1 2 1
dresser: 64 33 3
garbagecan: 0 100
ottoman: 86 14
safe: 97 3
shelf: 63 5 5 3 2 2 3 2 3 2 1 0 1 2 2 1
sidetable: 20 32 23 21 0 4
sofa: 0 79 21
tvstand: 60 33 7
""",
        "bedroom": """
armchair: 79 13 3 4
bed: 0 85 15
cabinet: 85 4 5 1 3 1 1
countertop: 97 3
desk: 32 61 8
diningtable: 86 14
drawer: 4 0 26 15 7 9 7 4 3 3 5 5 3 2 1 1 2 2 1
dresser: 53 40 7
garbagecan: 0 100
laundryhamper: 73 27
safe: 84 16
shelf: 33 23 11 1 3 6 5 4 3 3 1 1 2 1 2 1
sidetable: 34 45 21
""",
        "bathroom": """
bathtubbasin: 27 73
cabinet: 54 0 6 10 13 8 4 1 1 1 1
cart: 92 8
countertop: 15 71 15
drawer: 44 8 11 3 7 5 6 5 7 3 2
dresser: 92 8
garbagecan: 0 100
handtowelholder: 0 59 37 0 4
shelf: 74 11 7 5 2 1
sidetable: 93 7
sinkbasin: 0 56 44
toilet: 0 100
toiletpaperhanger: 0 100
towelholder: 0 70 30
""",
    }.items()
}

#: every receptacle type of any room
RECEPTACLES = frozenset(name for counts in RECEPTACLE_COUNTS.values() for name in counts)

#: receptacle types that occur in one kind of room only
_TELLING = {
    "kitchen": words("coffeemachine fridge microwave stoveburner toaster"),
    "bathroom": words("bathtubbasin handtowelholder toilet toiletpaperhanger towelholder"),
    "bedroom": words("bed laundryhamper"),
    "livingroom": words("coffeetable ottoman sofa tvstand"),
}


def kind_of_room(receptacles: Set[str]) -> str:
    """The kind of room that a set of receptacle types suggests; "livingroom" where nothing tells."""
    return next((kind for kind, telling in _TELLING.items() if telling & receptacles), "livingroom")
