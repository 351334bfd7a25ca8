//! What lies elsewhere: in Redis, in PostgreSQL, in an object store, on other servers.

mod cold;
mod cold_harm;
mod fleet;
mod fleet_away;
mod fleet_kept;
mod hot;
mod packed;
mod removing;
mod restore;
mod warm;
mod warm_asked;
mod warm_away;
mod warm_many;
