"""`Clinic`: a group practice: patients, doctors, appointments, prescriptions and referrals."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.addresses import NewPhone, checked_phone, some_phone
from envrl.envs.envfactory.toolkits.days import checked_day, days_after
from envrl.envs.envfactory.toolkits.names import people

Reason = Annotated[
    str, pydantic.Field(examples=["Allergy test", "Blood test", "Follow-up", "Headache", "Sprained ankle"])
]
Dose = Annotated[int, pydantic.Field(examples=[5, 10, 20, 25, 50, 100, 200])]
Specialty = Literal["cardiology", "dermatology", "general", "orthopaedics"]
Drug = Literal["amlodipine", "cetirizine", "ibuprofen", "metformin", "pantoprazole"]
_SPECIALTIES: tuple[Specialty, ...] = ("cardiology", "dermatology", "general", "orthopaedics")
_DRUGS: tuple[Drug, ...] = ("amlodipine", "cetirizine", "ibuprofen", "metformin", "pantoprazole")
_REASONS = ("Back pain", "Blood pressure", "Check-up", "Cough", "Knee after a fall", "Rash", "Vaccination")


class Patient(pydantic.BaseModel):
    """Somebody who is treated. ``allergies`` are drugs that must not be prescribed."""

    patient_name: str
    birth_year: int
    phone: str
    allergies: list[Drug] = []


class Doctor(pydantic.BaseModel):
    """Somebody who treats."""

    doctor_name: str
    specialty: Specialty
    room_number: int


class Slot(pydantic.BaseModel):
    """Half an hour of a doctor; taken if there is a patient."""

    doctor: str
    date: str
    time: str
    patient: str | None = None
    reason: str = ""


class Prescription(pydantic.BaseModel):
    """A drug that a patient takes, and how often more of it can be had."""

    patient: str
    drug: Drug
    dose_mg: int
    refills: int


class Referral(pydantic.BaseModel):
    """What lets a patient see a specialist; good for one appointment."""

    patient: str
    specialty: Specialty
    written_on: str
    used: bool = False


class ClinicState(pydantic.BaseModel):
    """The practice. Ids are the keys of the tables."""

    today: str
    patients: dict[str, Patient]
    doctors: dict[str, Doctor]
    slots: dict[str, Slot]
    prescriptions: dict[str, Prescription]
    referrals: dict[str, Referral]


class PatientView(Patient):
    """A patient with the number of the file."""

    patient: str


class DoctorView(Doctor):
    """A doctor with the id."""

    doctor: str


class SlotView(Slot):
    """A slot with its id."""

    slot: str


class PrescriptionView(Prescription):
    """A prescription with its number."""

    prescription: str


class ReferralView(Referral):
    """A referral with its number."""

    referral: str


class Clinic(Toolkit):
    """Patients, appointments, prescriptions and referrals."""

    State = ClinicState
    policy = (
        "Practice: a patient sees a specialist only with an unused referral to that specialty; anybody can see a "
        'doctor of specialty "general".'
    )
    unordered = ("prescriptions", "referrals")
    nouns: ClassVar = {
        "patient": "the patient {patient_name}",
        "doctor": "Dr {doctor_name}",
        "slot": "the appointment on {date} at {time}",
        "new_slot": "the appointment on {date} at {time}",
        "prescription": "the prescription for {drug}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> ClinicState:
        """Six patients, five doctors with four slots each, prescriptions and referrals."""
        today = "2025-01-20"
        numbers = iter(rng.permutation(9000) + 1000)
        names = people(rng, 11)
        state = ClinicState(today=today, patients={}, doctors={}, slots={}, prescriptions={}, referrals={})
        for name in names[:6]:
            allergies = [_DRUGS[int(rng.integers(5))]] if rng.random() < 0.4 else []
            state.patients[f"PT{next(numbers)}"] = Patient(
                patient_name=name,
                birth_year=int(rng.integers(1938, 2019)),
                phone=some_phone(rng),
                allergies=allergies,
            )
        patients = list(state.patients)
        for index, name in enumerate(names[6:]):
            specialty = _SPECIALTIES[(index + 2) % 4]
            doctor = f"DC{next(numbers)}"
            state.doctors[doctor] = Doctor(
                doctor_name=name, specialty=specialty, room_number=int(rng.integers(1, 20))
            )
            for half_hour in sorted(rng.permutation(14)[:4]):
                minutes = 8 * 60 + 30 * int(half_hour)
                taken = rng.random() < 0.4
                state.slots[f"SL{next(numbers)}"] = Slot(
                    doctor=doctor,
                    date=days_after(today, int(rng.integers(1, 5))),
                    time=f"{minutes // 60:02}:{minutes % 60:02}",
                    patient=patients[int(rng.integers(6))] if taken else None,
                    reason=_REASONS[int(rng.integers(len(_REASONS)))] if taken else "",
                )
        for index in range(7):
            patient = patients[index % 5]
            drug = _DRUGS[(index * 2 + index // 5) % 5]
            if drug not in state.patients[patient].allergies:
                state.prescriptions[f"RX{next(numbers)}"] = Prescription(
                    patient=patient,
                    drug=drug,
                    dose_mg=int(rng.choice([5, 10, 20, 50, 400])),
                    refills=int(rng.integers(0, 4)),
                )
        referred: list[Specialty] = ["cardiology", "dermatology", "orthopaedics", "orthopaedics"]
        for index, specialty in enumerate(referred):
            state.referrals[f"RF{next(numbers)}"] = Referral(
                patient=patients[index + 1],
                specialty=specialty,
                written_on=days_after(today, -int(rng.integers(1, 20))),
                used=index == 3,
            )
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the patient {patient_name}.",))
    def find_patient(self, patient_name: str) -> PatientView:
        """Find a patient by name: year of birth, telephone number and allergies.

        Args:
            patient_name: full name
        """
        for key, patient in self.state.patients.items():
            if patient.patient_name == patient_name:
                return PatientView(patient=key, **patient.__dict__)
        raise ToolError(f"no patient is called {patient_name!r}")

    @tool(effect="read", phrases=("Look up Dr {doctor_name}.",))
    def find_doctor(self, doctor_name: str) -> DoctorView:
        """Find a doctor by name: specialty and number of the room.

        Args:
            doctor_name: full name, without title
        """
        for key, doctor in self.state.doctors.items():
            if doctor.doctor_name == doctor_name:
                return DoctorView(doctor=key, **doctor.__dict__)
        raise ToolError(f"no doctor is called {doctor_name!r}")

    @tool(effect="read", phrases=("List the free {specialty} appointments from {date} on.",))
    def list_free_slots(self, specialty: Specialty, date: str) -> list[SlotView]:
        """List the free slots of all doctors of a specialty from a day on, by date and time.

        Args:
            specialty: the specialty
            date: the day as YYYY-MM-DD, today or later
        """
        checked_day(date, not_before=self.state.today)
        found = [
            SlotView(slot=key, **slot.__dict__)
            for key, slot in self.state.slots.items()
            if slot.patient is None
            and slot.date >= date
            and self.state.doctors[slot.doctor].specialty == specialty
        ]
        return sorted(found, key=lambda slot: (slot.date, slot.time, slot.slot))

    @tool(effect="read", phrases=("List the appointments of {patient}.",))
    def list_appointments(self, patient: str) -> list[SlotView]:
        """List the slots that a patient has taken, by date and time.

        Args:
            patient: number of the patient's file, such as PT1234
        """
        self._patient(patient)
        found = [SlotView(slot=k, **s.__dict__) for k, s in self.state.slots.items() if s.patient == patient]
        return sorted(found, key=lambda slot: (slot.date, slot.time, slot.slot))

    @tool(effect="read", phrases=("List the prescriptions of {patient}.",))
    def list_prescriptions(self, patient: str) -> list[PrescriptionView]:
        """List the prescriptions of a patient.

        Args:
            patient: number of the patient's file
        """
        self._patient(patient)
        prescriptions = self.state.prescriptions.items()
        return [
            PrescriptionView(prescription=k, **p.__dict__) for k, p in prescriptions if p.patient == patient
        ]

    @tool(effect="read", phrases=("List the referrals of {patient}.",))
    def list_referrals(self, patient: str) -> list[ReferralView]:
        """List the referrals of a patient, used ones too.

        Args:
            patient: number of the patient's file
        """
        self._patient(patient)
        referrals = self.state.referrals.items()
        return [ReferralView(referral=k, **r.__dict__) for k, r in referrals if r.patient == patient]

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(effect="write", phrases=('Give {patient} {slot} for "{reason}".',))
    def book_slot(self, slot: str, patient: str, reason: Reason) -> SlotView:
        """Give a patient a free slot; a referral to the doctor's specialty is then used up.

        Args:
            slot: id of the slot, such as SL1234
            patient: number of the patient's file
            reason: why the patient comes
        """
        found = self._free(slot)
        self._patient(patient)
        if not reason.strip():
            raise ToolError("the reason is empty")
        specialty = self.state.doctors[found.doctor].specialty
        if specialty != "general":
            self._referral(patient, specialty).used = True
        found.patient, found.reason = patient, reason
        return SlotView(slot=slot, **found.__dict__)

    @tool(effect="write", phrases=("Cancel {slot}.",))
    def cancel_slot(self, slot: str) -> SlotView:
        """Make a slot free that a patient has taken.

        Args:
            slot: id of the slot
        """
        found = self._taken(slot)
        found.patient, found.reason = None, ""
        return SlotView(slot=slot, **found.__dict__)

    @tool(effect="write", phrases=("Move {slot} to {new_slot}.",))
    def move_slot(self, slot: str, new_slot: str) -> SlotView:
        """Move an appointment to a free slot of a doctor of the same specialty.

        Args:
            slot: id of the slot that the patient has
            new_slot: id of the free slot
        """
        old, new = self._taken(slot), self._free(new_slot)
        doctors = self.state.doctors
        if doctors[old.doctor].specialty != doctors[new.doctor].specialty:
            raise ToolError(f"slot {new_slot} is for {doctors[new.doctor].specialty}")
        new.patient, new.reason = old.patient, old.reason
        old.patient, old.reason = None, ""
        return SlotView(slot=new_slot, **new.__dict__)

    @tool(effect="write", phrases=("Prescribe {patient} {dose_mg} mg of {drug}.",))
    def prescribe_drug(self, patient: str, drug: Drug, dose_mg: Dose) -> PrescriptionView:
        """Prescribe a drug that the patient does not take yet, with two refills.

        Args:
            patient: number of the patient's file
            drug: the drug
            dose_mg: milligrams a day, 1 to 1000
        """
        if drug in self._patient(patient).allergies:
            raise ToolError(f"patient {patient} is allergic to {drug}")
        if not 1 <= dose_mg <= 1000:
            raise ToolError(f"a dose is 1 to 1000 mg, got {dose_mg}")
        if any((p.patient, p.drug) == (patient, drug) for p in self.state.prescriptions.values()):
            raise ToolError(f"patient {patient} takes {drug} already")
        key = next_id("RX", self.state.prescriptions, first=10_000)
        self.state.prescriptions[key] = Prescription(patient=patient, drug=drug, dose_mg=dose_mg, refills=2)
        return PrescriptionView(prescription=key, **self.state.prescriptions[key].__dict__)

    @tool(effect="write", phrases=("Refill {prescription}.",))
    def refill_prescription(self, prescription: str) -> PrescriptionView:
        """Hand out a prescribed drug once more.

        Args:
            prescription: number of the prescription, such as RX1234
        """
        found = self.state.prescriptions.get(prescription)
        if found is None:
            raise ToolError(f"no prescription {prescription!r}")
        if found.refills < 1:
            raise ToolError(f"prescription {prescription} has no refill left")
        found.refills -= 1
        return PrescriptionView(prescription=prescription, **found.__dict__)

    @tool(effect="write", phrases=("Refer {patient} to {specialty}.",))
    def refer_patient(self, patient: str, specialty: Specialty) -> ReferralView:
        """Write a referral to a specialist.

        Args:
            patient: number of the patient's file
            specialty: any but "general"
        """
        self._patient(patient)
        if specialty == "general":
            raise ToolError("nobody needs a referral to general")
        if any(
            (r.patient, r.specialty, r.used) == (patient, specialty, False)
            for r in self.state.referrals.values()
        ):
            raise ToolError(f"patient {patient} has an unused referral to {specialty}")
        key = next_id("RF", self.state.referrals, first=10_000)
        self.state.referrals[key] = Referral(
            patient=patient, specialty=specialty, written_on=self.state.today
        )
        return ReferralView(referral=key, **self.state.referrals[key].__dict__)

    @tool(effect="write", phrases=("The new telephone number of {patient} is {phone}.",))
    def change_patient_phone(self, patient: str, phone: NewPhone) -> PatientView:
        """Change the telephone number of a patient.

        Args:
            patient: number of the patient's file
            phone: telephone number with its country code, such as +49 351 4420
        """
        found = self._patient(patient)
        if found.phone == checked_phone(phone):
            raise ToolError(f"{phone} is the number of {patient} already")
        found.phone = phone
        return PatientView(patient=patient, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _patient(self, patient: str) -> Patient:
        found: Patient | None = self.state.patients.get(patient)
        if found is None:
            raise ToolError(f"no patient {patient!r}")
        return found

    def _slot(self, slot: str) -> Slot:
        found: Slot | None = self.state.slots.get(slot)
        if found is None:
            raise ToolError(f"no slot {slot!r}")
        return found

    def _free(self, slot: str) -> Slot:
        found = self._slot(slot)
        if found.patient is not None:
            raise ToolError(f"slot {slot} is taken")
        return found

    def _taken(self, slot: str) -> Slot:
        found = self._slot(slot)
        if found.patient is None:
            raise ToolError(f"slot {slot} is free")
        return found

    def _referral(self, patient: str, specialty: Specialty) -> Referral:
        for referral in self.state.referrals.values():
            if (referral.patient, referral.specialty, referral.used) == (patient, specialty, False):
                found: Referral = referral
                return found
        raise ToolError(f"patient {patient} has no unused referral to {specialty}")
