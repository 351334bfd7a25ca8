//! How events come from agents to a server.

mod agent_form;
mod delivery;
mod hook;
mod left;
mod pipe;
mod sandbox;
