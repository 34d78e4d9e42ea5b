"""The store of teams on PostgreSQL, through psycopg: for servers and workers."""
