"""`Crm`: a sales team: companies, the people there, deals and what was done about them."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.addresses import (
    NewEmail,
    NewName,
    NewPhone,
    checked_email,
    checked_phone,
    some_phone,
)
from envrl.envs.envfactory.toolkits.days import checked_day, days_after
from envrl.envs.envfactory.toolkits.names import CITIES, email_of, people

Summary = Annotated[
    str,
    pydantic.Field(
        examples=[
            "Asked about delivery",
            "Sent the price list",
            "Talked about the contract",
            "Wants a second visit",
        ]
    ),
]
Euros = Annotated[int, pydantic.Field(examples=[800, 1500, 2400, 6000, 12500])]
Stage = Literal["lead", "qualified", "offer", "won", "lost"]
Region = Literal["north", "south", "east", "west"]
ActivityKind = Literal["call", "demo", "meeting", "visit"]
_REGIONS: tuple[Region, ...] = ("north", "south", "east", "west")
_STAGES: tuple[Stage, ...] = ("lead", "qualified", "offer", "won", "lost")
_COMPANIES = (
    "Bright Mills",
    "Copper Line",
    "Delta Foods",
    "Evergreen Textiles",
    "Fox Printing",
    "Granite Works",
)
_GOODS = (
    "Annual licence",
    "Cloud backup",
    "Label printers",
    "Maintenance plan",
    "Pilot project",
    "Staff training",
)
_ROLES = ("buyer", "director", "engineer", "accountant")


class Company(pydantic.BaseModel):
    """A company that buys or may buy."""

    company_name: str
    city: str
    region: Region


class Contact(pydantic.BaseModel):
    """Somebody who works there."""

    contact_name: str
    company: str
    role: str
    email: str
    phone: str


class SalesRep(pydantic.BaseModel):
    """Somebody who sells."""

    rep_name: str
    email: str
    region: Region


class Deal(pydantic.BaseModel):
    """A sale that is under way or over; the value is in euros. ``rep`` is the id of who works on it."""

    company: str
    title: str
    value: int
    stage: Stage = "lead"
    rep: str | None = None
    close_date: str | None = None


class Activity(pydantic.BaseModel):
    """Something that was done, or will be done, about a deal."""

    deal: str
    kind: ActivityKind
    date: str
    summary: str


class CrmState(pydantic.BaseModel):
    """What the sales team knows. Ids are the keys of the tables."""

    today: str
    companies: dict[str, Company]
    contacts: dict[str, Contact]
    reps: dict[str, SalesRep]
    deals: dict[str, Deal]
    activities: dict[str, Activity]


class CompanyView(Company):
    """A company with its id."""

    company: str


class ContactView(Contact):
    """A contact with the id."""

    contact: str


class RepView(SalesRep):
    """Somebody who sells with the id."""

    rep: str


class DealView(Deal):
    """A deal with its id."""

    deal: str


class ActivityView(Activity):
    """An activity with its id."""

    activity: str


class Crm(Toolkit):
    """Companies, contacts, deals and activities."""

    State = CrmState
    policy = (
        "Sales: a deal goes from lead to qualified to offer to won, one stage at a time; it can be lost at any stage. "
        "Won and lost deals cannot be changed."
    )
    unordered = ("contacts", "deals", "activities")
    nouns: ClassVar = {
        "company": "{company_name}",
        "contact": "{contact_name}",
        "rep": "{rep_name}",
        "deal": 'the deal "{title}" over {value} euros',
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> CrmState:
        """Five companies with one to three contacts and two to three deals each, three reps."""
        today = "2025-10-06"
        numbers = iter(rng.permutation(900) + 100)
        names = iter(people(rng, 20))
        state = CrmState(today=today, companies={}, contacts={}, reps={}, deals={}, activities={})
        for region in rng.permutation(4)[:3]:
            name = next(names)
            state.reps[f"SR{next(numbers)}"] = SalesRep(
                rep_name=name, email=email_of(name), region=_REGIONS[int(region)]
            )
        reps = list(state.reps)
        for title in rng.permutation(len(_COMPANIES))[:5]:
            company = f"CO{next(numbers)}"
            state.companies[company] = Company(
                company_name=_COMPANIES[int(title)],
                city=CITIES[int(rng.integers(len(CITIES)))],
                region=_REGIONS[int(rng.integers(4))],
            )
            for _ in range(int(rng.integers(1, 4))):
                name = next(names)
                state.contacts[f"CN{next(numbers)}"] = Contact(
                    contact_name=name,
                    company=company,
                    role=_ROLES[int(rng.integers(4))],
                    email=email_of(name),
                    phone=some_phone(rng),
                )
            for goods in rng.permutation(len(_GOODS))[: int(rng.integers(2, 4))]:
                deal = f"DL{next(numbers)}"
                stage = _STAGES[int(rng.choice(5, p=[0.3, 0.25, 0.25, 0.1, 0.1]))]
                state.deals[deal] = Deal(
                    company=company,
                    title=_GOODS[int(goods)],
                    value=int(rng.integers(10, 400)) * 100,
                    stage=stage,
                    rep=reps[int(rng.integers(3))] if rng.random() < 0.7 else None,
                    close_date=days_after(today, int(rng.integers(5, 90))) if rng.random() < 0.5 else None,
                )
                if rng.random() < 0.6:
                    kind: ActivityKind = "call" if rng.random() < 0.5 else "meeting"
                    state.activities[f"AC{next(numbers)}"] = Activity(
                        deal=deal,
                        kind=kind,
                        date=days_after(today, -int(rng.integers(1, 30))),
                        summary="Asked for a price" if kind == "call" else "Showed the product",
                    )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the company {company_name}.",))
    def find_company(self, company_name: str) -> CompanyView:
        """Find a company by name.

        Args:
            company_name: the whole name
        """
        for key, company in self.state.companies.items():
            if company.company_name == company_name:
                return CompanyView(company=key, **company.__dict__)
        raise ToolError(f"no company is called {company_name!r}")

    @tool(effect="read", phrases=("List the contacts at {company}.",))
    def list_contacts(self, company: str) -> list[ContactView]:
        """List the people we know at a company.

        Args:
            company: id of the company, such as CO123
        """
        self._company(company)
        contacts = self.state.contacts.items()
        return [ContactView(contact=k, **c.__dict__) for k, c in contacts if c.company == company]

    @tool(effect="read", phrases=("Look up the contact {contact_name}.",))
    def find_contact(self, contact_name: str) -> ContactView:
        """Find somebody at a company by name: role, email address and telephone number.

        Args:
            contact_name: full name
        """
        for key, contact in self.state.contacts.items():
            if contact.contact_name == contact_name:
                return ContactView(contact=key, **contact.__dict__)
        raise ToolError(f"no contact is called {contact_name!r}")

    @tool(effect="read", phrases=("List the deals with {company}.",))
    def list_deals(self, company: str) -> list[DealView]:
        """List the deals with a company.

        Args:
            company: id of the company
        """
        self._company(company)
        return [DealView(deal=k, **d.__dict__) for k, d in self.state.deals.items() if d.company == company]

    @tool(effect="read", phrases=("Look up who sells in the {region}.",))
    def find_rep(self, region: Region) -> RepView:
        """Find who sells in a region.

        Args:
            region: the region
        """
        for key, rep in self.state.reps.items():
            if rep.region == region:
                return RepView(rep=key, **rep.__dict__)
        raise ToolError(f"nobody sells in the {region}")

    @tool(effect="read", phrases=("List the activities on {deal}.",))
    def list_activities(self, deal: str) -> list[ActivityView]:
        """List what was done about a deal, by date.

        Args:
            deal: id of the deal, such as DL123
        """
        self._deal(deal)
        activities = self.state.activities.items()
        found = [ActivityView(activity=k, **a.__dict__) for k, a in activities if a.deal == deal]
        return sorted(found, key=lambda activity: (activity.date, activity.activity))

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=('Open a deal "{title}" over {value} euros with {company}.',))
    def create_deal(self, company: str, title: str, value: Euros) -> DealView:
        """Open a deal at the stage "lead".

        Args:
            company: id of the company
            title: a few words
            value: euros, above 0
        """
        self._company(company)
        if not title.strip():
            raise ToolError("the title is empty")
        if value <= 0:
            raise ToolError(f"a value is above 0, got {value}")
        key = next_id("DL", self.state.deals, first=1000)
        self.state.deals[key] = Deal(company=company, title=title, value=value)
        return DealView(deal=key, **self.state.deals[key].__dict__)

    @tool(effect="write", phrases=("Move {deal} to the stage {stage}.",))
    def move_deal(self, deal: str, stage: Stage) -> DealView:
        """Move a deal to the next stage, or to "lost".

        Args:
            deal: id of the deal
            stage: the new stage
        """
        found = self._open(deal)
        if stage != "lost" and _STAGES.index(stage) != _STAGES.index(found.stage) + 1:
            raise ToolError(f"deal {deal} is at {found.stage} and cannot go to {stage}")
        found.stage = stage
        return DealView(deal=deal, **found.__dict__)

    @tool(effect="write", phrases=("Give {deal} to {rep}.",))
    def assign_deal(self, deal: str, rep: str) -> DealView:
        """Give a deal to somebody who sells.

        Args:
            deal: id of the deal
            rep: id of who works on it from now on, such as SR123
        """
        found = self._open(deal)
        if rep not in self.state.reps:
            raise ToolError(f"no rep {rep!r}")
        if found.rep == rep:
            raise ToolError(f"{rep} works on deal {deal} already")
        found.rep = rep
        return DealView(deal=deal, **found.__dict__)

    @tool(effect="write", phrases=("Set the closing date of {deal} to {close_date}.",))
    def set_close_date(self, deal: str, close_date: str) -> DealView:
        """Say when a deal should be closed.

        Args:
            deal: id of the deal
            close_date: a day as YYYY-MM-DD, today or later
        """
        found = self._open(deal)
        found.close_date = checked_day(close_date, not_before=self.state.today)
        return DealView(deal=deal, **found.__dict__)

    @tool(effect="write", phrases=('Note a {kind} on {date} about {deal}: "{summary}"',))
    def log_activity(self, deal: str, kind: ActivityKind, date: str, summary: Summary) -> ActivityView:
        """Note something that was or will be done about a deal.

        Args:
            deal: id of the deal
            kind: what it is
            date: the day as YYYY-MM-DD
            summary: a sentence
        """
        self._open(deal)
        checked_day(date)
        if not summary.strip():
            raise ToolError("the summary is empty")
        key = next_id("AC", self.state.activities, first=1000)
        self.state.activities[key] = Activity(deal=deal, kind=kind, date=date, summary=summary)
        return ActivityView(activity=key, **self.state.activities[key].__dict__)

    @tool(
        effect="write",
        phrases=("Add {contact_name}, {email}, {phone}, as a contact at {company}.",),
    )
    def add_contact(
        self, company: str, contact_name: NewName, email: NewEmail, phone: NewPhone
    ) -> ContactView:
        """Add somebody at a company.

        Args:
            company: id of the company
            contact_name: full name
            email: email address
            phone: telephone number with its country code, such as +49 351 4420
        """
        self._company(company)
        checked_email(email)
        checked_phone(phone)
        if not contact_name.strip():
            raise ToolError("the name is empty")
        if any(contact.email == email for contact in self.state.contacts.values()):
            raise ToolError(f"there is a contact with the address {email} already")
        key = next_id("CN", self.state.contacts, first=1000)
        self.state.contacts[key] = Contact(
            contact_name=contact_name, company=company, role="buyer", email=email, phone=phone
        )
        return ContactView(contact=key, **self.state.contacts[key].__dict__)

    @tool(effect="write", phrases=("The new number of {contact} is {phone}.",))
    def change_contact_phone(self, contact: str, phone: NewPhone) -> ContactView:
        """Change the telephone number of a contact.

        Args:
            contact: id of the contact, such as CN123
            phone: telephone number with its country code
        """
        found: Contact | None = self.state.contacts.get(contact)
        if found is None:
            raise ToolError(f"no contact {contact!r}")
        if found.phone == checked_phone(phone):
            raise ToolError(f"{phone} is the number of {contact} already")
        found.phone = phone
        return ContactView(contact=contact, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _company(self, company: str) -> Company:
        found: Company | None = self.state.companies.get(company)
        if found is None:
            raise ToolError(f"no company {company!r}")
        return found

    def _deal(self, deal: str) -> Deal:
        found: Deal | None = self.state.deals.get(deal)
        if found is None:
            raise ToolError(f"no deal {deal!r}")
        return found

    def _open(self, deal: str) -> Deal:
        found = self._deal(deal)
        if found.stage in ("won", "lost"):
            raise ToolError(f"deal {deal} is {found.stage}")
        return found
