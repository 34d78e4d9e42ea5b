-- name: next_due
SELECT min(max(due_at, coalesce(claimed_until, due_at))) FROM deliveries
WHERE route = ? AND sent_at IS NULL AND given_up_at IS NULL;
