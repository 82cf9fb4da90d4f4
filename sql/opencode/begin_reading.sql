-- begin_reading: what follows sees one moment of the database, however it is written to meanwhile. (SQLite)
begin;
