-- name: put_notice
-- One unsent reminder of an ask is enough: without a sender they would pile up.
INSERT INTO outbox (kind, ask_id, recipient, written_at)
SELECT :kind, :ask_id, :recipient, :written_at
WHERE :kind <> 'reminder' OR NOT EXISTS (
    SELECT 1 FROM outbox WHERE kind = 'reminder' AND ask_id = :ask_id
);

-- name: waiting_notices
SELECT kind, ask_id, recipient FROM outbox ORDER BY seq LIMIT ?;

-- name: posted_notices
SELECT seq, kind, ask_id, recipient, written_at FROM outbox ORDER BY seq LIMIT ?;

-- name: take_notice
-- Only the sender that deletes the notice spreads it. Numbers are reused, so the number alone could
-- mean a later notice.
DELETE FROM outbox
WHERE seq = :seq AND kind = :kind AND ask_id = :ask_id AND recipient = :recipient
    AND written_at = :written_at;

-- name: insert_delivery
-- A reminder only if no other one of the same ask is still to be sent.
INSERT INTO deliveries (
    id, kind, ask_id, recipient, route, written_at, due_at, attempts, claimed_until, sent_at,
    given_up_at, problem, message, receipt
)
SELECT
    :id, :kind, :ask_id, :recipient, :route, :written_at, :due_at, CAST(:attempts AS INTEGER), :claimed_until,
    :sent_at, :given_up_at, :problem, :message, :receipt
WHERE :kind <> 'reminder' OR NOT EXISTS (
    SELECT 1 FROM deliveries WHERE ask_id = :ask_id AND route = :route
        AND kind = 'reminder' AND sent_at IS NULL AND given_up_at IS NULL
);

-- name: delete_old_deliveries
DELETE FROM deliveries WHERE id IN (
    SELECT id FROM deliveries WHERE written_at < :before ORDER BY written_at LIMIT 500
);

-- name: claim_delivery
-- Of several that are due, the one that was written first.
UPDATE deliveries SET claimed_until = :until, attempts = attempts + 1
WHERE id = (
    SELECT id FROM deliveries
    WHERE route = :route AND due_at <= :now AND sent_at IS NULL AND given_up_at IS NULL
        AND (claimed_until IS NULL OR claimed_until <= :now)
    ORDER BY due_at, written_at LIMIT 1
)
RETURNING
    id, kind, ask_id, recipient, route, written_at, due_at, attempts, claimed_until, sent_at,
    given_up_at, problem, message, receipt;

-- name: lead_message
-- Claimed again, so that the claims of a whole message end together.
UPDATE deliveries SET message = :message, claimed_until = :until
WHERE id = :id AND attempts = :attempts AND sent_at IS NULL
RETURNING
    id, kind, ask_id, recipient, route, written_at, due_at, attempts, claimed_until, sent_at,
    given_up_at, problem, message, receipt;

-- name: gather_again
-- The others of a message whose sending failed, or whose sender died.
UPDATE deliveries SET claimed_until = :until, attempts = attempts + 1
WHERE message = :message AND message <> '' AND id <> :id AND sent_at IS NULL
    AND given_up_at IS NULL AND (claimed_until IS NULL OR claimed_until <= :now)
RETURNING
    id, kind, ask_id, recipient, route, written_at, due_at, attempts, claimed_until, sent_at,
    given_up_at, problem, message, receipt;

-- name: gather_due
-- A message that may have arrived keeps its asks; one that failed may become part of another.
UPDATE deliveries SET claimed_until = :until, attempts = attempts + 1, message = :message
WHERE id IN (
    SELECT id FROM deliveries
    WHERE route = :route AND due_at <= :now AND sent_at IS NULL AND given_up_at IS NULL
        AND (claimed_until IS NULL OR claimed_until <= :now)
        AND (message = '' OR problem <> '') AND kind IN ('opened', 'reminder')
    ORDER BY due_at, written_at LIMIT :most
)
RETURNING
    id, kind, ask_id, recipient, route, written_at, due_at, attempts, claimed_until, sent_at,
    given_up_at, problem, message, receipt;

-- name: last_told
SELECT max(sent_at) FROM deliveries
WHERE route = ? AND sent_at IS NOT NULL AND kind IN ('opened', 'reminder');

-- name: deliveries_about
-- Those that a channel has, or may have.
SELECT
    id, kind, ask_id, recipient, route, written_at, due_at, attempts, claimed_until, sent_at,
    given_up_at, problem, message, receipt
FROM deliveries
WHERE ask_id = ? AND attempts > 0 AND given_up_at IS NULL AND kind NOT IN ('settled', 'withdrawn')
ORDER BY written_at, id;

-- name: deliveries_in_message
SELECT
    id, kind, ask_id, recipient, route, written_at, due_at, attempts, claimed_until, sent_at,
    given_up_at, problem, message, receipt
FROM deliveries WHERE message = ? AND message <> '' ORDER BY written_at, id;

-- name: delivery_sent
UPDATE deliveries SET sent_at = :sent_at, claimed_until = NULL, problem = '', receipt = :receipt
WHERE id = :id;

-- name: delivery_failed
-- Only for the newest claim: a later one may be under way.
UPDATE deliveries SET
    claimed_until = NULL, problem = :problem, due_at = coalesce(:again_at, due_at),
    given_up_at = :given_up_at
WHERE id = :id AND attempts = :attempts AND sent_at IS NULL;

-- name: put_off_delivery
-- A message that may have arrived keeps its asks.
UPDATE deliveries SET
    claimed_until = NULL, due_at = :due_at, attempts = attempts - 1,
    message = CASE WHEN attempts > 1 THEN message ELSE '' END
WHERE id = :id AND attempts = :attempts;

-- name: drop_delivery
DELETE FROM deliveries WHERE id = :id AND sent_at IS NULL;

-- name: deliveries_with_problems
SELECT * FROM deliveries WHERE problem <> '' ORDER BY written_at DESC LIMIT ?;

-- name: try_again
UPDATE deliveries SET given_up_at = NULL, attempts = 0, due_at = :due_at
WHERE problem <> '' AND given_up_at IS NOT NULL;
