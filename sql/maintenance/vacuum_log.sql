-- vacuum_log: give back the space of what was purged, so that its bytes are written over. Run by itself, outside a transaction.
vacuum store.log, store.natives, store.staged
