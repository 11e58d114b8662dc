"""`Tickets`: the help desk of a company: customers, tickets, agents and comments."""

from typing import ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.names import email_of, people

Priority = Literal["low", "normal", "urgent"]
Status = Literal["open", "waiting", "closed"]
Topic = Literal["billing", "delivery", "login", "returns"]
_SUBJECTS: dict[Topic, tuple[str, ...]] = {
    "billing": ("Charged twice", "Invoice without tax number", "Refund missing"),
    "delivery": ("Parcel lost", "Wrong address on label", "Delivery too late"),
    "login": ("Password reset fails", "Account locked", "Code never arrives"),
    "returns": ("Return label missing", "Item came back", "Size does not fit"),
}


class Ticket(pydantic.BaseModel):
    """A request of a customer. ``assignee`` is the id of an agent."""

    customer: str
    subject: str
    topic: Topic
    priority: Priority = "normal"
    status: Status = "open"
    assignee: str | None = None
    comments: list[str] = []


class Customer(pydantic.BaseModel):
    """Somebody who writes tickets."""

    customer_name: str
    email: str
    plan: Literal["basic", "plus", "pro"]


class Agent(pydantic.BaseModel):
    """Somebody who answers them."""

    agent_name: str
    speciality: Topic
    on_duty: bool


class TicketState(pydantic.BaseModel):
    """The help desk. Ids are the keys of the tables."""

    tickets: dict[str, Ticket]
    customers: dict[str, Customer]
    agents: dict[str, Agent]


class TicketView(Ticket):
    """A ticket with its number."""

    ticket: str


class CustomerView(Customer):
    """A customer with the customer number."""

    customer: str


class AgentView(Agent):
    """An agent of the help desk with the id."""

    assignee: str


class Tickets(Toolkit):
    """The help desk."""

    State = TicketState
    policy = "Help desk: a closed ticket must be reopened before anything else is done to it."
    unordered = ("tickets",)
    nouns: ClassVar = {
        "ticket": 'the ticket "{subject}"',
        "customer": "the customer {customer_name}",
        "assignee": "{agent_name}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> TicketState:
        """Six customers, five agents, sixteen tickets."""
        names = people(rng, 11)
        numbers = iter(rng.permutation(900) + 100)
        state = TicketState(tickets={}, customers={}, agents={})
        plans: list[Literal["basic", "plus", "pro"]] = ["basic", "plus", "pro"]
        for name in names[:6]:
            plan = plans[int(rng.integers(3))]
            state.customers[f"K{next(numbers)}"] = Customer(
                customer_name=name, email=email_of(name), plan=plan
            )
        topics = list(_SUBJECTS)
        for index, name in enumerate(names[6:]):
            agent = Agent(
                agent_name=name, speciality=topics[index % 4], on_duty=index == 0 or bool(rng.random() < 0.7)
            )
            state.agents[f"G{next(numbers)}"] = agent
        customers, agents = list(state.customers), list(state.agents)
        for _ in range(16):
            topic = topics[int(rng.integers(4))]
            status: Status = "closed" if rng.random() < 0.2 else "open"
            state.tickets[f"T{next(numbers)}"] = Ticket(
                customer=customers[int(rng.integers(6))],
                subject=_SUBJECTS[topic][int(rng.integers(3))],
                topic=topic,
                priority="urgent" if rng.random() < 0.2 else "normal",
                status=status,
                assignee=agents[int(rng.integers(5))] if rng.random() < 0.4 else None,
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the customer {customer_name}.",))
    def find_customer(self, customer_name: str) -> CustomerView:
        """Find a customer by name.

        Args:
            customer_name: full name
        """
        for key, customer in self.state.customers.items():
            if customer.customer_name == customer_name:
                return CustomerView(customer=key, **customer.__dict__)
        raise ToolError(f"no customer is called {customer_name!r}")

    @tool(effect="read", phrases=("Which tickets does {customer} have?",))
    def list_customer_tickets(self, customer: str) -> list[TicketView]:
        """List the tickets of a customer, oldest first.

        Args:
            customer: customer number, such as K123
        """
        self._customer(customer)
        return [
            TicketView(ticket=key, **t.__dict__)
            for key, t in self.state.tickets.items()
            if t.customer == customer
        ]

    @tool(effect="read", phrases=("Which tickets about {topic} are {status}?",))
    def search_tickets(self, topic: Topic, status: Status) -> list[TicketView]:
        """List the tickets of a topic that have a status.

        Args:
            topic: what they are about
            status: how they stand
        """
        tickets = self.state.tickets.items()
        return [
            TicketView(ticket=key, **t.__dict__)
            for key, t in tickets
            if (t.topic, t.status) == (topic, status)
        ]

    @tool(effect="read", phrases=("How does {ticket} stand?",))
    def get_ticket(self, ticket: str) -> TicketView:
        """Show a ticket with its comments.

        Args:
            ticket: ticket number, such as T123
        """
        return TicketView(ticket=ticket, **self._ticket(ticket).__dict__)

    @tool(effect="read", phrases=("Who knows about {speciality}?",))
    def list_agents(self, speciality: Topic) -> list[AgentView]:
        """List the agents of the help desk with a speciality.

        Args:
            speciality: topic they know
        """
        return [
            AgentView(assignee=k, **a.__dict__)
            for k, a in self.state.agents.items()
            if a.speciality == speciality
        ]

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=('Open a {topic} ticket "{subject}" for {customer}.',))
    def create_ticket(
        self, customer: str, subject: str, topic: Topic, priority: Priority = "normal"
    ) -> TicketView:
        """Open a new ticket.

        Args:
            customer: customer number
            subject: a few words
            topic: what it is about
            priority: how quickly it must be dealt with
        """
        self._customer(customer)
        if not subject.strip():
            raise ToolError("the subject is empty")
        key = next_id("T", self.state.tickets, first=1000)
        self.state.tickets[key] = Ticket(customer=customer, subject=subject, topic=topic, priority=priority)
        return TicketView(ticket=key, **self.state.tickets[key].__dict__)

    @tool(effect="write", phrases=("Hand {ticket} to {assignee}.",))
    def assign_ticket(self, ticket: str, assignee: str) -> TicketView:
        """Give a ticket to an agent who is on duty.

        Args:
            ticket: ticket number
            assignee: id of the agent, such as G123
        """
        found = self._open(ticket)
        if assignee not in self.state.agents:
            raise ToolError(f"no agent {assignee!r}")
        if not self.state.agents[assignee].on_duty:
            raise ToolError(f"agent {assignee} is not on duty")
        found.assignee = assignee
        return TicketView(ticket=ticket, **found.__dict__)

    @tool(
        effect="write",
        phrases=("Set the priority of {ticket} to {priority}.",),
    )
    def set_priority(self, ticket: str, priority: Priority) -> TicketView:
        """Change the priority of a ticket.

        Args:
            ticket: ticket number
            priority: new priority
        """
        found = self._open(ticket)
        if found.priority == priority:
            raise ToolError(f"ticket {ticket} has priority {priority} already")
        found.priority = priority
        return TicketView(ticket=ticket, **found.__dict__)

    @tool(effect="write", phrases=('Add the comment "{comment}" to {ticket}.',))
    def add_comment(self, ticket: str, comment: str) -> TicketView:
        """Add a comment to a ticket.

        Args:
            ticket: ticket number
            comment: the text
        """
        found = self._open(ticket)
        if not comment.strip():
            raise ToolError("the comment is empty")
        found.comments.append(comment)
        return TicketView(ticket=ticket, **found.__dict__)

    @tool(effect="write", phrases=("Close {ticket}.",))
    def close_ticket(self, ticket: str) -> TicketView:
        """Close a ticket.

        Args:
            ticket: ticket number
        """
        found = self._open(ticket)
        found.status = "closed"
        return TicketView(ticket=ticket, **found.__dict__)

    @tool(effect="write", phrases=("Reopen {ticket}.",))
    def reopen_ticket(self, ticket: str) -> TicketView:
        """Open a closed ticket again; nobody is assigned to it then.

        Args:
            ticket: ticket number
        """
        found = self._ticket(ticket)
        if found.status != "closed":
            raise ToolError(f"ticket {ticket} is not closed")
        found.status, found.assignee = "open", None
        return TicketView(ticket=ticket, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _customer(self, customer: str) -> Customer:
        found: Customer | None = self.state.customers.get(customer)
        if found is None:
            raise ToolError(f"no customer {customer!r}")
        return found

    def _ticket(self, ticket: str) -> Ticket:
        found: Ticket | None = self.state.tickets.get(ticket)
        if found is None:
            raise ToolError(f"no ticket {ticket!r}")
        return found

    def _open(self, ticket: str) -> Ticket:
        found = self._ticket(ticket)
        if found.status == "closed":
            raise ToolError(f"ticket {ticket} is closed")
        return found
