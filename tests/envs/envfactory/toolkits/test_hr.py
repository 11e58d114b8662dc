from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.hr import Hr


def _employee(name: str, department: str, salary: int, leave_days: int) -> dict[str, object]:
    email = name.split()[0].lower() + "@example.com"
    found = {"employee_name": name, "email": email, "department": department}
    return {**found, "salary": salary, "leave_days": leave_days}


STATE = {
    "today": "2025-04-01",
    "employees": {
        "EM1": _employee("Ada Brandt", "legal", 50_001, 12),
        "EM2": _employee("Bela Novak", "legal", 60_000, 3),
    },
    "leaves": {
        "LV1": {"employee": "EM1", "first_day": "2025-05-02", "days": 10},
        "LV2": {"employee": "EM1", "first_day": "2025-04-20", "days": 3},
    },
    "openings": {
        "OP1": {"job_title": "Paralegal", "department": "legal", "salary": 41_000},
        "OP2": {"job_title": "Shift leader", "department": "production", "salary": 39_000, "closed": True},
    },
    "applicants": {
        "AP1": {"applicant_name": "Chidi Sato", "email": "chidi@example.com", "opening": "OP1"},
        "AP2": {
            "applicant_name": "Dalia Weiss",
            "email": "dalia@example.com",
            "opening": "OP1",
            "step": "offered",
        },
        "AP3": {
            "applicant_name": "Emre Urban",
            "email": "emre@example.com",
            "opening": "OP2",
            "step": "offered",
        },
    },
}

STEPS: list[Step] = [
    ("find_employee", {"employee_name": "Ada Brandt"}, {"employee": "EM1", "leave_days": 12}),
    ("find_employee", {"employee_name": "Ada"}, "no employee"),
    ("list_employees", {"department": "legal", "min_salary": 0}, [{"employee": "EM2"}, {"employee": "EM1"}]),
    ("list_employees", {"department": "legal", "min_salary": 55_000}, [{"employee": "EM2"}]),
    ("list_employees", {"department": "legal", "min_salary": -1}, "at least 0"),
    ("list_leaves", {"employee": "EM1"}, [{"leave": "LV2"}, {"leave": "LV1"}]),
    ("list_leaves", {"employee": "EM9"}, "no employee"),
    ("find_opening", {"job_title": "Paralegal"}, {"opening": "OP1", "closed": False}),
    ("find_opening", {"job_title": "Clerk"}, "no opening"),
    ("list_applicants", {"opening": "OP1"}, [{"applicant": "AP1"}, {"applicant": "AP2"}]),
    ("list_applicants", {"opening": "OP9"}, "no opening"),
    (
        "request_leave",
        {"employee": "EM2", "first_day": "2025-06-02", "days": 3},
        {"leave": "LV10000", "status": "requested"},
    ),
    ("request_leave", {"employee": "EM2", "first_day": "2025-06-02", "days": 1}, "already"),
    ("request_leave", {"employee": "EM2", "first_day": "2025-07-02", "days": 4}, "3 days left"),
    ("request_leave", {"employee": "EM2", "first_day": "2025-03-31", "days": 1}, "is before"),
    ("approve_leave", {"leave": "LV1"}, {"employee": "EM1", "leave_days": 2}),
    ("approve_leave", {"leave": "LV1"}, "is approved"),
    ("approve_leave", {"leave": "LV2"}, "only 2 days left"),
    ("refuse_leave", {"leave": "LV2"}, {"status": "refused"}),
    ("refuse_leave", {"leave": "LV2"}, "is refused"),
    ("change_department", {"employee": "EM1", "department": "accounting"}, {"department": "accounting"}),
    ("change_department", {"employee": "EM1", "department": "accounting"}, "already"),
    # 7 percent of 50,001 is 3,500.07
    ("raise_salary", {"employee": "EM1", "percent": 7}, {"salary": 53_501}),
    ("raise_salary", {"employee": "EM1", "percent": 21}, "1 to 20"),
    (
        "create_opening",
        {"job_title": "Payroll clerk", "department": "accounting", "salary": 36_000},
        {"opening": "OP10000", "closed": False},
    ),
    ("create_opening", {"job_title": "Payroll clerk", "department": "legal", "salary": 36_000}, "already"),
    ("create_opening", {"job_title": "Guard", "department": "legal", "salary": 19_999}, "20000 to 200000"),
    ("advance_applicant", {"applicant": "AP1"}, {"step": "interviewed"}),
    ("hire_applicant", {"applicant": "AP1"}, "is interviewed"),
    ("advance_applicant", {"applicant": "AP1"}, {"step": "offered"}),
    ("advance_applicant", {"applicant": "AP1"}, "is offered"),
    (
        "hire_applicant",
        {"applicant": "AP2"},
        {"employee": "EM10000", "employee_name": "Dalia Weiss", "salary": 41_000, "leave_days": 24},
    ),
    ("hire_applicant", {"applicant": "AP1"}, "opening OP1 is closed"),
    ("hire_applicant", {"applicant": "AP3"}, "opening OP2 is closed"),
    ("reject_applicant", {"applicant": "AP1"}, {"step": "rejected"}),
    ("reject_applicant", {"applicant": "AP2"}, "is hired"),
]


def test_every_tool() -> None:
    state = follow(Hr, STATE, STEPS)
    assert state.applicants["AP2"].step == "hired" and state.openings["OP1"].closed
