-- table_names: which tables there are: older versions have fewer. (SQLite)
select name from sqlite_master where type = 'table' order by name;
