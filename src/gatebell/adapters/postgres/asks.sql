-- name: attachable_ask
-- The ask that a repeated request of the same session attaches to.
SELECT * FROM asks
WHERE session = ? AND digest = ? AND right(session, 1) NOT IN ('', '/') AND token_digest = ''
    AND delivered_at IS NULL AND status IN ('pending', 'answered');

-- name: settled_asks
-- Newest first; a search follows the index and stops at the limit.
SELECT * FROM asks
WHERE settled_at IS NOT NULL AND (
    ?1 = '' OR strpos(lower(prompt), ?1) > 0 OR strpos(lower(note), ?1) > 0
    OR strpos(lower(id), ?1) > 0
)
ORDER BY settled_at DESC LIMIT ?2;

-- name: waiting_counts
SELECT project, CAST(sum(number) AS bigint) FROM (
    SELECT project, number FROM waiting UNION ALL SELECT project, number FROM waiting_changes
) AS counted
GROUP BY project HAVING sum(number) > 0 ORDER BY 2 DESC, 1;
