-- begin_reading: what follows sees one moment of the database, however it is written to meanwhile, and writes nothing. (SQLite)
pragma query_only = on; begin;
