-- log_state: which history this is, how far it goes, and whether it can be written.
-- log_id: the stored epoch, the cluster's system identifier and its timeline: a promoted replica, a point-in-time and a
-- logical restore each have another one. On a replica the timeline is that of the last checkpoint replayed.
create or replace function store.log_state() returns table (log_id text, head_seq bigint, is_replica boolean)
language sql stable as $$
    select 'log_' || replace(i.epoch::text, '-', '') || '.' || to_hex(s.system_identifier) || '.' ||
           case when pg_is_in_recovery() then (select c.timeline_id from pg_control_checkpoint() c)::text
                else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer::text end,
           store.last_seq(), pg_is_in_recovery()
      from store.identity i, pg_control_system() s
$$;
