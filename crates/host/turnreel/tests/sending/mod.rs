//! How events come from agents to a server.

mod agent_form;
mod delivery;
mod elsewhere;
mod hook;
mod left;
#[cfg(unix)]
mod passing;
mod pipe;
mod pipe_refused;
mod pipe_shared;
mod sandbox;
#[cfg(target_os = "linux")]
mod unheard;
mod waits;
