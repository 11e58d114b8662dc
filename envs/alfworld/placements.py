"""How many objects of each type a room holds, and where they tend to lie.

The numbers come from the same 3,693 released games as those of `envrl.envs.alfworld.rooms`. A row reads
``type: a | b | c``: (a) share in percent of games with 0, 1, 2, ... such objects in receptacles when the task
does not ask for the type, (b) the same for objects that lie nowhere one can reach, (c) how strongly one
receptacle of a type attracts the object (100 for the strongest).
"""

from dataclasses import dataclass

from envrl.envs.alfworld.tables import Weighted, parse_counts, parse_weights, read_table


@dataclass(frozen=True, slots=True)
class Placement:
    """One object type in one kind of room.

    Attributes:
        inside: distribution of the number of instances in receptacles.
        beside: distribution of the number of instances in no receptacle (out of reach; they only take names).
        attraction: receptacle type -> weight of one such receptacle.
    """

    inside: Weighted[int]
    beside: Weighted[int]
    attraction: dict[str, int]


def _placements(table: str) -> dict[str, Placement]:
    out = {}
    for name, row in read_table(table):
        inside, beside, attraction = row.split("|")
        out[name] = Placement(parse_counts(inside), parse_counts(beside), parse_weights(attraction))
    return out


#: room kind -> object type -> Placement
PLACEMENTS: dict[str, dict[str, Placement]] = {
    kind: _placements(table)
    for kind, table in {
        "kitchen": """
apple: 1 33 32 34 | 98 2 | fridge 100 diningtable 97 sidetable 91 microwave 53 garbagecan 50 countertop
      44 sinkbasin 39
blinds: 100 | 80 20 |
book: 89 7 3 1 | 100 | countertop 100 diningtable 78 shelf 5 cabinet 5 drawer 4
bowl: 0 35 35 30 | 100 | diningtable 100 fridge 89 countertop 40 sidetable 13 sinkbasin 13 cabinet 12
      microwave 12 shelf 12
bread: 0 55 32 12 | 100 | diningtable 100 countertop 41 fridge 20 sidetable 9 garbagecan 1
butterknife: 5 36 35 24 | 95 4 | diningtable 100 sidetable 68 countertop 60 sinkbasin 13 drawer 3
cellphone: 89 4 4 3 | 100 | diningtable 100 countertop 68 drawer 13
chair: 100 | 16 56 23 0 0 5 |
creditcard: 91 3 2 3 | 100 | countertop 100 shelf 63 drawer 38
cup: 0 37 32 30 | 96 4 | diningtable 100 fridge 95 sidetable 84 sinkbasin 44 countertop 43 microwave 33
      shelf 16 cabinet 8
curtains: 100 | 93 7 |
dishsponge: 1 33 33 32 | 96 4 | diningtable 100 countertop 70 sinkbasin 44 sidetable 34 garbagecan 32
      shelf 26 drawer 24 cabinet 11
egg: 1 35 34 30 | 95 5 | fridge 100 diningtable 70 sidetable 66 sinkbasin 51 garbagecan 50 microwave 47
      countertop 42
fork: 2 34 34 29 | 92 7 1 | diningtable 100 countertop 55 sidetable 51 sinkbasin 23 drawer 12
glassbottle: 77 8 8 7 | 100 | diningtable 100 countertop 40 sinkbasin 37 fridge 34 garbagecan 28 shelf
      15 cabinet 8
houseplant: 63 33 4 | 100 | diningtable 100 countertop 55
kettle: 50 23 18 9 | 100 | diningtable 100 stoveburner 60 countertop 60 cabinet 12 sinkbasin 10 shelf 3
knife: 2 37 34 27 | 90 9 1 | diningtable 100 countertop 57 sidetable 24 sinkbasin 12 drawer 10
ladle: 67 12 13 9 | 98 2 | diningtable 100 countertop 60 drawer 9 sinkbasin 7 cabinet 6
lettuce: 3 41 34 22 | 95 5 | diningtable 100 fridge 44 sidetable 35 countertop 34 sinkbasin 10
      garbagecan 2
lightswitch: 100 | 0 100 |
mirror: 100 | 91 9 |
mug: 2 37 37 24 | 91 9 1 | coffeemachine 100 fridge 79 diningtable 71 sidetable 52 microwave 43
      sinkbasin 34 countertop 33 shelf 13 cabinet 7
pan: 0 70 26 4 | 100 | countertop 100 stoveburner 52 diningtable 41 fridge 27 cabinet 4
papertowelroll: 65 35 | 100 | diningtable 100 countertop 46 garbagecan 30 sidetable 24 shelf 23
pen: 93 2 2 2 | 100 | diningtable 100 countertop 29 drawer 8 garbagecan 8
pencil: 93 3 3 1 | 100 | diningtable 100 countertop 60 garbagecan 31 drawer 25
peppershaker: 0 30 33 37 | 100 | diningtable 100 sidetable 87 countertop 59 shelf 24 drawer 12 cabinet
      11
plate: 3 44 34 19 | 88 12 1 | diningtable 100 countertop 52 fridge 34 cabinet 12 shelf 10 sinkbasin 9
      microwave 2
pot: 0 53 37 9 | 100 | stoveburner 100 countertop 39 diningtable 39 fridge 29 shelf 5 sinkbasin 3
      cabinet 2
potato: 1 37 33 29 | 96 3 | fridge 100 diningtable 93 sidetable 52 countertop 48 sinkbasin 41 microwave
      39 garbagecan 24
saltshaker: 0 36 33 31 | 100 | diningtable 100 sidetable 84 countertop 56 shelf 18 drawer 10 cabinet 10
sink: 89 11 | 11 89 | countertop 100
soapbottle: 1 36 34 29 | 96 4 | diningtable 100 countertop 44 sidetable 38 garbagecan 32 shelf 18
      cabinet 7 drawer 1
spatula: 0 36 36 27 | 96 4 | diningtable 100 countertop 55 sinkbasin 23 sidetable 17 drawer 11
spoon: 1 34 34 31 | 93 7 | diningtable 100 sidetable 64 countertop 54 sinkbasin 34 drawer 17
spraybottle: 93 2 3 2 | 100 | diningtable 100 garbagecan 54 countertop 48 cabinet 8
statue: 85 6 8 2 | 100 | countertop 100 shelf 75 diningtable 57
stoveknob: 100 | 0 0 0 0 96 0 4 |
tomato: 1 34 33 32 | 98 2 | fridge 100 diningtable 96 sidetable 57 countertop 40 garbagecan 28 sinkbasin
      20
vase: 85 0 8 8 | 100 | countertop 100 shelf 84 diningtable 76 cabinet 19
window: 96 0 4 | 11 63 26 | countertop 100
winebottle: 59 15 13 13 | 100 | diningtable 100 countertop 54 garbagecan 24 shelf 8 cabinet 6 fridge 4
""",
        "livingroom": """
book: 77 11 8 5 | 100 | dresser 100 coffeetable 81 diningtable 49 sofa 39 armchair 23 sidetable 10
      tvstand 10 drawer 1
boots: 100 | 80 20 |
bowl: 90 4 4 2 | 100 | diningtable 100 coffeetable 60 tvstand 43 sidetable 21 shelf 3
box: 15 59 22 5 | 80 20 | diningtable 100 desk 81 coffeetable 34 sofa 30 ottoman 16 dresser 13 tvstand
      11 cabinet 8 sidetable 7 armchair 3 shelf 3
candle: 91 2 2 6 | 100 | sidetable 100 coffeetable 56 dresser 49 tvstand 47 diningtable 45 drawer 12
cellphone: 80 8 6 6 | 100 | dresser 100 tvstand 89 desk 87 coffeetable 77 ottoman 75 diningtable 70 sofa
      51 armchair 27 sidetable 26 shelf 22 drawer 7
chair: 100 | 29 17 7 6 15 5 21 |
creditcard: 0 30 33 37 | 100 | dresser 100 diningtable 97 tvstand 95 sofa 89 coffeetable 83 armchair 56
      ottoman 55 sidetable 37 drawer 21 shelf 13
curtains: 96 4 | 69 23 2 6 | sidetable 100
desklamp: 74 26 | 100 | sidetable 100 coffeetable 1
floorlamp: 100 | 0 100 |
houseplant: 34 66 | 61 37 1 | sidetable 100 dresser 79 coffeetable 62 diningtable 37 tvstand 28
keychain: 9 41 33 17 | 64 30 6 1 | desk 100 coffeetable 61 tvstand 58 dresser 44 diningtable 44 ottoman
      35 sofa 31 sidetable 29 armchair 20 drawer 14 shelf 7
laptop: 0 65 27 8 | 100 | diningtable 100 coffeetable 60 sofa 54 desk 51 dresser 46 tvstand 29 ottoman
      25 sidetable 10 armchair 9
lightswitch: 100 | 0 100 |
mirror: 100 | 90 10 |
newspaper: 44 26 18 12 | 100 | diningtable 100 dresser 84 coffeetable 59 sofa 49 ottoman 44 tvstand 28
      sidetable 23 shelf 22 armchair 20 drawer 1
painting: 100 | 0 41 39 12 8 |
pen: 81 6 6 7 | 100 | dresser 100 coffeetable 84 tvstand 30 sidetable 28 diningtable 21 shelf 15
      garbagecan 10 drawer 5
pencil: 84 6 5 5 | 100 | coffeetable 100 dresser 69 sidetable 59 tvstand 35 shelf 31 garbagecan 21
      diningtable 18 drawer 9
pillow: 0 88 11 | 100 | sofa 100 armchair 21
plate: 66 16 13 5 | 100 | diningtable 100 tvstand 27 coffeetable 25 sidetable 11 shelf 10 dresser 9
remotecontrol: 3 38 34 26 | 87 11 2 | desk 100 coffeetable 98 dresser 89 tvstand 82 diningtable 79 sofa
      63 ottoman 41 sidetable 30 armchair 26 shelf 6 drawer 4
statue: 4 26 34 31 4 | 97 3 | diningtable 100 tvstand 66 coffeetable 59 dresser 44 sidetable 26 shelf 19
television: 29 71 | 71 29 | tvstand 100 dresser 18 coffeetable 1 sidetable 1
tissuebox: 69 9 10 11 | 100 | coffeetable 100 tvstand 60 diningtable 58 shelf 29 dresser 21 sidetable 20
      garbagecan 4 drawer 2
vase: 54 7 10 18 11 | 92 3 4 | dresser 100 coffeetable 24 diningtable 22 tvstand 21 shelf 14 desk 13
      sidetable 8 cabinet 4
watch: 53 13 17 18 | 100 | tvstand 100 diningtable 90 dresser 88 coffeetable 78 sidetable 43 drawer 24
      shelf 12
wateringcan: 92 5 2 1 | 59 41 | coffeetable 100 shelf 30 sidetable 17
window: 100 | 3 14 44 22 6 0 11 |
""",
        "bedroom": """
alarmclock: 1 50 31 18 | 100 | diningtable 100 countertop 69 desk 32 dresser 32 sidetable 20 shelf 7
baseballbat: 100 | 59 39 3 |
basketball: 100 | 63 37 |
blinds: 100 | 9 55 27 4 4 |
book: 0 45 32 22 | 100 | bed 100 desk 57 diningtable 42 countertop 42 dresser 23 armchair 16 cabinet 14
      sidetable 10 drawer 5 shelf 1
boots: 100 | 89 11 |
bowl: 56 27 12 5 | 100 | desk 100 diningtable 100 countertop 56 dresser 29 shelf 21 sidetable 6
box: 91 8 | 62 38 | desk 100 shelf 54
cd: 8 38 29 25 | 73 22 5 | diningtable 100 dresser 53 desk 35 sidetable 24 armchair 16 garbagecan 12
      cabinet 9 drawer 8 safe 7 shelf 4
cellphone: 0 33 34 33 | 100 | diningtable 100 countertop 97 bed 84 dresser 78 desk 72 safe 50 armchair
      45 sidetable 38 drawer 10 shelf 9
chair: 100 | 21 59 16 3 |
cloth: 100 | 82 6 9 3 |
creditcard: 0 33 34 34 | 100 | dresser 100 countertop 96 diningtable 83 desk 62 sidetable 55 armchair 41
      shelf 22 drawer 19
curtains: 100 | 93 3 4 |
desklamp: 29 67 4 | 100 | sidetable 100 dresser 94 desk 78 shelf 8
footstool: 100 | 96 4 |
houseplant: 77 23 | 96 4 | dresser 100 desk 51 shelf 46
keychain: 3 34 33 30 | 90 8 2 | diningtable 100 safe 96 dresser 91 desk 52 sidetable 48 armchair 41
      shelf 16 drawer 14
laptop: 0 53 35 13 | 100 | bed 100 countertop 49 desk 38 diningtable 27 dresser 11 armchair 6
laundryhamperlid: 100 | 73 27 |
lightswitch: 100 | 0 100 |
mirror: 94 6 | 6 94 | countertop 100 dresser 1
mug: 51 20 16 13 | 97 2 1 | diningtable 100 desk 71 countertop 53 dresser 42 sidetable 33 cabinet 21
      shelf 11
painting: 100 | 58 26 10 6 |
pen: 0 29 36 35 | 100 | diningtable 100 countertop 74 dresser 52 desk 46 sidetable 23 shelf 9 drawer 5
      garbagecan 2
pencil: 0 33 34 32 | 100 | diningtable 100 countertop 78 dresser 36 desk 32 sidetable 25 shelf 8
      garbagecan 6 drawer 4
pillow: 0 42 48 10 | 100 | bed 100 armchair 2
poster: 100 | 77 17 3 0 3 |
remotecontrol: 88 4 4 3 | 98 1 1 | countertop 100 desk 98 diningtable 57 sidetable 38 dresser 36 drawer
      30 armchair 12 shelf 3
statue: 87 9 3 1 | 100 | dresser 100 desk 49 sidetable 44 shelf 25
teddybear: 73 27 | 91 9 | bed 100
television: 97 3 | 91 9 | dresser 100
tennisracket: 100 | 60 40 |
tissuebox: 88 5 4 3 | 100 | diningtable 100 desk 40 sidetable 8 dresser 7 shelf 5 drawer 4
vase: 95 1 3 2 | 100 | desk 100 dresser 57 shelf 24 sidetable 15
watch: 94 1 3 2 | 100 | desk 100 dresser 76 diningtable 64 sidetable 25 drawer 10 shelf 4
window: 93 3 4 | 7 57 28 4 4 | dresser 100 shelf 28
""",
        "bathroom": """
bathtub: 96 4 | 33 67 | bathtubbasin 100
candle: 3 39 33 25 | 85 12 3 | countertop 100 toilet 93 sidetable 88 cart 74 dresser 61 shelf 45 cabinet
      23 drawer 16
cloth: 0 38 33 28 | 100 | bathtubbasin 100 cart 42 dresser 40 countertop 32 cabinet 23 shelf 20 drawer
      10 toilet 6 sinkbasin 6
dishsponge: 81 6 8 6 | 98 2 | bathtubbasin 100 countertop 91 cart 66 shelf 40 sinkbasin 36 toilet 36
      drawer 22 garbagecan 20 cabinet 14
floorlamp: 97 0 3 | 95 0 5 | sinkbasin 100
footstool: 100 | 96 4 |
handtowel: 0 83 17 | 100 | handtowelholder 100
houseplant: 96 4 | 100 | sidetable 100
lightswitch: 100 | 0 100 |
mirror: 90 10 | 10 86 4 | countertop 100
painting: 100 | 95 5 |
papertowelroll: 87 13 | 97 3 | cart 100 toilet 83 countertop 79 shelf 52 garbagecan 30
plunger: 100 | 0 100 |
scrubbrush: 100 | 0 100 |
showerdoor: 100 | 42 58 |
showerglass: 97 3 | 61 39 | shelf 100
sink: 78 19 3 | 18 45 37 | sinkbasin 100 countertop 27
soapbar: 3 37 31 28 | 88 10 1 | sidetable 100 cart 72 countertop 68 bathtubbasin 66 toilet 52 sinkbasin
      33 shelf 32 garbagecan 22 cabinet 22 drawer 15
soapbottle: 4 40 33 23 | 87 10 3 | dresser 100 countertop 58 shelf 49 toilet 44 cart 30 cabinet 26
      sidetable 19 garbagecan 17 drawer 2
spraybottle: 0 38 29 33 | 100 | cart 100 sidetable 56 countertop 52 dresser 48 toilet 42 shelf 26
      cabinet 17 garbagecan 16
tissuebox: 77 11 7 5 | 100 | sidetable 100 shelf 83 countertop 68 cart 44 cabinet 17 drawer 6 toilet 4
toiletpaper: 1 25 56 17 | 63 35 2 | dresser 100 cart 98 toilet 91 countertop 88 sidetable 64 shelf 48
      toiletpaperhanger 46 garbagecan 37 cabinet 24 drawer 17
towel: 0 86 14 | 100 | towelholder 100
window: 100 | 33 47 15 0 4 |
""",
    }.items()
}
