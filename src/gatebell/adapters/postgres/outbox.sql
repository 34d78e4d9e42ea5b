-- name: put_notice
-- One unsent reminder of an ask is enough: without a sender they would pile up.
INSERT INTO outbox (kind, ask_id, recipient, written_at)
VALUES (:kind, :ask_id, :recipient, :written_at)
ON CONFLICT (ask_id) WHERE kind = 'reminder' DO NOTHING;

-- name: claim_delivery
-- Of several that are due, the one that was written first. Rows that another sender is claiming are
-- skipped.
UPDATE deliveries SET claimed_until = :until, attempts = attempts + 1
WHERE id = (
    SELECT id FROM deliveries
    WHERE route = :route AND due_at <= :now AND sent_at IS NULL AND given_up_at IS NULL
        AND (claimed_until IS NULL OR claimed_until <= :now)
    ORDER BY due_at, written_at LIMIT 1 FOR UPDATE SKIP LOCKED
)
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
    ORDER BY due_at, written_at LIMIT :most FOR UPDATE SKIP LOCKED
)
RETURNING
    id, kind, ask_id, recipient, route, written_at, due_at, attempts, claimed_until, sent_at,
    given_up_at, problem, message, receipt;

-- name: next_due
SELECT min(greatest(due_at, coalesce(claimed_until, due_at))) FROM deliveries
WHERE route = ? AND sent_at IS NULL AND given_up_at IS NULL;
