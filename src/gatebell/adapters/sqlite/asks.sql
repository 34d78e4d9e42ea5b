-- name: attachable_ask
-- The ask that a repeated request of the same session attaches to.
SELECT * FROM asks
WHERE session = ? AND digest = ? AND substr(session, -1) NOT IN ('', '/') AND token_digest = ''
    AND delivered_at IS NULL AND status IN ('pending', 'answered');

-- name: settled_asks
-- Newest first; a search follows the index and stops at the limit.
SELECT * FROM asks
WHERE settled_at IS NOT NULL
    AND (?1 = '' OR instr(lower(prompt), ?1) OR instr(lower(note), ?1) OR instr(lower(id), ?1))
ORDER BY settled_at DESC LIMIT ?2;
