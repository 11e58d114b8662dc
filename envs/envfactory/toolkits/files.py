"""`Files`: a shared drive: folders, text files, who may see them, and the trash."""

from typing import Annotated, ClassVar

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.toolkits.addresses import checked_email
from envrl.envs.envfactory.toolkits.days import days_after
from envrl.envs.envfactory.toolkits.names import CITIES, email_of, people

FileName = Annotated[
    str,
    pydantic.Field(examples=["agenda.txt", "guests.txt", "packing-list.txt", "questions.md", "to-do.txt"]),
]
Words = Annotated[
    str,
    pydantic.Field(
        examples=[
            "Ask for a second quote",
            "Bring both copies",
            "Check the dates with Ada",
            "Half of it is paid",
            "See the old version",
        ]
    ),
]
SearchWord = Annotated[
    str, pydantic.Field(examples=["checklist", "draft", "notes", "plan", "report", "summary"])
]
_FOLDERS = ("Budget", "Contracts", "Travel", "Recipes", "Minutes", "Designs", "Photos", "Taxes")
_KINDS = ("summary", "checklist", "draft", "notes", "plan", "report")


class Folder(pydantic.BaseModel):
    """A folder of the drive. ."""

    folder_name: str
    owner_email: str


class File(pydantic.BaseModel):
    """A text file, and who may see it."""

    file_name: str
    folder: str
    owner_email: str
    content: str
    modified_on: str
    viewer_emails: list[str] = []
    trashed: bool = False


class FilesState(pydantic.BaseModel):
    """The drive. Ids are the keys of the tables."""

    today: str
    folders: dict[str, Folder]
    files: dict[str, File]


class FolderView(Folder):
    """A folder with its id."""

    folder: str


class FileEntry(pydantic.BaseModel):
    """A file as a listing shows it."""

    file: str
    file_name: str
    folder: str
    owner_email: str
    modified_on: str
    trashed: bool


class FileView(File):
    """A file with its id."""

    file: str


class Files(Toolkit):
    """A shared drive."""

    State = FilesState
    policy = (
        "Drive: no two files of a folder have the same name. What is in the trash must be restored first."
    )
    unordered = ("files", "files.*.viewer_emails")
    nouns: ClassVar = {
        "folder": "the folder {folder_name}",
        "file": "the file {file_name}",
    }

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> FilesState:
        """Five folders with three to four files each; one in ten files is in the trash."""
        today = "2025-04-14"
        names = people(rng, 6)
        emails = [email_of(name) for name in names]
        numbers = iter(rng.permutation(900) + 100)
        state = FilesState(today=today, folders={}, files={})
        for title in rng.permutation(len(_FOLDERS))[:5]:
            owner = emails[int(rng.integers(3))]
            folder = f"DR{next(numbers)}"
            state.folders[folder] = Folder(folder_name=_FOLDERS[int(title)], owner_email=owner)
            for kind in rng.permutation(len(_KINDS))[: int(rng.integers(3, 5))]:
                city = CITIES[int(rng.integers(len(CITIES)))]
                person, amount = int(rng.integers(6)), int(rng.integers(20, 900)) * 10
                day = days_after(today, -int(rng.integers(1, 60)))
                shared = [emails[int(i)] for i in sorted(rng.permutation(6)[: int(rng.integers(3))])]
                state.files[f"FI{next(numbers)}"] = File(
                    file_name=f"{city.lower()}-{_KINDS[int(kind)]}.txt",
                    folder=folder,
                    owner_email=owner,
                    content=f"{city}: {amount} euros agreed with {names[person]}, {emails[person]}.",
                    modified_on=day,
                    viewer_emails=[email for email in shared if email != owner],
                    trashed=bool(rng.random() < 0.1),
                )
        trashed = list(state.files)[int(rng.integers(len(state.files)))]
        state.files[trashed].trashed = True
        return state

    # ---- reading -----------------------------------------------------------------------------------------

    @tool(effect="read", phrases=("Look up the folder {folder_name}.",))
    def find_folder(self, folder_name: str) -> FolderView:
        """Find a folder by its name.

        Args:
            folder_name: the whole name
        """
        for key, folder in self.state.folders.items():
            if folder.folder_name == folder_name:
                return FolderView(folder=key, **folder.__dict__)
        raise ToolError(f"no folder is called {folder_name!r}")

    @tool(effect="read", phrases=("List the files in {folder}.",))
    def list_folder(self, folder: str) -> list[FileEntry]:
        """List the files of a folder, trashed ones too.

        Args:
            folder: id of the folder, such as DR123
        """
        self._folder(folder)
        return [_entry(key, file) for key, file in self.state.files.items() if file.folder == folder]

    @tool(effect="read", phrases=("Search the files for {word}.",))
    def search_files(self, word: SearchWord) -> list[FileEntry]:
        """List the files that have a word in their name or text and are not in the trash.

        Args:
            word: what to look for, at least three characters
        """
        wanted = word.strip().lower()
        if len(wanted) < 3:
            raise ToolError(f"expected at least three characters to look for, got {word!r}")
        return [
            _entry(key, file)
            for key, file in self.state.files.items()
            if not file.trashed and (wanted in file.file_name.lower() or wanted in file.content.lower())
        ]

    @tool(effect="read", phrases=("Open {file}.",))
    def read_file(self, file: str) -> FileView:
        """Show a file with its text and whom it is shared with.

        Args:
            file: id of the file, such as FI123
        """
        return FileView(file=file, **self._file(file).__dict__)

    # ---- writing -----------------------------------------------------------------------------------------

    @tool(
        effect="write",
        phrases=('Put a file {file_name} that says "{content}" into {folder}.',),
    )
    def create_file(self, folder: str, file_name: FileName, content: Words) -> FileView:
        """Make a text file in a folder; it belongs to the folder's owner.

        Args:
            folder: id of the folder
            file_name: name with its ending, such as plan.txt
            content: the text
        """
        owner = self._folder(folder).owner_email
        self._check_name(folder, file_name)
        key = next_id("FI", self.state.files, first=1000)
        self.state.files[key] = File(
            file_name=file_name,
            folder=folder,
            owner_email=owner,
            content=content,
            modified_on=self.state.today,
        )
        return FileView(file=key, **self.state.files[key].__dict__)

    @tool(effect="write", phrases=('Add the line "{text}" to {file}.',))
    def append_to_file(self, file: str, text: Words) -> FileView:
        """Add a line at the end of a file.

        Args:
            file: id of the file
            text: the line
        """
        found = self._present(file)
        if not text.strip() or "\n" in text:
            raise ToolError("expected one line of text")
        found.content = f"{found.content}\n{text}"
        found.modified_on = self.state.today
        return FileView(file=file, **found.__dict__)

    @tool(effect="write", phrases=("Rename {file} to {file_name}.",))
    def rename_file(self, file: str, file_name: FileName) -> FileView:
        """Give a file another name.

        Args:
            file: id of the file
            file_name: the new name
        """
        found = self._present(file)
        self._check_name(found.folder, file_name)
        found.file_name = file_name
        return FileView(file=file, **found.__dict__)

    @tool(effect="write", phrases=("Move {file} into {folder}.",))
    def move_file(self, file: str, folder: str) -> FileView:
        """Move a file into another folder.

        Args:
            file: id of the file
            folder: id of the folder that it goes to
        """
        found = self._present(file)
        self._folder(folder)
        if found.folder == folder:
            raise ToolError(f"file {file} is in {folder} already")
        self._check_name(folder, found.file_name)
        found.folder = folder
        return FileView(file=file, **found.__dict__)

    @tool(effect="write", phrases=("Put a copy of {file} into {folder}.",))
    def copy_file(self, file: str, folder: str) -> FileView:
        """Copy a file into another folder; the copy belongs to that folder's owner and is shared with nobody.

        Args:
            file: id of the file
            folder: id of the folder that the copy goes to
        """
        found = self._present(file)
        return self.create_file(folder, found.file_name, found.content)

    @tool(effect="write", phrases=("Share {file} with {email}.", "Let {email} see {file}."))
    def share_file(self, file: str, email: str) -> FileView:
        """Let somebody see a file.

        Args:
            file: id of the file
            email: email address of who may see it
        """
        found = self._present(file)
        checked_email(email)
        if email == found.owner_email or email in found.viewer_emails:
            raise ToolError(f"{email} sees file {file} already")
        found.viewer_emails.append(email)
        return FileView(file=file, **found.__dict__)

    @tool(effect="write", phrases=("Stop sharing {file} with {email}.",))
    def unshare_file(self, file: str, email: str) -> FileView:
        """Stop sharing a file with somebody.

        Args:
            file: id of the file
            email: email address of who saw it
        """
        found = self._present(file)
        if email not in found.viewer_emails:
            raise ToolError(f"file {file} is not shared with {email!r}")
        found.viewer_emails.remove(email)
        return FileView(file=file, **found.__dict__)

    @tool(effect="write", phrases=("Throw {file} away.", "Put {file} in the trash."))
    def trash_file(self, file: str) -> FileView:
        """Put a file in the trash; it is then shared with nobody.

        Args:
            file: id of the file
        """
        found = self._present(file)
        found.trashed, found.viewer_emails = True, []
        return FileView(file=file, **found.__dict__)

    @tool(effect="write", phrases=("Take {file} out of the trash.",))
    def restore_file(self, file: str) -> FileView:
        """Take a file out of the trash.

        Args:
            file: id of the file
        """
        found = self._file(file)
        if not found.trashed:
            raise ToolError(f"file {file} is not in the trash")
        found.trashed = False
        return FileView(file=file, **found.__dict__)

    # ---- inside ------------------------------------------------------------------------------------------

    def _folder(self, folder: str) -> Folder:
        found: Folder | None = self.state.folders.get(folder)
        if found is None:
            raise ToolError(f"no folder {folder!r}")
        return found

    def _file(self, file: str) -> File:
        found: File | None = self.state.files.get(file)
        if found is None:
            raise ToolError(f"no file {file!r}")
        return found

    def _present(self, file: str) -> File:
        found = self._file(file)
        if found.trashed:
            raise ToolError(f"file {file} is in the trash")
        return found

    def _check_name(self, folder: str, file_name: str) -> None:
        stem, dot, ending = file_name.rpartition(".")
        if not (stem and dot and ending) or "/" in file_name:
            raise ToolError(f"expected a file name with an ending, got {file_name!r}")
        if any((f.folder, f.file_name) == (folder, file_name) for f in self.state.files.values()):
            raise ToolError(f"there is a file {file_name!r} in {folder} already")


def _entry(key: str, file: File) -> FileEntry:
    return FileEntry(file=key, **{name: getattr(file, name) for name in list(FileEntry.model_fields)[1:]})
