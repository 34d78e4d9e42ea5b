"""List the columns of each table in their order, which readers of whole rows rely on.

A newer version may add columns at the end while this one still uses the tables. So `SELECT *` in a
`.sql` file means these columns (`statements.py`), and not all that the table has by then.
"""

from __future__ import annotations

ROW_COLUMNS = {
    "answers": (
        "seq ask_id principal verified via value decision note given_at outcome reason key "
        "fingerprint attachments"
    ),
    "asks": (
        "seq id kind prompt context options multiple other schema default_value secret "
        "requirement project cwd agent session tool_use_id started_by owner opened_at digest "
        "priority confidence activity token_digest hard remind_every_seconds escalations "
        "expires_at moved_seconds remind_at escalated escalate_at due_at status decision value "
        "note settled_at settled_by settled_via delivered_at delivered_to asked_back heard "
        "version call deferred terms task project_key attachments answer_attachments assume"
    ),
    "calls": (
        "run path name label digest started_at state value error ask_id attempt asked dangerous "
        "accepted snapshot owner ended_at"
    ),
    "deliveries": (
        "id kind ask_id recipient route written_at due_at attempts claimed_until sent_at "
        "given_up_at problem message receipt"
    ),
    "events": ("seq at kind subject actor content content_digest hash"),
    "rules": (
        "id kind pattern identity project session owner branch expires_at uses_left made_by "
        "made_at ask_id ended_at project_key"
    ),
    "runs": (
        "id flow source source_digest prompt project started_by created_at folder root branch "
        "base state reason error result agent stopped_at ready_at waiting_since ended_at parent "
        "parent_path claim owner lease_until crash_count task priority project_key host "
        "changed_at pool"
    ),
    "tasks": (
        "seq id title project created_at updated_at created_by description role priority size "
        "type parent needs test_command test_from state status summary details confidence run "
        "goes_on_from claimed_by answered_at branch closed_at answer_within_seconds on_timeout "
        "unmet version more project_key"
    ),
    "turns": (
        "id run path number role cli session sent started_at fork_of process person ask_id "
        "ended_at signal words offered"
    ),
    "visits": (
        "id ask_id number by cli session process started_at program ended_at end problem "
        "transcript expires_at"
    ),
}
