from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.tickets import Tickets

STATE = {
    "tickets": {
        "T1": {"customer": "K1", "subject": "Parcel lost", "topic": "delivery"},
        "T2": {
            "customer": "K1",
            "subject": "Item came back",
            "topic": "returns",
            "status": "closed",
            "assignee": "G1",
        },
    },
    "customers": {"K1": {"customer_name": "Ada Brandt", "email": "ada@example.com", "plan": "plus"}},
    "agents": {
        "G1": {"agent_name": "Bela Novak", "speciality": "delivery", "on_duty": True},
        "G2": {"agent_name": "Zoe Sato", "speciality": "login", "on_duty": False},
    },
}

STEPS: list[Step] = [
    ("find_customer", {"customer_name": "Ada Brandt"}, {"customer": "K1", "plan": "plus"}),
    ("find_customer", {"customer_name": "Ada"}, "no customer"),
    ("list_customer_tickets", {"customer": "K1"}, [{"ticket": "T1"}, {"ticket": "T2"}]),
    ("list_customer_tickets", {"customer": "K2"}, "no customer"),
    ("search_tickets", {"topic": "returns", "status": "closed"}, [{"ticket": "T2"}]),
    ("get_ticket", {"ticket": "T1"}, {"status": "open", "assignee": None, "comments": []}),
    ("get_ticket", {"ticket": "T3"}, "no ticket"),
    ("list_agents", {"speciality": "login"}, [{"assignee": "G2", "on_duty": False}]),
    (
        "create_ticket",
        {"customer": "K1", "subject": "Charged twice", "topic": "billing"},
        {"ticket": "T1000", "priority": "normal", "status": "open"},
    ),
    ("create_ticket", {"customer": "K1", "subject": "", "topic": "billing"}, "subject is empty"),
    ("assign_ticket", {"ticket": "T1", "assignee": "G1"}, {"assignee": "G1"}),
    ("assign_ticket", {"ticket": "T1", "assignee": "G2"}, "not on duty"),
    ("assign_ticket", {"ticket": "T1", "assignee": "G3"}, "no agent"),
    ("set_priority", {"ticket": "T1", "priority": "urgent"}, {"priority": "urgent"}),
    ("set_priority", {"ticket": "T1", "priority": "urgent"}, "already"),
    ("add_comment", {"ticket": "T1", "comment": "On its way"}, {"comments": ["On its way"]}),
    ("add_comment", {"ticket": "T2", "comment": "On its way"}, "is closed"),
    ("close_ticket", {"ticket": "T1"}, {"status": "closed"}),
    ("close_ticket", {"ticket": "T1"}, "is closed"),
    ("reopen_ticket", {"ticket": "T2"}, {"status": "open", "assignee": None}),
    ("reopen_ticket", {"ticket": "T2"}, "not closed"),
]


def test_every_tool() -> None:
    follow(Tickets, STATE, STEPS, never_refuse=("search_tickets", "list_agents"))
