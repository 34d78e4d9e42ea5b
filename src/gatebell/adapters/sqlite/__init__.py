"""The embedded store on SQLite, through apsw."""
