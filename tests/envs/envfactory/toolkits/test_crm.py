from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.crm import Crm

STATE = {
    "today": "2025-10-06",
    "companies": {"CO1": {"company_name": "Copper Line", "city": "Riga", "region": "north"}},
    "contacts": {
        "CN1": {
            "contact_name": "Ada Brandt", "company": "CO1", "role": "buyer", "email": "ada@example.com",
            "phone": "+49 351 4420",
        },
    },
    "reps": {"SR1": {"rep_name": "Bela Novak", "email": "bela@example.com", "region": "north"}},
    "deals": {
        "DL1": {"company": "CO1", "title": "Pilot project", "value": 900, "stage": "lead"},
        "DL2": {"company": "CO1", "title": "Annual licence", "value": 700, "stage": "won", "rep": "SR1"},
    },
    "activities": {
        "AC1": {"deal": "DL2", "kind": "call", "date": "2025-09-09", "summary": "Asked for a price"},
        "AC2": {"deal": "DL2", "kind": "visit", "date": "2025-09-01", "summary": "Went there"},
    },
}  # fmt: skip

STEPS: list[Step] = [
    ("find_company", {"company_name": "Copper Line"}, {"company": "CO1", "city": "Riga"}),
    ("find_company", {"company_name": "Copper"}, "no company"),
    ("list_contacts", {"company": "CO1"}, [{"contact": "CN1"}]),
    ("list_contacts", {"company": "CO2"}, "no company"),
    ("find_contact", {"contact_name": "Ada Brandt"}, {"contact": "CN1", "email": "ada@example.com"}),
    ("find_contact", {"contact_name": "Ada"}, "no contact"),
    ("list_deals", {"company": "CO1"}, [{"deal": "DL1", "rep": None}, {"deal": "DL2"}]),
    ("list_deals", {"company": "CO2"}, "no company"),
    ("find_rep", {"region": "north"}, {"rep": "SR1"}),
    ("find_rep", {"region": "south"}, "nobody sells in the south"),
    ("list_activities", {"deal": "DL2"}, [{"activity": "AC2"}, {"activity": "AC1"}]),
    ("list_activities", {"deal": "DL9"}, "no deal"),
    (
        "create_deal",
        {"company": "CO1", "title": "Cloud backup", "value": 50},
        {"deal": "DL1000", "stage": "lead"},
    ),
    ("create_deal", {"company": "CO1", "title": "Cloud backup", "value": 0}, "above 0"),
    ("create_deal", {"company": "CO1", "title": " ", "value": 5}, "title is empty"),
    ("move_deal", {"deal": "DL1", "stage": "qualified"}, {"stage": "qualified"}),
    ("move_deal", {"deal": "DL1", "stage": "won"}, "cannot go to won"),
    ("move_deal", {"deal": "DL1", "stage": "qualified"}, "cannot go to qualified"),
    ("move_deal", {"deal": "DL1000", "stage": "lost"}, {"stage": "lost"}),
    ("move_deal", {"deal": "DL1000", "stage": "lost"}, "is lost"),
    ("assign_deal", {"deal": "DL1", "rep": "SR1"}, {"rep": "SR1"}),
    ("assign_deal", {"deal": "DL1", "rep": "SR1"}, "already"),
    ("assign_deal", {"deal": "DL1", "rep": "SR2"}, "no rep"),
    ("set_close_date", {"deal": "DL1", "close_date": "2025-10-06"}, {"close_date": "2025-10-06"}),
    ("set_close_date", {"deal": "DL1", "close_date": "2025-10-05"}, "is before"),
    (
        "log_activity",
        {"deal": "DL1", "kind": "demo", "date": "2025-10-07", "summary": "Show it"},
        {"activity": "AC1000", "deal": "DL1"},
    ),
    ("log_activity", {"deal": "DL2", "kind": "demo", "date": "2025-10-07", "summary": "x"}, "is won"),
    ("log_activity", {"deal": "DL1", "kind": "demo", "date": "20251007", "summary": "x"}, "YYYY-MM-DD"),
    (
        "add_contact",
        {
            "company": "CO1",
            "contact_name": "Chidi Sato",
            "email": "chidi@example.com",
            "phone": "+46 8 55 30",
        },
        "telephone number",  # groups have at least two digits
    ),
    (
        "add_contact",
        {
            "company": "CO1",
            "contact_name": "Chidi Sato",
            "email": "chidi@example.com",
            "phone": "+46 850 5530",
        },
        {"contact": "CN1000", "role": "buyer"},
    ),
    (
        "add_contact",
        {"company": "CO1", "contact_name": "C. Sato", "email": "chidi@example.com", "phone": "+46 850 5530"},
        "already",
    ),
    ("change_contact_phone", {"contact": "CN1", "phone": "+49 351 4421"}, {"phone": "+49 351 4421"}),
    ("change_contact_phone", {"contact": "CN1", "phone": "+49 351 4421"}, "already"),
]


def test_every_tool() -> None:
    follow(Crm, STATE, STEPS)
