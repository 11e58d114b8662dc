from toolkit_steps import Step, follow

from envrl.envs.envfactory.toolkits.files import Files

STATE = {
    "today": "2025-04-14",
    "folders": {
        "DR1": {"folder_name": "Taxes", "owner_email": "ada@example.com"},
        "DR2": {"folder_name": "Photos", "owner_email": "bela@example.com"},
    },
    "files": {
        "FI1": {
            "file_name": "plan.txt", "folder": "DR1", "owner_email": "ada@example.com",
            "content": "Cork: 200 euros", "modified_on": "2025-04-01", "viewer_emails": ["zoe@example.com"],
        },
        "FI2": {
            "file_name": "plan.txt", "folder": "DR2", "owner_email": "bela@example.com",
            "content": "Oslo: 90 euros", "modified_on": "2025-04-02", "trashed": True,
        },
        "FI3": {
            "file_name": "draft.txt", "folder": "DR2", "owner_email": "bela@example.com",
            "content": "Riga", "modified_on": "2025-04-03",
        },
    },
}  # fmt: skip

STEPS: list[Step] = [
    ("find_folder", {"folder_name": "Taxes"}, {"folder": "DR1", "owner_email": "ada@example.com"}),
    ("find_folder", {"folder_name": "Tax"}, "no folder is called 'Tax'"),
    ("list_folder", {"folder": "DR2"}, [{"file": "FI2", "trashed": True}, {"file": "FI3"}]),
    ("list_folder", {"folder": "DR9"}, "no folder 'DR9'"),
    ("search_files", {"word": "EURO"}, [{"file": "FI1"}]),  # FI2 is in the trash
    ("search_files", {"word": " ab "}, "at least three characters"),
    ("read_file", {"file": "FI2"}, {"content": "Oslo: 90 euros", "viewer_emails": []}),
    ("read_file", {"file": "plan.txt"}, "no file 'plan.txt'"),
    (
        "create_file",
        {"folder": "DR1", "file_name": "new.txt", "content": "Hello"},
        {"file": "FI1000", "owner_email": "ada@example.com", "modified_on": "2025-04-14"},
    ),
    ("create_file", {"folder": "DR1", "file_name": "plan.txt", "content": ""}, "already"),
    ("create_file", {"folder": "DR1", "file_name": "noending", "content": ""}, "with an ending"),
    ("append_to_file", {"file": "FI1", "text": "Lyon"}, {"content": "Cork: 200 euros\nLyon"}),
    ("append_to_file", {"file": "FI1", "text": "two\nlines"}, "one line of text"),
    ("rename_file", {"file": "FI3", "file_name": "final.md"}, {"file_name": "final.md", "folder": "DR2"}),
    ("rename_file", {"file": "FI2", "file_name": "x.txt"}, "in the trash"),
    ("move_file", {"file": "FI3", "folder": "DR1"}, {"folder": "DR1"}),
    ("move_file", {"file": "FI3", "folder": "DR1"}, "in DR1 already"),
    # Trashed files keep their names.
    ("move_file", {"file": "FI1", "folder": "DR2"}, "'plan.txt' in DR2 already"),
    (
        "copy_file",
        {"file": "FI3", "folder": "DR2"},
        {"file": "FI1001", "owner_email": "bela@example.com", "content": "Riga", "viewer_emails": []},
    ),
    ("copy_file", {"file": "FI3", "folder": "DR2"}, "already"),
    (
        "share_file",
        {"file": "FI1", "email": "kim@example.com"},
        {"viewer_emails": ["zoe@example.com", "kim@example.com"]},
    ),
    ("share_file", {"file": "FI1", "email": "ada@example.com"}, "sees file FI1 already"),
    ("share_file", {"file": "FI1", "email": "kim"}, "no email address"),
    ("unshare_file", {"file": "FI1", "email": "zoe@example.com"}, {"viewer_emails": ["kim@example.com"]}),
    ("unshare_file", {"file": "FI1", "email": "zoe@example.com"}, "not shared with"),
    ("trash_file", {"file": "FI1"}, {"trashed": True, "viewer_emails": []}),
    ("trash_file", {"file": "FI1"}, "in the trash"),
    ("restore_file", {"file": "FI2"}, {"trashed": False}),
    ("restore_file", {"file": "FI2"}, "not in the trash"),
]


def test_every_tool() -> None:
    follow(Files, STATE, STEPS)
