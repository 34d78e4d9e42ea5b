-- A session has one word for its end in this view, in the plan and in its result.

DROP VIEW human_interactions;

-- For programs that read the older shape of this record. Outside of sessions `approved` also
-- stands for an answer that decides nothing, such as a choice; `response` tells the answer.
CREATE VIEW human_interactions AS
SELECT
    id,
    owner AS execution_id,
    CASE kind
        WHEN 'approval' THEN 'confirmation'
        WHEN 'choice' THEN 'select'
        WHEN 'session' THEN 'interactive_session'
        ELSE 'input'
    END AS type,
    prompt,
    options,
    CASE
        WHEN status = 'timed_out' THEN 'timeout'
        WHEN kind = 'session' AND status = 'answered' THEN coalesce(decision, 'completed')
        WHEN kind = 'session' AND status = 'cancelled' AND settled_via = 'failed' THEN 'failed'
        WHEN status = 'answered' THEN coalesce(decision, 'approved')
        ELSE status
    END AS status,
    coalesce(value, json_quote(decision)) AS response,
    opened_at AS created_at,
    settled_at AS resolved_at,
    CASE WHEN terms IS NOT NULL THEN json_object(
        'systemPrompt', terms ->> '$[1]',
        'context', json(coalesce(context, 'null')),
        'model', terms ->> '$[2]',
        'cwd', coalesce(nullif(terms ->> '$[3]', ''), cwd),
        'mcpConfig', terms ->> '$[4]',
        'timeout', CAST(round((terms ->> '$[5]') * 1000) AS INTEGER),
        'captureTranscript', json(CASE WHEN terms ->> '$[6]' THEN 'true' ELSE 'false' END),
        'outcomeSchema', json_object(
            'type', CASE terms ->> '$[0]'
                WHEN 'choice' THEN 'selection'
                WHEN 'text' THEN 'freeform'
                WHEN 'form' THEN 'structured'
                ELSE 'approval'
            END,
            'options', json(options),
            'schema', json(schema)
        )
    ) END AS session_config,
    (
        SELECT group_concat(transcript, char(10)) FROM sittings
        WHERE ask_id = asks.id AND transcript <> ''
    ) AS session_transcript,
    (
        -- Not unixepoch: with 'subsec' it is NULL in the SQLite of many who read this.
        SELECT CAST(round(sum(julianday(coalesce(ended_at, settled_at))
            - julianday(started_at)) * 86400000) AS INTEGER)
        FROM sittings WHERE ask_id = asks.id AND "end" <> 'lost'
    ) AS session_duration
FROM asks;
