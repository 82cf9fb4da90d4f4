-- hold: nobody else has the database open, from here to the end of the transaction. (SQLite)
pragma locking_mode = exclusive;
begin exclusive;
