-- name: put_notice
-- One reminder of an ask is enough until it is spread: where nobody sends they would never end.
INSERT INTO outbox SELECT NULL, ?1, ?2, ?3, ?4 WHERE ?1 <> 'reminder' OR NOT EXISTS (
    SELECT 1 FROM outbox WHERE kind = 'reminder' AND ask_id = ?2
);

-- name: waiting_notices
SELECT kind, ask_id, recipient FROM outbox ORDER BY seq LIMIT ?;

-- name: posted_notices
SELECT seq, kind, ask_id, recipient, written_at FROM outbox ORDER BY seq LIMIT ?;

-- name: take_notice
-- Whoever takes it out spreads it: two senders cannot both. Numbers are used again, so that the
-- number alone could mean a later notice.
DELETE FROM outbox WHERE seq = ? AND kind = ? AND ask_id = ? AND recipient = ? AND written_at = ?;

-- name: insert_delivery
-- A reminder only where none of the same ask is still to be sent.
INSERT INTO deliveries SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
WHERE ?2 <> 'reminder' OR NOT EXISTS (
    SELECT 1 FROM deliveries WHERE ask_id = ?3 AND road = ?5
        AND kind = 'reminder' AND sent_at IS NULL AND given_up_at IS NULL
);

-- name: delete_old_deliveries
DELETE FROM deliveries WHERE id IN (
    SELECT id FROM deliveries WHERE written_at < ? ORDER BY written_at LIMIT 500
);

-- name: claim_delivery
-- Of several that are due at once, the one that was written first.
UPDATE deliveries SET claimed_until = ?3, attempts = attempts + 1
WHERE id = (
    SELECT id FROM deliveries
    WHERE road = ?1 AND due_at <= ?2 AND sent_at IS NULL AND given_up_at IS NULL
        AND (claimed_until IS NULL OR claimed_until <= ?2)
    ORDER BY due_at, written_at LIMIT 1
)
RETURNING *;

-- name: delivery_sent
UPDATE deliveries SET sent_at = ?, claimed_until = NULL, trouble = '' WHERE id = ?;

-- name: delivery_failed
-- Only of the newest claim: a later one may be on its way.
UPDATE deliveries SET claimed_until = NULL, trouble = ?1, due_at = coalesce(?2, due_at), given_up_at = ?3
WHERE id = ?4 AND attempts = ?5 AND sent_at IS NULL;

-- name: put_off_delivery
UPDATE deliveries SET claimed_until = NULL, due_at = ?1, attempts = attempts - 1
WHERE id = ?2 AND attempts = ?3;

-- name: drop_delivery
DELETE FROM deliveries WHERE id = ? AND sent_at IS NULL;

-- name: deliveries_in_trouble
SELECT * FROM deliveries WHERE trouble <> '' ORDER BY written_at DESC LIMIT ?;

-- name: next_due
SELECT min(max(due_at, coalesce(claimed_until, due_at))) FROM deliveries
WHERE road = ? AND sent_at IS NULL AND given_up_at IS NULL;

-- name: try_again
UPDATE deliveries SET given_up_at = NULL, attempts = 0, due_at = ?
WHERE trouble <> '' AND given_up_at IS NOT NULL;
