"""`Hr`: a personnel office: employees, leave, openings and applicants."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.days import checked_day, days_after
from envrl.envs.envfactory.toolkits.names import email_of, people

JobTitle = Annotated[str, pydantic.Field(examples=["Buyer", "Cook", "Data analyst", "Driver", "Night guard"])]
Salary = Annotated[int, pydantic.Field(examples=[36000, 42000, 48000, 55000])]
Days = Annotated[int, pydantic.Field(examples=[1, 2, 3, 5])]
Percent = Annotated[int, pydantic.Field(examples=[2, 3, 4, 5, 8, 10])]
Department = Literal["accounting", "development", "legal", "production"]
LeaveStatus = Literal["requested", "approved", "refused"]
Step = Literal["applied", "interviewed", "offered", "hired", "rejected"]
_DEPARTMENTS: tuple[Department, ...] = ("accounting", "development", "legal", "production")
_STEPS: tuple[Step, ...] = ("applied", "interviewed", "offered")
_JOBS: dict[Department, str] = {
    "accounting": "Payroll clerk",
    "development": "Test engineer",
    "legal": "Paralegal",
    "production": "Shift leader",
}


class Employee(pydantic.BaseModel):
    """Somebody who works here; the salary is in euros a year."""

    employee_name: str
    email: str
    department: Department
    salary: int
    leave_days: int


class Leave(pydantic.BaseModel):
    """Days off, from a day on."""

    employee: str
    first_day: str
    days: int
    status: LeaveStatus = "requested"


class Opening(pydantic.BaseModel):
    """A place to fill."""

    job_title: str
    department: Department
    salary: int
    closed: bool = False


class Applicant(pydantic.BaseModel):
    """Somebody who applies for an opening."""

    applicant_name: str
    email: str
    opening: str
    step: Step = "applied"


class HrState(pydantic.BaseModel):
    """The personnel office. Ids are the keys of the tables."""

    today: str
    employees: dict[str, Employee]
    leaves: dict[str, Leave]
    openings: dict[str, Opening]
    applicants: dict[str, Applicant]


class EmployeeView(Employee):
    """An employee with the personnel number."""

    employee: str


class LeaveView(Leave):
    """A leave with its number."""

    leave: str


class OpeningView(Opening):
    """An opening with its number."""

    opening: str


class ApplicantView(Applicant):
    """An applicant with the number of the application."""

    applicant: str


class Hr(Toolkit):
    """Employees, leave, openings and applicants."""

    State = HrState
    policy = (
        "Personnel: leave is taken off the employee's days when it is approved. Only an applicant to whom the place "
        "was offered can be hired, which closes the opening."
    )
    unordered = ("employees", "leaves", "openings")
    nouns: ClassVar = {
        "employee": "{employee_name}",
        "leave": "the leave from {first_day}",
        "opening": "the {job_title} opening",
        "applicant": "the applicant {applicant_name}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> HrState:
        """Ten employees, eight leaves, four openings, eight applicants."""
        today = "2025-04-01"
        numbers = iter(rng.permutation(9000) + 1000)
        names = people(rng, 18)
        state = HrState(today=today, employees={}, leaves={}, openings={}, applicants={})
        for index, name in enumerate(names[:10]):
            state.employees[f"EM{next(numbers)}"] = Employee(
                employee_name=name,
                email=email_of(name),
                department=_DEPARTMENTS[index % 4],
                salary=int(rng.integers(32, 78)) * 1000,
                leave_days=int(rng.integers(0, 30)),
            )
        employees = list(state.employees)
        statuses: list[LeaveStatus] = ["requested", "requested", "approved", "refused"]
        for index in range(8):
            state.leaves[f"LV{next(numbers)}"] = Leave(
                employee=employees[int(rng.integers(10))],
                first_day=days_after(today, int(rng.integers(5, 120))),
                days=int(rng.integers(1, 11)),
                status=statuses[index % 4],
            )
        filled = int(rng.integers(4))
        for index, (department, job_title) in enumerate(_JOBS.items()):
            state.openings[f"OP{next(numbers)}"] = Opening(
                job_title=job_title,
                department=department,
                salary=int(rng.integers(34, 70)) * 1000,
                closed=index == filled,
            )
        openings = [key for key, opening in state.openings.items() if not opening.closed]
        for index, name in enumerate(names[10:]):
            state.applicants[f"AP{next(numbers)}"] = Applicant(
                applicant_name=name,
                email=email_of(name),
                opening=openings[index % 3],
                step=_STEPS[index % 3] if index < 7 else "rejected",
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the employee {employee_name}.",))
    def find_employee(self, employee_name: str) -> EmployeeView:
        """Find an employee by name: department, salary and days of leave left.

        Args:
            employee_name: full name
        """
        for key, employee in self.state.employees.items():
            if employee.employee_name == employee_name:
                return EmployeeView(employee=key, **employee.__dict__)
        raise ToolError(f"no employee is called {employee_name!r}")

    @tool(
        effect="read", phrases=("List the employees in {department} who earn at least {min_salary} euros.",)
    )
    def list_employees(self, department: Department, min_salary: Salary) -> list[EmployeeView]:
        """List the employees of a department who earn so much, the best paid first.

        Args:
            department: the department
            min_salary: euros a year, 0 for everybody
        """
        if min_salary < 0:
            raise ToolError(f"a salary is at least 0, got {min_salary}")
        found = [
            EmployeeView(employee=key, **employee.__dict__)
            for key, employee in self.state.employees.items()
            if employee.department == department and employee.salary >= min_salary
        ]
        return sorted(found, key=lambda employee: (-employee.salary, employee.employee))

    @tool(effect="read", phrases=("List the leave of {employee}.",))
    def list_leaves(self, employee: str) -> list[LeaveView]:
        """List the leave that an employee asked for, by its first day.

        Args:
            employee: personnel number, such as EM1234
        """
        self._employee(employee)
        found = [
            LeaveView(leave=k, **v.__dict__) for k, v in self.state.leaves.items() if v.employee == employee
        ]
        return sorted(found, key=lambda leave: (leave.first_day, leave.leave))

    @tool(effect="read", phrases=("Look up the opening for {job_title}.",))
    def find_opening(self, job_title: str) -> OpeningView:
        """Find an opening by its title: department, salary and whether it is closed.

        Args:
            job_title: the whole title
        """
        for key, opening in self.state.openings.items():
            if opening.job_title == job_title:
                return OpeningView(opening=key, **opening.__dict__)
        raise ToolError(f"there is no opening for {job_title!r}")

    @tool(effect="read", phrases=("List the applicants for {opening}.",))
    def list_applicants(self, opening: str) -> list[ApplicantView]:
        """List who applied for an opening.

        Args:
            opening: number of the opening, such as OP1234
        """
        self._opening(opening)
        applicants = self.state.applicants.items()
        return [ApplicantView(applicant=k, **a.__dict__) for k, a in applicants if a.opening == opening]

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=("{employee} wants {days} days off from {first_day} on.",))
    def request_leave(self, employee: str, first_day: str, days: Days) -> LeaveView:
        """Ask for leave; there must be enough days of leave left.

        Args:
            employee: personnel number
            first_day: a day as YYYY-MM-DD, today or later
            days: how many, at least 1
        """
        left = self._employee(employee).leave_days
        checked_day(first_day, not_before=self.state.today)
        if not 1 <= days <= left:
            raise ToolError(f"employee {employee} has {left} days left, got {days}")
        if any((v.employee, v.first_day) == (employee, first_day) for v in self.state.leaves.values()):
            raise ToolError(f"employee {employee} has asked for leave from {first_day} already")
        key = next_id("LV", self.state.leaves, first=10_000)
        self.state.leaves[key] = Leave(employee=employee, first_day=first_day, days=days)
        return LeaveView(leave=key, **self.state.leaves[key].__dict__)

    @tool(effect="write", phrases=("Approve {leave}.",))
    def approve_leave(self, leave: str) -> EmployeeView:
        """Approve a leave that was asked for; its days are then taken off.

        Args:
            leave: number of the leave, such as LV1234
        """
        found = self._requested(leave)
        employee = self._employee(found.employee)
        if employee.leave_days < found.days:
            raise ToolError(f"employee {found.employee} has only {employee.leave_days} days left")
        employee.leave_days -= found.days
        found.status = "approved"
        return EmployeeView(employee=found.employee, **employee.__dict__)

    @tool(effect="write", phrases=("Refuse {leave}.",))
    def refuse_leave(self, leave: str) -> LeaveView:
        """Refuse a leave that was asked for.

        Args:
            leave: number of the leave
        """
        found = self._requested(leave)
        found.status = "refused"
        return LeaveView(leave=leave, **found.__dict__)

    @tool(effect="write", phrases=("Move {employee} to {department}.",))
    def change_department(self, employee: str, department: Department) -> EmployeeView:
        """Move an employee to another department.

        Args:
            employee: personnel number
            department: where they go
        """
        found = self._employee(employee)
        if found.department == department:
            raise ToolError(f"employee {employee} is in {department} already")
        found.department = department
        return EmployeeView(employee=employee, **found.__dict__)

    @tool(effect="write", phrases=("Raise the salary of {employee} by {percent} percent.",))
    def raise_salary(self, employee: str, percent: Percent) -> EmployeeView:
        """Raise an employee's salary, to whole euros.

        Args:
            employee: personnel number
            percent: 1 to 20
        """
        found = self._employee(employee)
        if not 1 <= percent <= 20:
            raise ToolError(f"a raise is 1 to 20 percent, got {percent}")
        found.salary += found.salary * percent // 100
        return EmployeeView(employee=employee, **found.__dict__)

    @tool(
        effect="write",
        phrases=("Open a place as {job_title} in {department} at {salary} euros a year.",),
    )
    def create_opening(self, job_title: JobTitle, department: Department, salary: Salary) -> OpeningView:
        """Open a place to fill.

        Args:
            job_title: a title that no opening has
            department: where it is
            salary: euros a year, 20000 to 200000
        """
        if not job_title.strip():
            raise ToolError("the title is empty")
        if not 20_000 <= salary <= 200_000:
            raise ToolError(f"a salary is 20000 to 200000 euros, got {salary}")
        if any(opening.job_title == job_title for opening in self.state.openings.values()):
            raise ToolError(f"there is an opening for {job_title!r} already")
        key = next_id("OP", self.state.openings, first=10_000)
        self.state.openings[key] = Opening(job_title=job_title, department=department, salary=salary)
        return OpeningView(opening=key, **self.state.openings[key].__dict__)

    @tool(effect="write", phrases=("Take {applicant} one step further.",))
    def advance_applicant(self, applicant: str) -> ApplicantView:
        """Take an applicant from "applied" to "interviewed", or from there to "offered".

        Args:
            applicant: number of the application, such as AP1234
        """
        found = self._applicant(applicant)
        if found.step not in ("applied", "interviewed"):
            raise ToolError(f"applicant {applicant} is {found.step}")
        found.step = "interviewed" if found.step == "applied" else "offered"
        return ApplicantView(applicant=applicant, **found.__dict__)

    @tool(effect="write", phrases=("Turn {applicant} down.",))
    def reject_applicant(self, applicant: str) -> ApplicantView:
        """Turn an applicant down who was not hired.

        Args:
            applicant: number of the application
        """
        found = self._applicant(applicant)
        if found.step in ("hired", "rejected"):
            raise ToolError(f"applicant {applicant} is {found.step}")
        found.step = "rejected"
        return ApplicantView(applicant=applicant, **found.__dict__)

    @tool(effect="write", phrases=("Hire {applicant}.",))
    def hire_applicant(self, applicant: str) -> EmployeeView:
        """Make an employee of an applicant who has an offer, at the salary of the opening, with 24 days of leave.

        Args:
            applicant: number of the application
        """
        found = self._applicant(applicant)
        if found.step != "offered":
            raise ToolError(f"applicant {applicant} is {found.step}")
        opening = self._opening(found.opening)
        if opening.closed:
            raise ToolError(f"opening {found.opening} is closed")
        found.step, opening.closed = "hired", True
        key = next_id("EM", self.state.employees, first=10_000)
        self.state.employees[key] = Employee(
            employee_name=found.applicant_name,
            email=found.email,
            department=opening.department,
            salary=opening.salary,
            leave_days=24,
        )
        return EmployeeView(employee=key, **self.state.employees[key].__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _employee(self, employee: str) -> Employee:
        found: Employee | None = self.state.employees.get(employee)
        if found is None:
            raise ToolError(f"no employee {employee!r}")
        return found

    def _requested(self, leave: str) -> Leave:
        found: Leave | None = self.state.leaves.get(leave)
        if found is None:
            raise ToolError(f"no leave {leave!r}")
        if found.status != "requested":
            raise ToolError(f"leave {leave} is {found.status}")
        return found

    def _opening(self, opening: str) -> Opening:
        found: Opening | None = self.state.openings.get(opening)
        if found is None:
            raise ToolError(f"no opening {opening!r}")
        return found

    def _applicant(self, applicant: str) -> Applicant:
        found: Applicant | None = self.state.applicants.get(applicant)
        if found is None:
            raise ToolError(f"no applicant {applicant!r}")
        return found
