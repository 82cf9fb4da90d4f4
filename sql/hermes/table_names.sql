-- table_names: which tables there are, in any version of Hermes. (SQLite)
select name from sqlite_schema where type = 'table'
