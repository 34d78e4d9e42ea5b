-- name: server_time
SELECT clock_timestamp();
