-- name: beat_member
INSERT INTO members (id, kind, process, url, joined_at, beat_at)
VALUES (:id, :kind, :process, :url, :joined_at, :beat_at)
ON CONFLICT (id) DO UPDATE SET url = excluded.url, beat_at = excluded.beat_at;

-- name: forget_member
DELETE FROM members WHERE id = :id;

-- name: forget_silent_members
-- A lost host stays as long as runs are at home there.
DELETE FROM members WHERE beat_at < :before AND kind <> 'lost';

-- name: all_members
SELECT kind, process, url, joined_at, beat_at FROM members ORDER BY joined_at, id;
