from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.clinic import Clinic

STATE = {
    "today": "2025-01-20",
    "patients": {
        "PT1": {
            "patient_name": "Ada Brandt",
            "birth_year": 1980,
            "phone": "+49 351 4420",
            "allergies": ["ibuprofen"],
        },
        "PT2": {"patient_name": "Bela Novak", "birth_year": 2001, "phone": "+49 351 4421"},
    },
    "doctors": {
        "DC1": {"doctor_name": "Olga Vogel", "specialty": "general", "room_number": 3},
        "DC2": {"doctor_name": "Sami Sato", "specialty": "cardiology", "room_number": 5},
    },
    "slots": {
        "SL1": {"doctor": "DC1", "date": "2025-01-22", "time": "09:00"},
        "SL2": {"doctor": "DC1", "date": "2025-01-21", "time": "10:00"},
        "SL3": {"doctor": "DC2", "date": "2025-01-21", "time": "10:00"},
        "SL4": {
            "doctor": "DC2",
            "date": "2025-01-23",
            "time": "08:30",
            "patient": "PT2",
            "reason": "Check-up",
        },
    },
    "prescriptions": {"RX1": {"patient": "PT2", "drug": "metformin", "dose_mg": 50, "refills": 1}},
    "referrals": {"RF1": {"patient": "PT1", "specialty": "cardiology", "written_on": "2025-01-10"}},
}

STEPS: list[Step] = [
    ("find_patient", {"patient_name": "Ada Brandt"}, {"patient": "PT1", "allergies": ["ibuprofen"]}),
    ("find_patient", {"patient_name": "Ada"}, "no patient"),
    ("find_doctor", {"doctor_name": "Sami Sato"}, {"doctor": "DC2", "room_number": 5}),
    ("find_doctor", {"doctor_name": "Dr Sato"}, "no doctor"),
    ("list_free_slots", {"specialty": "general", "date": "2025-01-20"}, [{"slot": "SL2"}, {"slot": "SL1"}]),
    ("list_free_slots", {"specialty": "general", "date": "2025-01-22"}, [{"slot": "SL1"}]),
    ("list_free_slots", {"specialty": "general", "date": "2025-01-19"}, "is before"),
    ("list_appointments", {"patient": "PT2"}, [{"slot": "SL4"}]),
    ("list_appointments", {"patient": "PT3"}, "no patient"),
    ("list_prescriptions", {"patient": "PT2"}, [{"prescription": "RX1", "drug": "metformin"}]),
    ("list_prescriptions", {"patient": "PT3"}, "no patient"),
    ("list_referrals", {"patient": "PT1"}, [{"referral": "RF1", "used": False}]),
    ("list_referrals", {"patient": "PT3"}, "no patient"),
    (
        "book_slot",
        {"slot": "SL2", "patient": "PT2", "reason": "Cough"},
        {"patient": "PT2", "reason": "Cough"},
    ),
    ("book_slot", {"slot": "SL2", "patient": "PT1", "reason": "Cough"}, "is taken"),
    ("book_slot", {"slot": "SL3", "patient": "PT2", "reason": "Heart"}, "no unused referral to cardiology"),
    ("book_slot", {"slot": "SL3", "patient": "PT1", "reason": "Heart"}, {"patient": "PT1"}),
    ("list_referrals", {"patient": "PT1"}, [{"referral": "RF1", "used": True}]),
    ("move_slot", {"slot": "SL2", "new_slot": "SL1"}, {"slot": "SL1", "patient": "PT2", "reason": "Cough"}),
    ("move_slot", {"slot": "SL2", "new_slot": "SL1"}, "SL2 is free"),
    ("move_slot", {"slot": "SL4", "new_slot": "SL2"}, "is for general"),
    ("move_slot", {"slot": "SL4", "new_slot": "SL3"}, "SL3 is taken"),
    ("cancel_slot", {"slot": "SL4"}, {"patient": None, "reason": ""}),
    ("cancel_slot", {"slot": "SL4"}, "is free"),
    (
        "prescribe_drug",
        {"patient": "PT1", "drug": "cetirizine", "dose_mg": 10},
        {"prescription": "RX10000", "refills": 2},
    ),
    ("prescribe_drug", {"patient": "PT1", "drug": "cetirizine", "dose_mg": 20}, "already"),
    ("prescribe_drug", {"patient": "PT1", "drug": "ibuprofen", "dose_mg": 400}, "allergic"),
    ("prescribe_drug", {"patient": "PT2", "drug": "ibuprofen", "dose_mg": 1001}, "1 to 1000"),
    ("refill_prescription", {"prescription": "RX1"}, {"refills": 0}),
    ("refill_prescription", {"prescription": "RX1"}, "no refill left"),
    ("refer_patient", {"patient": "PT2", "specialty": "dermatology"}, {"referral": "RF10000", "used": False}),
    ("refer_patient", {"patient": "PT2", "specialty": "dermatology"}, "has an unused referral"),
    ("refer_patient", {"patient": "PT2", "specialty": "general"}, "nobody needs"),
    ("refer_patient", {"patient": "PT1", "specialty": "cardiology"}, {"written_on": "2025-01-20"}),
    ("change_patient_phone", {"patient": "PT1", "phone": "+49 351 9999"}, {"phone": "+49 351 9999"}),
    ("change_patient_phone", {"patient": "PT1", "phone": "4420"}, "telephone number"),
]


def test_every_tool() -> None:
    follow(Clinic, STATE, STEPS)
