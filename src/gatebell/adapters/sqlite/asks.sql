-- name: attachable_ask
-- The ask that a repeated request of the same session attaches to.
SELECT * FROM asks
WHERE session = ? AND digest = ? AND substr(session, -1) NOT IN ('', '/') AND token_digest = ''
    AND delivered_at IS NULL AND status IN ('pending', 'answered');
