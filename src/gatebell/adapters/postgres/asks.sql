-- name: attachable_ask
-- The ask that a repeated request of the same session attaches to.
SELECT * FROM asks
WHERE session = ? AND digest = ? AND right(session, 1) NOT IN ('', '/') AND token_digest = ''
    AND delivered_at IS NULL AND status IN ('pending', 'answered');

-- name: pending_asks_of_project
-- Each half reads its index in the order of the inbox, and stops at the limit. They are merged in
-- that order, so an ask in both halves is found beside itself, without comparing whole rows.
SELECT DISTINCT ON (priority, opened_at, seq) * FROM (
    (
        SELECT * FROM asks WHERE status = 'pending' AND project = :project
        ORDER BY priority, opened_at, seq LIMIT :limit
    )
    UNION ALL
    (
        SELECT * FROM asks
        WHERE status = 'pending' AND project_key = :key AND project_key <> ''
        ORDER BY priority, opened_at, seq LIMIT :limit
    )
) AS found
ORDER BY priority, opened_at, seq LIMIT :limit;

-- name: waiting_counts
-- A project with a key is counted once, under one of its folders.
SELECT project, CAST(sum(number) AS bigint) FROM (
    SELECT min(project) AS project, sum(number) AS number FROM (
        SELECT project, project_key, sum(number) AS number FROM (
            SELECT project, project_key, number FROM waiting
            UNION ALL SELECT project, project_key, number FROM waiting_changes
        ) AS every
        GROUP BY project, project_key HAVING sum(number) > 0
    ) AS present
    GROUP BY CASE WHEN project_key = '' THEN project ELSE project_key END
) AS counted
GROUP BY project ORDER BY 2 DESC, 1;
